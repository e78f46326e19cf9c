"""A config that does not fit its model is refused at load, in the native backend's words, by a real server."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from tritonclient.utils import InferenceServerException

from tests.python_backend import onnx_models
from tests.python_backend.server import Server

pytestmark = pytest.mark.server

HEAD = 'backend: "onnxruntime"\n'
X = 'input [{name: "x" data_type: TYPE_FP32 dims: [3]}]\n'
Y = 'output [{name: "y" data_type: TYPE_FP32 dims: [3]}]\n'
BATCHED = "max_batch_size: 8\n"


def parameter(name: str, text: str) -> str:
    """Write one parameter."""
    return f'parameters {{key: "{name}" value {{string_value: "{text}"}}}}\n'


@dataclass(frozen=True)
class Case:
    """A config, its model, and the error that loading them gives."""

    name: str
    config: str
    error: str
    files: dict[str, bytes] = field(default_factory=lambda: {"1/model.onnx": onnx_models.affine()})


CASES = [
    Case(
        "input_name",
        HEAD + BATCHED + 'input [{name: "zz" data_type: TYPE_FP32 dims: [3]}]\n' + Y,
        "InvalidArgument: unexpected inference input 'zz', allowed inputs are: x\n",
    ),
    Case(
        "output_name",
        HEAD + BATCHED + X + 'output [{name: "zz" data_type: TYPE_FP32 dims: [3]}]',
        "InvalidArgument: unexpected inference output 'zz', allowed outputs are: y\n",
    ),
    Case(
        "data_type",
        HEAD + BATCHED + 'input [{name: "x" data_type: TYPE_FP16 dims: [3]}]\n' + Y,
        "InvalidArgument: unable to load model 'data_type', configuration expects datatype TYPE_FP16 for input 'x', "
        "model provides TYPE_FP32\n",
    ),
    Case(
        "dims",
        HEAD + BATCHED + 'input [{name: "x" data_type: TYPE_FP32 dims: [4]}]\n' + Y,
        "InvalidArgument: model 'dims', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model "
        "configuration specifies 2 dimensions (an initial batch dimension because max_batch_size > 0 followed by the "
        "explicit tensor shape, making complete shape [-1,4])\n",
    ),
    Case(
        "open_dim",
        HEAD + BATCHED + 'input [{name: "x" data_type: TYPE_FP32 dims: [-1]}]\n' + Y,
        "making complete shape [-1,-1])\n",
    ),
    Case(
        "rank",
        HEAD + BATCHED + X + 'output [{name: "y" data_type: TYPE_FP32 dims: [3, 1]}]',
        "tensor 'y': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 3 dimensions",
    ),
    Case(
        "no_batch_in_model",
        HEAD + BATCHED + X + Y,
        "InvalidArgument: model 'no_batch_in_model', tensor 'x': for the model to support batching the shape should "
        "have "
        "at least 1 dimension and the first dimension must be -1; but shape expected by the model is [2,3]\n",
        {"1/model.onnx": onnx_models.affine((2, 3))},
    ),
    Case(
        "no_batch_in_config",
        HEAD + X + Y,
        "InvalidArgument: model 'no_batch_in_config', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but "
        "the "
        "model configuration specifies 1 dimensions (shape [3])\n",
    ),
    Case(
        "autofill",
        HEAD + BATCHED,
        "InvalidArgument: autofill failed for model 'autofill': model does not support batching while non-zero "
        "max_batch_size is specified\n",
        {"1/model.onnx": onnx_models.affine((2, 3))},
    ),
    Case(
        "input_count",
        HEAD + BATCHED + X + 'input [{name: "b" data_type: TYPE_FP32 dims: [3]}]\n' + Y,
        "InvalidArgument: unable to load model 'input_count', configuration expects 2 inputs, model provides 1\n",
    ),
    Case(
        "optional",
        HEAD + BATCHED + 'input [{name: "x" data_type: TYPE_FP32 dims: [3] optional: true}]\n' + Y,
        "InvalidArgument: unable to load model 'optional', configuration expects 0 inputs, model provides 1\n",
    ),
    Case(
        "ragged",
        HEAD + BATCHED + 'input [{name: "x" data_type: TYPE_FP32 dims: [3] allow_ragged_batch: true}]\n' + Y,
        "InvalidArgument: unable to load model 'ragged', configuration expects model provides input with shape [-1]  "
        "for "
        "ragged input 'x', model provides [-1,3]\n",
    ),
    Case(
        "execution_mode",
        HEAD + BATCHED + X + Y + parameter("execution_mode", "7"),
        "InvalidArgument: Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got "
        "7 .\n",
    ),
    Case(
        "threads",
        HEAD + BATCHED + X + Y + parameter("intra_op_thread_count", "abc"),
        "InvalidArgument: failed to convert 'abc' to integral number\n",
    ),
    Case(
        "arena",
        HEAD + BATCHED + X + Y + parameter("enable_mem_arena", "maybe"),
        "InvalidArgument: failed to convert 'maybe' to boolean\n",
    ),
    Case(
        "accelerator",
        HEAD
        + BATCHED
        + X
        + Y
        + 'optimization {execution_accelerators {cpu_execution_accelerator [{name: "warp"}]}}\n'
        + "instance_group [{kind: KIND_CPU}]",
        "InvalidArgument: unknown Execution Accelerator 'warp' is requested\n",
    ),
    Case("no_file", HEAD, "Internal: failed to stat file {repository}/no_file/1/model.onnx\n", {"1/other.onnx": b""}),
    Case(
        "no_named_file",
        HEAD + 'default_model_filename: "nope.onnx"\n' + BATCHED + X + Y,
        "Internal: failed to stat file {repository}/no_named_file/1/nope.onnx\n",
    ),
    Case(
        "empty_directory",
        HEAD,
        "Unavailable: unable to find '{repository}/empty_directory/1/model.onnx/model.onnx' for model instance "
        "'empty_directory'\n",
        {"1/model.onnx/a": b""},
    ),
    Case(
        "corrupt",
        HEAD + BATCHED + X + Y,
        "Internal: onnx runtime error 7: Load model from {repository}/corrupt/1/model.onnx failed:Protobuf parsing "
        "failed.\n",
        {"1/model.onnx": b"this is not ONNX"},
    ),
    Case(
        "decoupled",
        HEAD + BATCHED + X + Y + "model_transaction_policy {decoupled: true}",
        "Unsupported: model 'decoupled' asks for decoupled responses (model_transaction_policy), which the portable",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_config_that_does_not_fit_is_refused_with_the_native_text(server: Server, case: Case) -> None:
    with pytest.raises(InferenceServerException) as refusal:
        server.load(case.name, case.config, case.files)

    assert case.error.format(repository=server.repository) in str(refusal.value)
    assert not server.grpc.is_model_ready(case.name, client_timeout=5)


def test_the_error_names_one_frame_only(server: Server) -> None:
    with pytest.raises(InferenceServerException) as refusal:
        server.load("frames", HEAD + parameter("execution_mode", "2"), {"1/model.onnx": onnx_models.affine()})

    assert str(refusal.value).count("backend.py(") == 1


@pytest.mark.parametrize(
    "extra",
    [
        "optimization {graph {level: 9}}",
        'optimization {execution_accelerators {gpu_execution_accelerator [{name: "warp"}]}}\n'
        "instance_group [{kind: KIND_CPU}]",
    ],
    ids=["graph_level_9", "gpu_accelerator_on_cpu"],
)
def test_what_the_native_backend_lets_pass_passes(server: Server, extra: str) -> None:
    server.load("lenient", HEAD + BATCHED + X + Y + extra, {"1/model.onnx": onnx_models.affine()})

    assert server.grpc.is_model_ready("lenient", client_timeout=5)
    server.unload("lenient")


def test_a_model_that_failed_to_load_loads_once_it_is_repaired(server: Server) -> None:
    with pytest.raises(InferenceServerException, match="Protobuf parsing failed"):
        server.load("repaired", HEAD, {"1/model.onnx": b"broken"})

    server.load("repaired", HEAD, {"1/model.onnx": onnx_models.affine()})

    assert server.config("repaired")["max_batch_size"] == 4
    server.unload("repaired")
