from __future__ import annotations

import click
import pytest

from tritonsmith.address import parse_address
from tritonsmith.option_types import FiniteRange, Parsed


def test_a_value_is_parsed_and_a_parsed_one_stays() -> None:
    address = Parsed(parse_address, "HOST:PORT")
    assert address.convert("http://h:1", None, None) == "h:1"
    assert address.convert(("h", 1), None, None) == ("h", 1)


def test_the_parsers_own_words_become_wrong_usage() -> None:
    with pytest.raises(click.BadParameter, match="'junk' is no address of a server; write HOST:PORT") as caught:
        Parsed(parse_address, "HOST:PORT").convert("junk", None, None)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "0"])
def test_a_range_of_numbers_has_neither_nan_nor_infinity(text: str) -> None:
    with pytest.raises(click.BadParameter):
        FiniteRange(min=0.1).convert(text, None, None)
    assert FiniteRange(min=0.1).convert("2.5", None, None) == 2.5
