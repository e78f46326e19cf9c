"""Filling a partial config from a model's signature."""

from __future__ import annotations

from typing import Any

import pytest

from python_backend.onnxruntime.portable.autocomplete import complete_config, is_complete
from python_backend.onnxruntime.portable.errors import InvalidArgument
from tests.python_backend.test_contract import signature, tensor


def empty(**more: Any) -> dict[str, Any]:
    """The config of a model without config.pbtxt, as Triton hands it over."""
    return {"name": "m", "max_batch_size": 0, "input": [], "output": [], **more}


BATCHING = signature({"x": (-1, 3, -1)}, {"y": (-1, 10)})


def test_a_model_that_batches_gets_batch_size_4_and_dynamic_batching() -> None:
    config = empty()

    complete_config(config, BATCHING)

    assert config == empty(max_batch_size=4, input=[tensor("x", 3, -1)], output=[tensor("y", 10)], dynamic_batching={})


def test_a_fixed_first_dim_anywhere_means_no_batching() -> None:
    config = empty()

    complete_config(config, signature({"x": (-1, 3)}, {"y": (10,)}))

    assert config == empty(input=[tensor("x", -1, 3)], output=[tensor("y", 10)])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_batch_size": 16}, {"max_batch_size": 16, "dynamic_batching": {}}),
        ({"max_batch_size": 1}, {"max_batch_size": 1}),
        (
            {"dynamic_batching": {"max_queue_delay_microseconds": 5}},
            {"max_batch_size": 4, "dynamic_batching": {"max_queue_delay_microseconds": 5}},
        ),
        ({"sequence_batching": {}}, {"max_batch_size": 4, "sequence_batching": {}}),
    ],
)
def test_what_the_config_says_stays(given: dict[str, Any], expected: dict[str, Any]) -> None:
    config = empty(**given)

    complete_config(config, BATCHING)

    assert config == empty(input=[tensor("x", 3, -1)], output=[tensor("y", 10)]) | expected


def test_only_the_missing_side_is_filled() -> None:
    config = empty(max_batch_size=2, input=[tensor("mine", 7)])

    complete_config(config, BATCHING)

    assert config["input"] == [tensor("mine", 7)]
    assert config["output"] == [tensor("y", 10)]


def test_a_complete_config_is_left_alone() -> None:
    config = empty(input=[tensor("x", 3, 5)], output=[tensor("y", 10)])
    before = dict(config)

    complete_config(config, BATCHING)

    assert is_complete(config)
    assert config == before


def test_tensors_without_dims_are_one_element() -> None:
    batched, unbatched = empty(), empty()

    complete_config(batched, signature({"x": (-1,)}, {"y": (-1,)}))
    complete_config(unbatched, signature({"x": ()}, {"y": ()}))

    assert batched["input"] == [tensor("x", 1, reshape={"shape": []})]
    assert unbatched["input"] == [tensor("x", 1)]


def test_a_batch_size_that_the_model_cannot_have_is_refused() -> None:
    with pytest.raises(InvalidArgument) as refusal:
        complete_config(empty(max_batch_size=8), signature({"x": (1, 3)}, {"y": (-1, 10)}))

    assert str(refusal.value) == (
        "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified"
    )
