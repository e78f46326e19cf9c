"""Which load levels a sweep visits: `--concurrency 1:32` doubles, `4:32:4` steps, `1,2,8` lists."""

from __future__ import annotations

from tritonsmith.errors import MeasurementError

LARGEST = 4096
MOST_LEVELS = 64
_HINT = "write 1:32 (doubling), 4:32:4 (in steps of 4), 1,2,8 (a list) or a single number"


def parse_levels(text: str) -> tuple[int, ...]:
    """The concurrencies that `text` names, ascending, each once; MeasurementError says what makes no sense."""
    try:
        levels = _levels(text)
    except ValueError as error:
        raise MeasurementError(f"concurrency {text!r}: {error}", hint=_HINT) from None
    if len(levels) > MOST_LEVELS:
        raise MeasurementError(
            f"concurrency {text!r}: {len(levels)} levels, at most {MOST_LEVELS} make sense", hint=_HINT
        )
    return levels


def _levels(text: str) -> tuple[int, ...]:
    if ":" not in text:
        return tuple(sorted({_level(part) for part in text.split(",")}))
    parts = [_level(part) for part in text.split(":")]
    if len(parts) > 3:
        raise ValueError(f"{len(parts)} parts, a range has two or three")
    start, end = parts[:2]
    if start > end:
        raise ValueError(f"starts at {start}, above its end {end}")
    return tuple(range(start, end + 1, parts[2])) if len(parts) == 3 else _doubling(start, end)


def _doubling(start: int, end: int) -> tuple[int, ...]:
    """start, 2 start, 4 start, … and the end itself."""
    levels = []
    while start < end:
        levels.append(start)
        start *= 2
    return (*levels, end)


def _level(text: str) -> int:
    number = text.strip()
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"{number!r} is not a whole number")
    if not 1 <= int(number) <= LARGEST:
        raise ValueError(f"{number} is not within 1 to {LARGEST}")
    return int(number)
