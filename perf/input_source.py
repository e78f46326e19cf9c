"""Choosing the input data: `--input-data samples | random | zero | FILE`, from the spec where there is one.

A FILE is perf_analyzer's JSON ({"data": [{input: values, or {"content"| "b64", "shape"}}]}).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perf.input_data import InputData, Row, rows_of_samples
from perf.target import Input, ModelFacts
from tritonsmith.errors import MeasurementError
from tritonsmith.random_values import random_values
from tritonsmith.samples import Array, load_samples
from tritonsmith.spec import Spec, TensorSpec

MOST_ROWS = 64
RANDOM_ROWS = 8
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for: the model's facts, its spec if there is one, and sizes given with --shape."""

    facts: ModelFacts
    spec: Spec | None
    shapes: Shapes

    @property
    def batches(self) -> bool:
        """True when the model has a batch dim."""
        return self.facts.max_batch_size > 0


def load_input_data(choice: str | None, wanted: Wanted) -> InputData:
    """The rows that `choice` names; without one, the spec's samples where it has some, else random values."""
    has_samples = wanted.spec is not None and wanted.spec.samples is not None
    choice = choice or ("samples" if has_samples else "random")
    make = _SOURCES.get(choice)
    rows, source = make(wanted) if make else _from_file(Path(choice), wanted)
    kind = choice if make else "file"
    served = tuple(as_served(row, wanted) for row in rows)
    return InputData(kind=kind, source=source, rows=served, batches=wanted.batches)


def as_served(row: Row, wanted: Wanted) -> Row:
    """A row's scalar as [1], which is what config.pbtxt makes of it: Triton knows no dims of none in a request."""
    if not wanted.batches:
        return row
    single = {tensor.name for tensor in wanted.facts.inputs if tensor.shape == (1,)}
    return {name: array.reshape(1) if array.ndim == 0 and name in single else array for name, array in row.items()}


def _from_samples(wanted: Wanted) -> tuple[tuple[Row, ...], str]:
    if wanted.spec is None or wanted.spec.samples is None:
        raise MeasurementError(
            f"{wanted.facts.name} has no spec that names samples", hint="choose --input-data random, zero or a FILE"
        )
    samples = load_samples(wanted.spec, limit=MOST_ROWS)
    rows = rows_of_samples(samples, batches=wanted.batches, limit=MOST_ROWS)
    return rows, f"{len(rows)} rows of {wanted.spec.samples}"


def _random_rows(wanted: Wanted) -> tuple[tuple[Row, ...], str]:
    """Always the same: standard normal floats, integers 0 and 1, or uniform values of the spec's range."""
    random = np.random.default_rng(0)
    rows = tuple(
        {tensor.name: _random(tensor, wanted, random) for tensor in wanted.facts.inputs} for _ in range(RANDOM_ROWS)
    )
    return rows, f"{RANDOM_ROWS} random rows"


def _random(tensor: Input, wanted: Wanted, random: np.random.Generator) -> Array:
    return random_values(_tensor_spec(tensor, wanted), row_shape(tensor, wanted), random)


def _tensor_spec(tensor: Input, wanted: Wanted) -> TensorSpec:
    """The spec's words on a tensor, for its range; one without where the server has another dtype, or there is none."""
    own = wanted.spec.inputs.get(tensor.name) if wanted.spec else None
    if own is not None and own.type == tensor.dtype:
        return own
    return TensorSpec(dtype=tensor.dtype.name, shape=())


def _zero_rows(wanted: Wanted) -> tuple[tuple[Row, ...], str]:
    row = {tensor.name: _zeros(tensor, row_shape(tensor, wanted)) for tensor in wanted.facts.inputs}
    return (row,), "one row of zeros"


def _zeros(tensor: Input, shape: tuple[int, ...]) -> Array:
    if tensor.dtype.name == "string":
        return np.full(shape, "", object)
    return np.zeros(shape, tensor.dtype.to_numpy())


def row_shape(tensor: Input, wanted: Wanted) -> tuple[int, ...]:
    """The sizes of a made-up row: --shape, else the model's own where fixed, else the spec's typical ones."""
    given = wanted.shapes.get(tensor.name)
    if given is not None:
        return given
    if -1 not in tensor.shape:
        return tensor.shape
    if wanted.spec is not None and tensor.name in wanted.spec.inputs:
        spec = wanted.spec
        sizes = [size if isinstance(size, int) else spec.dims[size].opt for size in spec.inputs[tensor.name].shape]
        return tuple(sizes[1:] if spec.batches else sizes)
    example = ",".join("16" if size == -1 else str(size) for size in tensor.shape)
    raise MeasurementError(
        f"input {tensor.name!r} has shape {list(tensor.shape)}: made-up data needs its sizes",
        hint=f"give them without the batch dim: --shape {tensor.name}:{example}",
    )


def _from_file(path: Path, wanted: Wanted) -> tuple[tuple[Row, ...], str]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))["data"]
        entries = [entry for part in data for entry in (part if isinstance(part, list) else [part])]
        rows = tuple(_row(entry, wanted.facts.inputs) for entry in entries)
    except FileNotFoundError:
        known = ", ".join(_SOURCES)
        raise MeasurementError(f"--input-data {path}: no such file", hint=f"name a JSON file, or {known}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MeasurementError(
            f"--input-data {path} does not fit the model: {type(error).__name__}: {error}",
            hint='perf_analyzer\'s form: {"data": [{"INPUT": {"content": [1, 2], "shape": [2]}}]}',
        ) from error
    if not rows:
        raise MeasurementError(f'--input-data {path}: "data" is empty', hint="give at least one entry")
    return rows, f"{len(rows)} rows of {path.name}"


def _row(entry: Mapping[str, Any], inputs: Sequence[Input]) -> Row:
    return {tensor.name: _array(entry[tensor.name], tensor) for tensor in inputs if tensor.name in entry}


def _array(value: Any, tensor: Input) -> Array:
    value = value if isinstance(value, Mapping) else {"content": value}
    shape = tuple(value.get("shape", tensor.shape))
    if "b64" in value:
        return np.frombuffer(base64.b64decode(value["b64"]), tensor.dtype.to_numpy()).reshape(shape)
    return np.asarray(value["content"], tensor.dtype.to_numpy()).reshape(shape)


_SOURCES: dict[str, Callable[[Wanted], tuple[tuple[Row, ...], str]]] = {
    "samples": _from_samples,
    "random": _random_rows,
    "zero": _zero_rows,
}
