"""Requests that share an `execute` on a real server: one run, own rows, own errors; and instances under load."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from tests.python_backend import onnx_models
from tests.python_backend.client import executions, infer, infer_together
from tests.python_backend.server import Server

pytestmark = pytest.mark.server

HEAD = """backend: "onnxruntime"
max_batch_size: 8
dynamic_batching {max_queue_delay_microseconds: 400000}
instance_group [{kind: KIND_CPU count: 1}]
parameters {key: "intra_op_thread_count" value {string_value: "1"}}
"""
LOOKUP = """input [{name: "ids" data_type: TYPE_INT64 dims: [-1]}]
output [{name: "rows" data_type: TYPE_FP32 dims: [-1, 2]}]
"""
AFFINE = """input [{name: "x" data_type: TYPE_FP32 dims: [3]}]
output [{name: "y" data_type: TYPE_FP32 dims: [3]}]
"""


def ids(*values: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """One request of one row."""
    return {"ids": np.array([values], np.int64)}


def test_requests_that_arrive_together_run_once_and_get_their_own_rows(server: Server) -> None:
    server.load("together", HEAD + AFFINE, {"1/model.onnx": onnx_models.affine()})
    feeds = [{"x": np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) + 100 * rows} for rows in (1, 2, 1, 4)]

    answers = infer_together(server, "together", feeds)

    for feed, answer in zip(feeds, answers, strict=True):
        assert isinstance(answer, dict)
        np.testing.assert_array_equal(answer["y"], 2 * feed["x"] + 1)
    assert executions(server, "together") == {8: 1}


def test_a_bad_request_fails_alone_and_its_batch_mates_are_right(server: Server) -> None:
    server.load("lookup", HEAD + LOOKUP, {"1/model.onnx": onnx_models.lookup(rows=4)})

    answers = infer_together(server, "lookup", [ids(0, 1), ids(2, 3), ids(1, 99), ids(3, 0)])

    good = [answer["rows"][0].tolist() for answer in answers if isinstance(answer, dict)]
    assert good == [[[0, 1], [10, 11]], [[20, 21], [30, 31]], [[30, 31], [0, 1]]]
    bad = answers[2]
    assert isinstance(bad, InferenceServerException)
    assert bad.status() == "StatusCode.INVALID_ARGUMENT"
    assert "onnx runtime error 2: " in str(bad)
    assert "indices element out of data bounds, idx=99 must be within the inclusive range [-4,3]" in str(bad)
    assert executions(server, "lookup") == {4: 1}


def test_a_bad_request_over_http_is_a_400(server: Server) -> None:
    server.load("lookup", HEAD + LOOKUP, {"1/model.onnx": onnx_models.lookup(rows=4)})

    with pytest.raises(InferenceServerException, match="idx=99") as refusal:
        infer(server, "lookup", ids(99), protocol="http")

    assert refusal.value.status() == "400"
    assert infer(server, "lookup", ids(3), protocol="http")["rows"].tolist() == [[[30, 31]]]


def test_a_string_that_is_not_text_fails_alone(server: Server) -> None:
    strings = """input [{name: "x" data_type: TYPE_STRING dims: [1]}]
    output [{name: "y" data_type: TYPE_STRING dims: [1]}]"""
    server.load("text", HEAD + strings, {"1/model.onnx": onnx_models.unary("Identity", ("batch", 1), 8)})
    feeds = [{"x": np.array([[word]], np.object_)} for word in (b"one", b"\xff", "zw\u00f6lf".encode(), b"n\0l")]

    answers = infer_together(server, "text", feeds)

    assert [answer["y"].item() for answer in answers if isinstance(answer, dict)] == [
        b"one",
        "zw\u00f6lf".encode(),
        b"n\0l",
    ]
    assert "input 'x' holds a string that is not UTF-8" in str(answers[1])
    assert executions(server, "text") == {4: 1}


def test_a_batch_of_no_rows_is_refused_and_the_next_request_served(server: Server) -> None:
    server.load("none", HEAD + AFFINE, {"1/model.onnx": onnx_models.affine()})

    with pytest.raises(InferenceServerException, match="input byte size mismatch for input 'x'"):
        infer(server, "none", {"x": np.zeros((0, 3), np.float32)})

    assert infer(server, "none", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[3, 3, 3]]


def test_two_instances_under_load_answer_every_request_with_its_own_rows(server: Server) -> None:
    config = HEAD.replace("400000", "200").replace("count: 1", "count: 2") + AFFINE
    server.load("busy", config, {"1/model.onnx": onnx_models.affine()})

    def one(number: int) -> bool:
        x = np.full((1 + number % 3, 3), number, np.float32)
        return bool((infer(server, "busy", {"x": x})["y"] == 2 * number + 1).all())

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(600))) == [True] * 600
    statistics = server.statistics("busy")
    assert statistics["inference_stats"]["success"]["count"] == 600
    assert statistics["execution_count"] < 600


def test_models_load_at_the_same_time_and_reload_with_other_weights(server: Server) -> None:
    names = [f"parallel{number}" for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: server.load(name, HEAD + AFFINE, {"1/model.onnx": onnx_models.affine()}), names))
    x = np.array([[-1, 2, 3]], np.float32)
    assert [infer(server, name, {"x": x})["y"].tolist() for name in names] == [[[-1, 5, 7]]] * 3

    server.unload(names[0])
    with pytest.raises(InferenceServerException, match=r"is not ready|not found|unknown model"):
        infer(server, names[0], {"x": x})
    server.load(names[0], HEAD + AFFINE, {"1/model.onnx": onnx_models.unary("Neg", ("batch", 3))})

    assert infer(server, names[0], {"x": x})["y"].tolist() == [[1, -2, -3]]
