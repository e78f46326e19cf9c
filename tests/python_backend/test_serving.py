"""Values that a real server gives with the portable backend, against numpy and ONNX Runtime, over both protocols."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

from tests.python_backend import onnx_models
from tests.python_backend.client import Array, Protocol, infer
from tests.python_backend.server import Server

pytestmark = pytest.mark.server

ONE_THREAD = 'parameters {key: "intra_op_thread_count" value {string_value: "1"}}\n'
ONE_INSTANCE = "instance_group [{kind: KIND_CPU count: 1}]\n"
HEAD = 'backend: "onnxruntime"\n' + ONE_THREAD + ONE_INSTANCE

NUMERIC = [
    (TensorProto.BOOL, np.array([[True, False, True]])),
    (TensorProto.UINT8, np.array([[0, 7, 255]], np.uint8)),
    (TensorProto.UINT16, np.array([[0, 7, 65535]], np.uint16)),
    (TensorProto.UINT32, np.array([[0, 7, 2**32 - 1]], np.uint32)),
    (TensorProto.UINT64, np.array([[0, 7, 2**64 - 1]], np.uint64)),
    (TensorProto.INT8, np.array([[-128, 7, 127]], np.int8)),
    (TensorProto.INT16, np.array([[-(2**15), 7, 2**15 - 1]], np.int16)),
    (TensorProto.INT32, np.array([[-(2**31), 7, 2**31 - 1]], np.int32)),
    (TensorProto.INT64, np.array([[-(2**63), 7, 2**63 - 1]], np.int64)),
    (TensorProto.FLOAT16, np.array([[-1.5, 65504, 6e-8]], np.float16)),
    (TensorProto.FLOAT, np.array([[-1.5, np.inf, 1e-45]], np.float32)),
    (TensorProto.DOUBLE, np.array([[-1.5, np.nan, 5e-324]], np.float64)),
    (TensorProto.STRING, np.array([[b"", "h\u00e4ß 🦙".encode(), b"two words"]], np.object_)),
]


@pytest.fixture(scope="module")
def identity(server: Server) -> str:
    """One model that returns an input of every type unchanged."""
    nodes = [helper.make_node("Identity", [f"in{element}"], [f"out{element}"]) for element, _ in NUMERIC]
    inputs = [onnx_models.value(f"in{element}", ("batch", 3), element) for element, _ in NUMERIC]
    outputs = [onnx_models.value(f"out{element}", ("batch", 3), element) for element, _ in NUMERIC]
    server.load("identity", HEAD, {"1/model.onnx": onnx_models.packed(nodes, inputs, outputs)})
    return "identity"


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_every_data_type_comes_back_bit_for_bit(server: Server, identity: str, protocol: Protocol) -> None:
    feed = {f"in{element}": np.concatenate([array, array[:, ::-1]]) for element, array in NUMERIC}

    outputs = infer(server, identity, feed, protocol=protocol)

    for element, _ in NUMERIC:
        sent, got = feed[f"in{element}"], outputs[f"out{element}"]
        assert (got.dtype, got.shape) == (sent.dtype, (2, 3))
        assert got.tolist() == sent.tolist() if sent.dtype == np.object_ else got.tobytes() == sent.tobytes()


@pytest.fixture(scope="module")
def pair(server: Server) -> str:
    """A model with two inputs and two outputs."""
    server.load("pair", HEAD, {"1/model.onnx": onnx_models.sum_and_difference()})
    return "pair"


PAIR = {"a": np.array([[1, 2]], np.float32), "b": np.array([[10, 20]], np.float32)}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_only_the_outputs_asked_for_come_back(server: Server, pair: str, protocol: Protocol) -> None:
    both = infer(server, pair, PAIR, protocol=protocol)
    one = infer(server, pair, PAIR, outputs=["difference"], protocol=protocol)

    assert {name: array.tolist() for name, array in both.items()} == {"sum": [[11, 22]], "difference": [[-9, -18]]}
    assert {name: array.tolist() for name, array in one.items()} == {"difference": [[-9, -18]]}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_convolution_gives_what_onnx_runtime_gives(server: Server, protocol: Protocol) -> None:
    model = convolution()
    server.load("convolution", HEAD, {"1/model.onnx": model})
    image = np.random.default_rng(0).normal(size=(3, 1, 8, 8)).astype(np.float32)

    served = infer(server, "convolution", {"image": image}, protocol=protocol)["logits"]

    expected = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(["logits"], {"image": image})[0]
    np.testing.assert_array_equal(served, expected)


def convolution() -> bytes:
    """Convolution, ReLU, flatten, linear."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["features"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["features"], ["active"]),
        helper.make_node("Flatten", ["active"], ["flat"]),
        helper.make_node("Gemm", ["flat", "weight"], ["logits"]),
    ]
    weights = [
        onnx_models.constant("kernel", rng.normal(size=(4, 1, 3, 3)).astype(np.float32)),
        onnx_models.constant("weight", rng.normal(size=(256, 10)).astype(np.float32)),
    ]
    inputs = [onnx_models.value("image", ("batch", 1, 8, 8))]
    return onnx_models.packed(nodes, inputs, [onnx_models.value("logits", ("batch", 10))], weights)


def test_a_model_directory_with_external_data_is_served(server: Server, tmp_path: Path) -> None:
    files = {f"1/model.onnx/{name}": data for name, data in onnx_models.with_external_data(tmp_path).items()}
    server.load("external", HEAD, files)

    output = infer(server, "external", {"x": np.ones((1, 512), np.float32)})["y"]

    assert output[0, :3].tolist() == [1, 2, 3]
    assert output[0, -1] == 512


def test_the_file_may_have_another_name(server: Server) -> None:
    server.load("named", HEAD + 'default_model_filename: "net.onnx"', {"1/net.onnx": onnx_models.affine()})

    assert infer(server, "named", {"x": np.array([[1, 2, 3]], np.float32)})["y"].tolist() == [[3, 5, 7]]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_scalars_are_one_element_tensors_for_the_client(server: Server, protocol: Protocol) -> None:
    server.load("scalar", HEAD, {"1/model.onnx": onnx_models.affine(())})

    assert infer(server, "scalar", {"x": np.array([4], np.float32)}, protocol=protocol)["y"].tolist() == [9]


def test_a_vector_of_rows_is_reshaped_for_the_client(server: Server) -> None:
    server.load("rows", HEAD, {"1/model.onnx": onnx_models.affine(("batch",))})

    assert infer(server, "rows", {"x": np.array([[1], [2]], np.float32)})["y"].tolist() == [[3], [5]]


def test_a_model_without_a_batch_dim_runs_each_request_alone(server: Server) -> None:
    config = HEAD + "max_batch_size: 0\n"
    server.load("unbatched", config, {"1/model.onnx": onnx_models.affine((2, "length"))})

    output = infer(server, "unbatched", {"x": np.array([[1, 2], [3, 4]], np.float32)})["y"]

    assert output.tolist() == [[3, 5], [7, 9]]


def test_an_optional_input_falls_back_to_the_models_own_value(server: Server) -> None:
    node = helper.make_node("Add", ["x", "bias"], ["y"])
    bias = onnx_models.value("bias", (2,))
    model = onnx_models.packed(
        [node],
        [onnx_models.value("x", (2,)), bias],
        [onnx_models.value("y", (2,))],
        [onnx_models.constant("bias", np.array([100, 200], np.float32))],
    )
    config = (
        HEAD
        + 'input [{name: "x" data_type: TYPE_FP32 dims: [2]}]\n'
        + 'input [{name: "bias" data_type: TYPE_FP32 dims: [2] optional: true}]\n'
        + 'output [{name: "y" data_type: TYPE_FP32 dims: [2]}]'
    )
    server.load("biased", config, {"1/model.onnx": model})
    x = np.array([1, 2], np.float32)

    assert infer(server, "biased", {"x": x})["y"].tolist() == [101, 202]
    assert infer(server, "biased", {"x": x, "bias": np.array([1, 1], np.float32)})["y"].tolist() == [2, 3]


def test_an_empty_tensor_is_answered_with_an_empty_tensor(server: Server, pair: str) -> None:
    empty = np.zeros((2, 0), np.float32)

    outputs = infer(server, pair, {"a": empty, "b": empty}, protocol="http")

    assert {name: array.shape for name, array in outputs.items()} == {"sum": (2, 0), "difference": (2, 0)}


@pytest.mark.parametrize(
    ("feed", "error"),
    [
        ({"a": PAIR["a"], "b": np.zeros((2, 2), np.float32)}, "batch size does not match"),
        ({"a": PAIR["a"]}, "expected 2 inputs but got 1"),
        ({"a": PAIR["a"], "b": PAIR["b"].astype(np.float64)}, "data-type is 'FP64', but model 'pair' expects 'FP32'"),
    ],
    ids=["rows", "missing", "data_type"],
)
def test_triton_itself_refuses_what_the_config_excludes(
    server: Server, pair: str, feed: dict[str, Array], error: str
) -> None:
    with pytest.raises(InferenceServerException, match=error):
        infer(server, pair, feed)


@pytest.mark.parametrize("config", [None, "", 'platform: "onnxruntime_onnx"'], ids=["none", "empty", "platform"])
def test_a_missing_config_is_filled_as_natively(server: Server, config: str | None) -> None:
    server.load("filled", config, {"1/model.onnx": onnx_models.lookup()})

    filled = server.config("filled")

    assert (filled["backend"], filled["platform"], filled["max_batch_size"]) == ("onnxruntime", "onnxruntime_onnx", 4)
    assert [(t["name"], t["data_type"], t["dims"]) for t in filled["input"]] == [("ids", "TYPE_INT64", [-1])]
    assert [(t["name"], t["data_type"], t["dims"]) for t in filled["output"]] == [("rows", "TYPE_FP32", [-1, 2])]
    assert filled["dynamic_batching"]["preferred_batch_size"] == [4]
    assert [(group["kind"], group["count"]) for group in filled["instance_group"]] == [("KIND_CPU", 2)]
    assert infer(server, "filled", {"ids": np.array([[3]], np.int64)})["rows"].tolist() == [[[30, 31]]]


def test_the_load_is_logged_with_provider_threads_file_and_version(server: Server, pair: str) -> None:
    line = (
        f"portable onnxruntime backend: 'pair_0_0' runs {server.repository}/pair/1/model.onnx on CPUExecutionProvider "
        f"with 1 intra-op threads, ONNX Runtime {ort.__version__}, numpy {np.__version__}"
    )

    assert line in server.log()
