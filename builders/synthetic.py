"""Requests of any wanted shape: rows of real samples, tiled or cropped, else random values of the right type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tritonsmith.random_values import random_values
from tritonsmith.samples import Array, Sample
from tritonsmith.spec import BATCH, Spec, TensorSpec

Sizes = Mapping[str, int]


def make_inputs(spec: Spec, sizes: Sizes, samples: Sequence[Sample], *, seed: int = 0) -> Sample:
    """One request whose dims have the given sizes; the same seed gives the same request.

    With samples, each row is a row of one of them, tiled or cropped to the shape, so that token ids stay valid and
    masks stay masks. Rows differ as long as the samples have rows that do.
    """
    generator = np.random.default_rng([seed, *sizes.values()])
    if not samples:
        return {
            name: random_values(tensor, _shape(spec, tensor, sizes), generator) for name, tensor in spec.inputs.items()
        }
    if not spec.batches:
        chosen = samples[int(generator.integers(len(samples)))]
        return {name: _fit(chosen[name], _shape(spec, tensor, sizes)) for name, tensor in spec.inputs.items()}
    return _batch_of_rows(spec, sizes, samples, generator)


def _shape(spec: Spec, tensor: TensorSpec, sizes: Sizes) -> tuple[int, ...]:
    """The tensor's shape with these sizes; a fixed dim keeps its own."""
    known = [spec.size(size) for size in tensor.shape]
    return tuple(size if isinstance(size, int) else sizes[size] for size in known)


def _batch_of_rows(spec: Spec, sizes: Sizes, samples: Sequence[Sample], generator: np.random.Generator) -> Sample:
    first = next(iter(spec.inputs))
    pool = [(index, row) for index, sample in enumerate(samples) for row in range(len(sample[first]))]
    count = sizes[BATCH]
    picked = generator.permutation(len(pool))[:count]
    order = np.resize(picked, count)  # every row once before any twice
    rows = [pool[int(at)] for at in order]
    return {
        name: np.concatenate(
            [_fit(samples[index][name][row : row + 1], (1, *_shape(spec, tensor, sizes)[1:])) for index, row in rows]
        )
        for name, tensor in spec.inputs.items()
    }


def _fit(array: Array, shape: tuple[int, ...]) -> Array:
    """Repeat or crop an array along each axis."""
    for axis, size in enumerate(shape):
        array = np.take(array, np.arange(size) % array.shape[axis], axis=axis)
    return array


def distinct_rows(spec: Spec, samples: Sequence[Sample], *, enough: int = 2) -> int:
    """How many rows of the samples differ, counted up to `enough`."""
    rows = (
        b"".join(np.ascontiguousarray(sample[name][row]).tobytes() for name in spec.inputs)
        for sample in samples
        for row in range(len(next(iter(sample.values()))))
    )
    seen: set[bytes] = set()
    for row in rows:
        seen.add(row)
        if len(seen) >= enough:
            break
    return len(seen)


def trace_sizes(spec: Spec) -> dict[str, int]:
    """Sizes to trace with: small, at least 2 (1 would be taken for a constant), and unlike every other size there is.

    A dim that can only be 1, or has min == max, keeps its size.
    """
    taken = {size for _, _, tensor in spec.tensors() for size in tensor.shape if isinstance(size, int)}
    sizes: dict[str, int] = {}
    for name, dim in spec.dims.items():
        candidates = range(max(dim.min, 2), dim.max + 1)
        sizes[name] = next((size for size in candidates if size not in taken), dim.max)
        taken.add(sizes[name])
    return sizes


def corner_sizes(spec: Spec) -> list[dict[str, int]]:
    """The shapes that parity tries: all dims at min, opt and max, batch alone at 1 and at max, and one odd shape."""
    dims = spec.dims
    at = {which: {name: getattr(dim, which) for name, dim in dims.items()} for which in ("min", "opt", "max")}
    odd = {name: dim.opt + 3 if dim.opt + 3 <= dim.max else max(dim.min, dim.max - 1) for name, dim in dims.items()}
    wanted = [at["min"], at["opt"], at["max"], odd]
    if spec.batches:
        wanted += [{**at["max"], BATCH: dims[BATCH].min}, {**at["min"], BATCH: dims[BATCH].max}]
    unique: list[dict[str, int]] = []
    for sizes in wanted:
        if sizes not in unique:
            unique.append(sizes)
    return unique
