"""Requests of any shape, made from samples where there are some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from builders.synthetic import corner_sizes, make_inputs, trace_sizes
from tests.tritonsmith.specs import ENCODER, batched_spec, fixed_spec
from tritonsmith.spec import Dim, TensorSpec
from tritonsmith.spec_file import parse_spec

SAMPLES = [
    {"ids": np.array([[101, 7, 102]]), "mask": np.array([[True, True, True]])},
    {"ids": np.array([[101, 8, 9, 102, 0]]), "mask": np.array([[True, True, True, True, False]])},
]


def test_rows_come_from_samples_tiled_and_cropped_together() -> None:
    made = make_inputs(parse_spec(ENCODER), {"batch": 6, "sequence": 4}, SAMPLES)
    assert made["ids"].shape == made["mask"].shape == (6, 4)
    rows = {(*ids, *mask) for ids, mask in zip(made["ids"].tolist(), made["mask"].tolist(), strict=True)}
    assert rows == {(101, 7, 102, 101, True, True, True, True), (101, 8, 9, 102, True, True, True, True)}


def test_without_samples_values_are_random_in_range_and_repeatable() -> None:
    spec = replace(batched_spec(), inputs={"x": TensorSpec(dtype="int32", shape=("batch", 50), range=(10, 20))})
    first, again = (make_inputs(spec, {"batch": 4}, [])["x"] for _ in range(2))
    assert first.dtype == np.int32
    assert first.min() >= 10
    assert first.max() < 20
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, make_inputs(spec, {"batch": 4}, [], seed=1)["x"])


def test_tracing_avoids_one_and_every_size_that_means_something_else() -> None:
    spec = replace(batched_spec(), dims={"batch": Dim(opt=4, max=8)})  # sizes 3 and 2 are taken by the tensors
    assert trace_sizes(spec) == {"batch": 4}
    assert trace_sizes(replace(spec, dims={"batch": Dim(opt=1, max=1)})) == {"batch": 1}


def test_corners_are_min_opt_max_an_odd_one_and_batch_alone() -> None:
    assert corner_sizes(parse_spec(ENCODER)) == [
        {"batch": 1, "sequence": 1},
        {"batch": 4, "sequence": 32},
        {"batch": 16, "sequence": 128},
        {"batch": 7, "sequence": 35},
        {"batch": 1, "sequence": 128},
        {"batch": 16, "sequence": 1},
    ]


def test_a_model_without_dims_has_one_corner() -> None:
    assert corner_sizes(fixed_spec()) == [{}]
    assert make_inputs(fixed_spec(), {}, [])["x"].shape == (3, 4)
