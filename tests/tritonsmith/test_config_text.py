from __future__ import annotations

import pytest

from tritonsmith.config_text import parse_config
from tritonsmith.errors import ConfigError


def test_a_text_becomes_tritons_message() -> None:
    assert parse_config('backend: "python" max_batch_size: 4').max_batch_size == 4


def test_an_error_names_line_and_column() -> None:
    with pytest.raises(ConfigError, match=r"^m/config\.pbtxt:2:"):
        parse_config('backend: "python"\nmax_batch_size: [\n', origin="m/config.pbtxt")


def test_a_field_of_a_newer_triton_passes_only_where_that_is_wanted() -> None:
    assert parse_config("max_batch_size: 4 field_of_the_future: 3", allow_unknown=True).max_batch_size == 4
    with pytest.raises(ConfigError, match="field_of_the_future"):
        parse_config("field_of_the_future: 3")
