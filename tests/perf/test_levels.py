from __future__ import annotations

import pytest

from perf.levels import parse_levels
from tritonsmith.errors import MeasurementError


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1:32", (1, 2, 4, 8, 16, 32)),
        ("1:24", (1, 2, 4, 8, 16, 24)),
        ("3:3", (3,)),
        ("4:16:4", (4, 8, 12, 16)),
        ("1:10:4", (1, 5, 9)),
        ("8,1,2,8", (1, 2, 8)),
        (" 16 ", (16,)),
    ],
)
def test_ranges_double_or_step_and_lists_are_sorted(text: str, levels: tuple[int, ...]) -> None:
    assert parse_levels(text) == levels


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("32:1", "starts at 32, above its end 1"),
        ("0:4", "0 is not within 1 to 4096"),
        ("1:9999", "9999 is not within 1 to 4096"),
        ("1:4:0", "0 is not within 1 to 4096"),
        ("1:2:3:4", "4 parts"),
        ("1,x", "'x' is not a whole number"),
        ("-1", "'-1' is not a whole number"),
        ("", "'' is not a whole number"),
        ("1:1000:1", "1000 levels, at most 64"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused_with_the_forms_there_are(text: str, said: str) -> None:
    with pytest.raises(MeasurementError, match=said) as caught:
        parse_levels(text)
    assert "1:32 (doubling)" in str(caught.value.hint)
