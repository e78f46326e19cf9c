"""Opening, describing and running models with the real ONNX Runtime, without Triton."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from python_backend.onnxruntime.portable.errors import Internal, RunError, Unavailable, Unsupported
from python_backend.onnxruntime.portable.model_file import find_model_file
from python_backend.onnxruntime.portable.options import Options
from python_backend.onnxruntime.portable.providers import CPU, Provider
from python_backend.onnxruntime.portable.session import Model, describe_model, open_model, session_options
from python_backend.onnxruntime.portable.strings import decode_strings
from python_backend.onnxruntime.portable.tensors import TensorInfo
from tests.python_backend import onnx_models

ONE_THREAD = Options(intra_op_threads=1)


def opened(path: Path, content: bytes, options: Options = ONE_THREAD) -> Model:
    """Write a model and open it."""
    path.write_bytes(content)
    return open_model(path, options, [Provider(CPU)])


def test_a_model_runs_and_tells_its_signature(tmp_path: Path) -> None:
    model = opened(tmp_path / "model.onnx", onnx_models.sum_and_difference())
    a, b = np.array([[5, 7]], np.float32), np.array([[1, 2]], np.float32)

    assert [output.tolist() for output in model.run(["difference"], {"a": a, "b": b})] == [[[4, 5]]]
    assert model.run([], {"a": a, "b": b}) == []
    assert model.provider == CPU
    assert model.signature.inputs["a"] == TensorInfo("a", "TYPE_FP32", (-1, -1))
    assert describe_model(tmp_path / "model.onnx", ONE_THREAD) == model.signature


def test_options_reach_onnx_runtime(tmp_path: Path) -> None:
    options = Options(
        graph_level="extended",
        parallel=True,
        intra_op_threads=1,
        inter_op_threads=2,
        mem_arena=False,
        mem_pattern=False,
        session_entries={"session.use_device_allocator_for_initializers": "1"},
        run_entries={"memory.enable_memory_arena_shrinkage": "cpu:0"},
    )

    made = session_options(options)

    assert made.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert made.execution_mode == ort.ExecutionMode.ORT_PARALLEL
    assert (made.intra_op_num_threads, made.inter_op_num_threads) == (1, 2)
    assert (made.enable_cpu_mem_arena, made.enable_mem_pattern) == (False, False)
    assert made.get_session_config_entry("session.use_device_allocator_for_initializers") == "1"
    model = opened(tmp_path / "model.onnx", onnx_models.affine(), Options(run_entries=options.run_entries))
    assert model.run(["y"], {"x": np.array([[1, 2, 3]], np.float32)})[0].tolist() == [[3, 5, 7]]


def test_a_corrupt_file_gets_the_native_text(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"

    with pytest.raises(Internal) as refusal:
        opened(path, b"not a model")

    assert str(refusal.value) == f"onnx runtime error 7: Load model from {path} failed:Protobuf parsing failed."


def test_a_run_that_the_request_broke_says_so(tmp_path: Path) -> None:
    model = opened(tmp_path / "model.onnx", onnx_models.lookup(rows=4))

    with pytest.raises(RunError, match=r"^onnx runtime error 2: .*idx=9 must be within") as refusal:
        model.run(["rows"], {"ids": np.array([[9]], np.int64)})

    assert refusal.value.request_at_fault


def test_inputs_that_do_not_go_together_are_the_requests_fault(tmp_path: Path) -> None:
    model = opened(tmp_path / "model.onnx", onnx_models.sum_and_difference())

    with pytest.raises(RunError, match=r"^onnx runtime error \d+: ") as refusal:
        model.run(["sum"], {"a": np.zeros((1, 2), np.float32), "b": np.zeros((1, 3), np.float32)})

    assert refusal.value.request_at_fault


def test_a_model_that_returns_a_sequence_is_unsupported(tmp_path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    node = helper.make_node("SequenceConstruct", ["x"], ["s"])
    content = onnx_models.packed([node], [onnx_models.value("x", (1,))], [sequence])

    with pytest.raises(Unsupported, match="Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 's'"):
        opened(tmp_path / "model.onnx", content)


def test_the_model_is_found_by_its_default_name_its_given_name_or_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").mkdir()
    (tmp_path / "model.onnx" / "model.onnx").touch()
    (tmp_path / "net.onnx").touch()

    assert find_model_file({"name": "m"}, tmp_path) == tmp_path / "model.onnx" / "model.onnx"
    assert find_model_file({"name": "m", "default_model_filename": "net.onnx"}, tmp_path) == tmp_path / "net.onnx"


def test_a_missing_model_gets_the_native_text(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()

    with pytest.raises(Internal, match=f"^failed to stat file {tmp_path}/model.onnx$"):
        find_model_file({"name": "m"}, tmp_path)
    with pytest.raises(Unavailable, match=f"^unable to find '{tmp_path}/dir/model.onnx' for model instance 'm'$"):
        find_model_file({"name": "m", "default_model_filename": "dir"}, tmp_path)


def test_bytes_become_text_in_their_shape_and_numbers_pass_untouched() -> None:
    strings = np.array([[b"a", "\u00f6".encode()], [b"", b"d"]], np.object_)
    numbers = np.arange(3)

    assert decode_strings("x", strings).tolist() == [["a", "\u00f6"], ["", "d"]]
    assert decode_strings("x", numbers) is numbers
    with pytest.raises(RunError, match="input 'x' holds a string that is not UTF-8"):
        decode_strings("x", np.array([b"\xff"], np.object_))
