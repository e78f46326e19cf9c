"""Samples: the user's iterable of {input: array}, each checked against the spec before anything uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tritonsmith.errors import SampleError
from tritonsmith.references import load_reference, run_user_code
from tritonsmith.spec import Spec, TensorSpec

Array = NDArray[np.generic]
Sample = dict[str, Array]
Predict = Callable[[Sample], Sample]
"""A model as a function of one request: {input: array} to {output: array}."""


def load_samples(spec: Spec, *, limit: int | None = None) -> list[Sample]:
    """The first `limit` samples of the spec, checked; an empty list when it names none.

    Each sample is a request: every input, with the batch dim. Raises SampleError or UserCodeError.
    """
    if spec.samples is None:
        return []
    function = load_reference(spec.samples, role="samples")
    what = f"samples {spec.samples!r}"
    raw = run_user_code(lambda: list(islice(_iterable(function(), what), limit)), what=what)
    if not raw:
        raise SampleError(f"{what} gave no sample", hint="yield at least one {input: array}")
    return [check_sample(spec, sample, index) for index, sample in enumerate(raw)]


def _iterable(value: object, what: str) -> Iterable[object]:
    if not isinstance(value, Iterable):
        raise SampleError(f"{what} returned {type(value).__name__}", hint="return a list or yield {input: array}")
    return value


def check_sample(spec: Spec, sample: object, index: int = 0) -> Sample:
    """The sample as arrays in the spec's order of inputs; SampleError says what does not fit, and the fix."""
    if not isinstance(sample, Mapping):
        raise SampleError(f"sample {index} is {type(sample).__name__}", hint="a sample is a dict {input: array}")
    missing, extra = spec.inputs.keys() - sample.keys(), sample.keys() - spec.inputs.keys()
    if missing or extra:
        wrong = f"lacks {sorted(missing)}" if missing else f"has unknown inputs {sorted(map(str, extra))}"
        raise SampleError(f"sample {index} {wrong}", hint=f"the spec's inputs: {', '.join(spec.inputs)}")
    sizes: dict[str, int] = {}
    return {name: _check_array(spec, name, np.asarray(sample[name]), index, sizes) for name in spec.inputs}


def _check_array(spec: Spec, name: str, array: Array, index: int, sizes: dict[str, int]) -> Array:
    tensor = spec.inputs[name]
    expected = tensor.type.to_numpy()
    where = f"sample {index}, input {name!r}"
    wants_text = tensor.dtype == "string"
    if array.dtype != expected and not (wants_text and array.dtype.kind in "SUO"):
        fix = f"convert it with .astype(np.{expected})" if not wants_text else "give strings or bytes"
        raise SampleError(f"{where}: dtype {array.dtype}, the spec says {tensor.dtype}", hint=fix)
    if array.ndim != len(tensor.shape):
        raise SampleError(
            f"{where}: shape {list(array.shape)} has {array.ndim} dims, the spec says {list(tensor.shape)}",
            hint="a sample has the batch dim too: shape [1, …] for a single row",
        )
    for axis, problem in _wrong_sizes(spec, tensor, array, sizes):
        raise SampleError(f"{where}: shape {list(array.shape)}, axis {axis} {problem}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise SampleError(f"{where}: holds NaN or infinity", hint="remove or repair that sample")
    return array


def _wrong_sizes(spec: Spec, tensor: TensorSpec, array: Array, sizes: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Axes whose size is not the fixed one, outside its dim's range, or not the same as elsewhere in the sample."""
    for axis, (size, actual) in enumerate(zip(tensor.shape, array.shape, strict=True)):
        if isinstance(size, int):
            if actual != size:
                yield axis, f"is {actual}, the spec says {size}"
            continue
        dim = spec.dims[size]
        if not dim.min <= actual <= dim.max:
            yield axis, f"is {actual}, dim {size!r} goes from {dim.min} to {dim.max}"
        elif sizes.setdefault(size, actual) != actual:
            yield axis, f"is {actual}, but dim {size!r} is {sizes[size]} in another input of the same sample"
