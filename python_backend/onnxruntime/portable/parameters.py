"""Read the string parameters of a model config and turn them into numbers and booleans, as the native backend does.

A number is what C's `strtol` would read, so "4 threads" is 4; a boolean is true/on/1 or false/off/0 in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .errors import InvalidArgument

NUMBER = re.compile(r"\s*[+-]?\d+")
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
BOOLEANS: Mapping[str, bool] = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def string_parameters(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the model config's `parameters` as a plain mapping of strings."""
    return {name: value["string_value"] for name, value in config.get("parameters", {}).items()}


def parse_int(value: str) -> int:
    """Read a 32-bit whole number; raises InvalidArgument with the native backend's text."""
    match = NUMBER.match(value)
    if match is None or not INT32_MIN <= int(match.group()) <= INT32_MAX:
        raise InvalidArgument(f"failed to convert '{value}' to integral number")
    return int(match.group())


def parse_unsigned(value: str) -> int:
    """Read a whole number of bytes; raises InvalidArgument with the native backend's text."""
    match = NUMBER.match(value)
    if match is None:
        raise InvalidArgument(f"failed to convert '{value}' to unsigned long long integral number")
    return int(match.group())


def parse_bool(value: str) -> bool:
    """Read a boolean; raises InvalidArgument with the native backend's text."""
    found = BOOLEANS.get(value.lower())
    if found is None:
        raise InvalidArgument(f"failed to convert '{value}' to boolean")
    return found
