"""A spec from command-line options: `--input x:float32:batch,3,224,224 --dim batch:1:8:32`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tritonsmith.errors import SpecError
from tritonsmith.spec import Spec
from tritonsmith.spec_file import spec_from_mapping

Named = tuple[str, dict[str, Any]]
"""A tensor or dim as `parse_tensor` and `parse_dim` read it."""

_TENSOR_FORM = "write NAME:DTYPE:SIZE,SIZE,… as in x:float32:batch,3,224,224"


def spec_from_options(
    *,
    name: str,
    source: dict[str, Any],
    inputs: Sequence[Named],
    outputs: Sequence[Named],
    dims: Sequence[Named],
    extra: dict[str, Any],
) -> Spec:
    """The spec that the parsed options describe; SpecError for one that breaks a rule."""
    return spec_from_mapping(
        {
            "name": name,
            "source": source,
            "inputs": _once("--input", inputs),
            "outputs": _once("--output", outputs),
            "dims": _once("--dim", dims),
            **extra,
        },
        origin="command line",
    )


def _once(option: str, pairs: Sequence[Named]) -> dict[str, Any]:
    """A mapping; a name that is given twice is refused."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise SpecError(f"{option} {name} is given twice", hint="leave one")
        found[name] = value
    return found


def parse_tensor(text: str) -> tuple[str, dict[str, Any]]:
    """`name:dtype:size,size,…` as a tensor of the spec; a size is a number or the name of a dim."""
    match = re.fullmatch(r"(?P<name>.+):(?P<dtype>[A-Za-z0-9_]+):(?P<shape>[^:]*)", text)
    if match is None:
        raise SpecError(f"{text!r} is no tensor", hint=_TENSOR_FORM)
    sizes = [size.strip() for size in match["shape"].split(",")] if match["shape"] else []
    if not all(size.isidentifier() or _is_number(size) for size in sizes):
        raise SpecError(f"{text!r}: a size is a number or the name of a dim", hint=_TENSOR_FORM)
    return match["name"], {"dtype": match["dtype"], "shape": [int(s) if _is_number(s) else s for s in sizes]}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def parse_dim(text: str) -> tuple[str, dict[str, int]]:
    """`name:min:opt:max` as a dim of the spec."""
    name, *sizes = text.split(":")
    if len(sizes) != 3 or not all(map(_is_number, sizes)):
        raise SpecError(f"{text!r} is no dim", hint="write NAME:MIN:OPT:MAX as in batch:1:8:32")
    return name, dict(zip(("min", "opt", "max"), map(int, sizes), strict=True))
