"""Types of command-line options: a value that makes no sense is wrong usage (exit 2), with our own words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from tritonsmith.errors import TritonsmithError


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic in click's newest alone; not when it runs
    """A value that `parse` reads; its TritonsmithError becomes click's error for the option."""

    def __init__(self, parse: Callable[[str], Any], name: str) -> None:
        self._parse, self.name = parse, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parsed value; a default that is parsed already stays."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except TritonsmithError as error:
            self.fail(f"{error.message}; {error.hint}" if error.hint else error.message, param, ctx)


class FiniteRange(click.FloatRange):
    """A FloatRange without nan and inf, which click lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number
