"""Grouping, running and splitting the requests of one execute, with models that are plain functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from python_backend.onnxruntime.portable.batching import Array, Batcher, Failure, Feed, Run
from python_backend.onnxruntime.portable.errors import RunError
from python_backend.onnxruntime.portable.shapes import REMEMBERED_SHAPES, ShapeRules
from python_backend.onnxruntime.portable.tensors import TensorInfo


class Recorder:
    """A model that negates and sums its input `x`; remembers what it was given and fails on values above 100."""

    def __init__(self) -> None:
        self.runs: list[tuple[tuple[str, ...], Feed]] = []
        self.made: list[Array] = []

    def __call__(self, outputs: Sequence[str], feed: Feed) -> list[Array]:
        self.runs.append((tuple(outputs), feed))
        x = feed["x"]
        if (x > 100).any():
            raise RunError("too big", request_at_fault=True)
        computed = {"negative": -x, "total": x.sum(axis=-1, keepdims=True)}
        self.made = [computed[name] for name in outputs]
        return self.made

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of `x` in each run."""
        return [feed["x"].shape for _, feed in self.runs]


def batcher(run: Run, shape: tuple[int, ...] = (-1, -1), *, batched: bool = True) -> Batcher:
    """A Batcher for a model with input `x` of this shape."""
    rules = ShapeRules("m", {"x": TensorInfo("x", "TYPE_FP32", shape)}, {}, batched=batched)
    return Batcher(run, rules, ["negative", "total"], batched=batched)


def feed(*rows: Sequence[float]) -> dict[str, Array]:
    """One request."""
    return {"x": np.array(rows, np.float32)}


def values(results: Sequence[object], output: str = "negative") -> list[object]:
    """The values of one output of each result."""
    return [result[output].tolist() if isinstance(result, dict) else result for result in results]


def test_equal_shapes_run_once_and_every_request_gets_its_rows() -> None:
    model = Recorder()

    results = batcher(model).run_all([feed([1, 2]), feed([3, 4], [5, 6]), feed([7, 8])])

    assert values(results) == [[[-1, -2]], [[-3, -4], [-5, -6]], [[-7, -8]]]
    assert values(results, "total") == [[[3]], [[7], [11]], [[15]]]
    assert model.shapes == [(4, 2)]


def test_a_request_alone_is_not_copied_and_its_outputs_are_the_models_own() -> None:
    model = Recorder()
    request = feed([1, 2])

    (result,) = batcher(model).run_all([request])

    assert model.runs[0][1]["x"] is request["x"]
    assert isinstance(result, dict)
    assert result["negative"] is model.made[0]


def test_the_parts_of_a_batch_are_contiguous_views() -> None:
    model = Recorder()

    results = batcher(model).run_all([feed([1, 2]), feed([3, 4])])

    for result in results:
        assert isinstance(result, dict)
        assert result["negative"].base is model.made[0]
        assert result["negative"].flags.c_contiguous


def test_different_shapes_run_in_groups_and_keep_their_order() -> None:
    model = Recorder()

    results = batcher(model).run_all([feed([1]), feed([2, 3]), feed([4], [0]), feed([5, 6]), feed([7, 8, 9])])

    assert values(results) == [[[-1]], [[-2, -3]], [[-4], [0]], [[-5, -6]], [[-7, -8, -9]]]
    assert model.shapes == [(3, 1), (2, 2), (1, 3)]


def test_a_group_that_fails_is_run_in_halves_so_that_only_the_culprit_fails() -> None:
    model = Recorder()

    results = batcher(model).run_all([feed([1]), feed([101]), feed([3]), feed([4, 4])])

    assert values(results) == [[[-1]], Failure("too big"), [[-3]], [[-4, -4]]]
    assert model.shapes == [(3, 1), (1, 1), (2, 1), (1, 1), (1, 1), (1, 2)]


def test_a_shape_that_does_not_fit_fails_before_any_run() -> None:
    model = Recorder()

    results = batcher(model, (-1, 2)).run_all([feed([1, 2]), feed([1, 2, 3]), feed([3, 4])])

    expected = (
        "input 'x' has shape [1,3], but model 'm' takes [-1,2]: send the dims that are not -1 exactly as they are there"
    )
    assert values(results) == [[[-1, -2]], Failure(expected), [[-3, -4]]]
    assert model.shapes == [(2, 2)]


def test_only_what_some_request_wants_is_computed() -> None:
    model = Recorder()

    batcher(model).run_all([feed([1]), feed([2]), feed([1, 2])], [{"total"}, {"total"}, {"total", "negative"}])

    assert [outputs for outputs, _ in model.runs] == [("total",), ("negative", "total")]


def test_without_a_batch_dim_nothing_is_joined() -> None:
    model = Recorder()

    results = batcher(model, (2, 1), batched=False).run_all([feed([1], [2]), feed([3], [4]), feed([5])])

    assert model.shapes == [(2, 1), (2, 1)]
    assert values(results[:2]) == [[[-1], [-2]], [[-3], [-4]]]
    assert isinstance(results[2], Failure)


def test_a_model_that_mixes_its_rows_still_answers_requests_one_by_one() -> None:
    shapes = []

    def mean(outputs: Sequence[str], given: Feed) -> list[Array]:
        shapes.append(given["x"].shape)
        return [given["x"].mean(axis=0, keepdims=True) for _ in outputs]

    results = batcher(mean).run_all([feed([1, 2]), feed([3, 4])])

    assert values(results) == [[[1, 2]], [[3, 4]]]
    assert shapes == [(2, 2), (1, 2), (1, 2)]


def test_a_failure_of_the_machine_is_not_blamed_on_the_request() -> None:
    def exhausted(outputs: Sequence[str], given: Feed) -> list[Array]:
        raise RunError("Failed to allocate memory", request_at_fault=False)

    assert batcher(exhausted).run_all([feed([1])]) == [Failure("Failed to allocate memory", request_at_fault=False)]


def test_inputs_are_grouped_by_name_whatever_their_order() -> None:
    takes = {name: TensorInfo(name, "TYPE_FP32", (-1, -1)) for name in "ab"}
    rules = ShapeRules("m", takes, {}, batched=True)
    one, two = np.zeros((1, 1)), np.zeros((1, 2))

    assert rules.key({"a": one, "b": two}) == rules.key({"b": two, "a": one})
    assert rules.key({"a": one, "b": two}) != rules.key({"a": two, "b": one})


def test_scalars_are_reshaped_on_both_sides() -> None:
    rules = ShapeRules("m", {"x": TensorInfo("x", "TYPE_FP32", ())}, {"y": (1,)}, batched=False)

    assert rules.to_model({"x": np.ones((1,))})["x"].shape == ()
    assert rules.to_config({"y": np.float32(3).reshape(())})["y"].tolist() == [3]
    assert rules.problem({"x": np.ones((2,))}) is not None


def test_the_memory_of_shapes_is_bounded() -> None:
    rules = ShapeRules("m", {"x": TensorInfo("x", "TYPE_FP32", (-1, -1))}, {}, batched=True)

    for length in range(REMEMBERED_SHAPES + 5):
        assert rules.problem({"x": np.empty((1, length))}) is None

    assert len(rules._verdicts) == 5


def test_two_bad_requests_of_one_shape_cost_no_run() -> None:
    model = Recorder()

    results = batcher(model, (-1, 2)).run_all([feed([1]), feed([2])])

    assert all(isinstance(result, Failure) for result in results)
    assert model.shapes == []


def with_scalar(run: Run) -> Batcher:
    """A Batcher for a model of input `x` [-1,-1] and a scalar `s`, which a config shows as [1]."""
    takes = {"x": TensorInfo("x", "TYPE_FP32", (-1, -1)), "s": TensorInfo("s", "TYPE_FP32", ())}
    return Batcher(run, ShapeRules("m", takes, {}, batched=True), ["negative", "total"], batched=True)


@pytest.mark.parametrize("bad_first", [True, False])
def test_a_bad_scalar_never_decides_about_a_good_one(bad_first: bool) -> None:
    batch = with_scalar(Recorder())
    good = {**feed([1]), "s": np.ones((1, 1), np.float32)}
    bad = {**feed([1], [2]), "s": np.ones((2, 1), np.float32)}

    answers = {name: batch.run_all([one])[0] for name, one in _in_order(good, bad, bad_first=bad_first)}

    assert values([answers["good"]]) == [[[-1]]]
    assert isinstance(answers["bad"], Failure)
    assert answers["bad"].request_at_fault
    assert "input 's' has shape [2,1]" in answers["bad"].text


def _in_order(good: Feed, bad: Feed, *, bad_first: bool) -> list[tuple[str, Feed]]:
    pairs = [("good", good), ("bad", bad)]
    return pairs[::-1] if bad_first else pairs


def test_a_model_with_a_scalar_input_is_run_one_by_one() -> None:
    model = Recorder()
    request = {**feed([1]), "s": np.ones((1, 1), np.float32)}

    with_scalar(model).run_all([request, request])

    assert model.shapes == [(1, 1), (1, 1)]


def test_a_model_whose_rows_cannot_be_told_apart_is_noticed_and_never_joined_again() -> None:
    told: list[str] = []

    def non_zero(_outputs: Sequence[str], given: Feed) -> list[Array]:
        return [np.argwhere(given["x"])]

    rules = ShapeRules("m", {"x": TensorInfo("x", "TYPE_FP32", (-1, -1))}, {}, batched=True)
    batch = Batcher(non_zero, rules, ["y"], batched=True, warn=told.append)
    requests = [feed([1, 1]), feed([0, 0])]

    alone = [batch.run_all([one])[0] for one in requests]
    together = batch.run_all(requests)

    assert values(alone, "y") == values(together, "y") == [[[0, 0], [0, 1]], []]
    assert len(told) == 1
    assert "rows cannot be told apart" in told[0]


def test_a_batch_that_fails_without_a_culprit_is_not_tried_again() -> None:
    told: list[str] = []
    runs: list[int] = []

    def one_row_only(_outputs: Sequence[str], given: Feed) -> list[Array]:
        runs.append(len(given["x"]))
        if len(given["x"]) > 1:
            raise RunError("the batch is baked in", request_at_fault=True)
        return [given["x"]]

    rules = ShapeRules("m", {"x": TensorInfo("x", "TYPE_FP32", (-1, -1))}, {}, batched=True)
    batch = Batcher(one_row_only, rules, ["y"], batched=True, warn=told.append)
    for _ in range(2):
        assert values(batch.run_all([feed([1]), feed([2])]), "y") == [[[1]], [[2]]]

    assert runs == [2, 1, 1, 1, 1]
    assert len(told) == 1
