"""Requests of any wanted shape: rows of real samples, tiled or cropped, else random values of the right type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tritonsmith.samples import Array, Sample
from tritonsmith.spec import BATCH, Spec, TensorSpec

Sizes = Mapping[str, int]


def make_inputs(spec: Spec, sizes: Sizes, samples: Sequence[Sample], *, seed: int = 0) -> Sample:
    """One request whose dims have the given sizes; the same seed gives the same request.

    With samples, each row is a row of one of them, tiled or cropped to the shape, so that token ids stay valid and
    masks stay masks.
    """
    random = np.random.default_rng([seed, *sizes.values()])
    if samples:
        return _from_samples(spec, sizes, samples, random)
    return {name: _random(tensor, _shape(tensor, sizes), random) for name, tensor in spec.inputs.items()}


def _shape(tensor: TensorSpec, sizes: Sizes) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else sizes[size] for size in tensor.shape)


def _from_samples(spec: Spec, sizes: Sizes, samples: Sequence[Sample], random: np.random.Generator) -> Sample:
    rows = sizes[BATCH] if spec.batches else 1
    chosen = [samples[index] for index in random.integers(len(samples), size=rows)]
    if not spec.batches:
        return {name: _fit(chosen[0][name], _shape(tensor, sizes)) for name, tensor in spec.inputs.items()}
    return {
        name: np.concatenate([_fit(sample[name][:1], (1, *_shape(tensor, sizes)[1:])) for sample in chosen])
        for name, tensor in spec.inputs.items()
    }


def _fit(array: Array, shape: tuple[int, ...]) -> Array:
    """Repeat or crop an array along each axis."""
    for axis, size in enumerate(shape):
        array = np.take(array, np.arange(size) % array.shape[axis], axis=axis)
    return array


def _random(tensor: TensorSpec, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Standard normal floats, small integers, or uniform values of the spec's range."""
    kind = tensor.type
    low, high = tensor.range or (0, 2)
    if kind.is_float and tensor.range is None:
        values: Array = random.standard_normal(shape)
    elif kind.is_float:
        values = random.uniform(low, high, shape)
    elif kind.name == "string":
        return np.array([f"text {value}" for value in random.integers(100, size=shape).flat], object).reshape(shape)
    else:
        values = random.integers(int(low), int(high), shape)
    return values.astype(kind.to_numpy())


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
    odd = {
        name: min(dim.max, dim.opt + 3) if dim.opt + 3 <= dim.max else max(dim.min, dim.max - 1)
        for name, dim in dims.items()
    }
    wanted = [at["min"], at["opt"], at["max"], odd]
    if spec.batches:
        wanted += [{**at["max"], BATCH: dims[BATCH].min}, {**at["min"], BATCH: dims[BATCH].max}]
    unique: list[dict[str, int]] = []
    for sizes in wanted:
        if sizes not in unique:
            unique.append(sizes)
    return unique
