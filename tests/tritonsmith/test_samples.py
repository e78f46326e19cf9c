"""Samples that do not fit the spec are refused with the sample, the input, the axis and the fix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tritonsmith.specs import ENCODER, batched_spec
from tritonsmith.errors import SampleError, UserCodeError
from tritonsmith.samples import check_sample, load_samples
from tritonsmith.spec_file import parse_spec

IDS = np.zeros((1, 5), np.int64)
MASK = np.ones((1, 5), np.bool_)


def test_a_fitting_sample_comes_back_in_the_order_of_the_inputs() -> None:
    sample = check_sample(parse_spec(ENCODER), {"mask": MASK, "ids": IDS})
    assert list(sample) == ["ids", "mask"]
    assert sample["ids"].shape == (1, 5)


@pytest.mark.parametrize(
    ("sample", "message", "hint"),
    [
        ([IDS], "sample 3 is list", "a sample is a dict"),
        ({"ids": IDS}, "lacks ['mask']", "the spec's inputs: ids, mask"),
        ({"ids": IDS, "mask": MASK, "x": IDS}, "unknown inputs ['x']", "ids, mask"),
        ({"ids": IDS.astype(np.int32), "mask": MASK}, "dtype int32, the spec says int64", ".astype(np.int64)"),
        ({"ids": IDS[0], "mask": MASK}, "has 1 dims", "shape [1, …] for a single row"),
        ({"ids": np.zeros((17, 5), np.int64), "mask": MASK}, "axis 0 is 17, dim 'batch' goes from 1 to 16", ""),
        ({"ids": IDS, "mask": MASK[:, :4]}, "axis 1 is 4, but dim 'sequence' is 5 in another input", ""),
    ],
)
def test_a_sample_that_does_not_fit_is_refused(sample: object, message: str, hint: str) -> None:
    with pytest.raises(SampleError) as caught:
        check_sample(parse_spec(ENCODER), sample, 3)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_sample_with_nan_or_infinity_is_refused(value: float) -> None:
    with pytest.raises(SampleError, match="holds NaN or infinity"):
        check_sample(batched_spec(), {"x": np.full((1, 3), value, np.float32)})


def test_samples_are_read_lazily_up_to_the_limit() -> None:
    spec = replace(batched_spec(), samples="tests.builders.models:endless_samples")
    assert [float(sample["x"][0, 0]) for sample in load_samples(spec, limit=3)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("no_samples", SampleError, "gave no sample"),
        ("not_iterable", SampleError, "returned int"),
        ("raising_samples", UserCodeError, "raised ValueError: no data today"),
    ],
)
def test_a_function_that_gives_no_samples_is_explained(function: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_samples(replace(batched_spec(), samples=f"tests.builders.models:{function}"))
