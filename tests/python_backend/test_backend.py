"""The adapter to Triton, with stand-ins for Triton and the real ONNX Runtime."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from python_backend.onnxruntime.portable.errors import InvalidArgument
from tests.python_backend import onnx_models
from tests.python_backend.fake_triton import InferenceRequest, Logger, ModelConfig, Tensor, fake_module
from tests.python_backend.test_contract import config, tensor

MODULE = "python_backend.onnxruntime.portable.backend"


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The adapter, imported beside a stand-in for the module that only exists inside Triton's stub."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "model.onnx").write_bytes(onnx_models.affine())
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_module(str(tmp_path / "1")))
    Logger.lines.clear()
    yield importlib.import_module(MODULE)
    del sys.modules[MODULE]


def arguments(repository: Path, model_config: dict[str, Any]) -> dict[str, str]:
    """What Triton passes to `initialize`."""
    return {
        "model_config": json.dumps(model_config),
        "model_repository": str(repository),
        "model_version": "1",
        "model_instance_name": "m_0_0",
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
    }


@pytest.fixture
def model(backend: ModuleType, tmp_path: Path) -> Any:
    """An instance that serves y = 2x + 1 on rows of three."""
    instance = backend.TritonPythonModel()
    assert not instance.is_ready()
    instance.initialize(arguments(tmp_path, config([tensor("x", 3)], [tensor("y", 3)])))
    return instance


def request(*rows: list[float]) -> InferenceRequest:
    """One request."""
    return InferenceRequest([Tensor("x", np.array(rows, np.float32))])


def test_every_request_is_answered_in_order(model: Any) -> None:
    responses = model.execute([request([1, 2, 3]), request([4, 5, 6], [7, 8, 9])])

    assert [response.values() for response in responses] == [{"y": [[3, 5, 7]]}, {"y": [[9, 11, 13], [15, 17, 19]]}]
    assert model.is_ready()


def test_a_request_that_cannot_be_read_fails_alone_and_is_logged(model: Any) -> None:
    unreadable = InferenceRequest([Tensor("x", None)])

    first, second, third = model.execute([request([1, 2, 3]), unreadable, request([4, 5, 6])])

    assert (first.values(), third.values()) == ({"y": [[3, 5, 7]]}, {"y": [[9, 11, 13]]})
    assert second.error.code == "INTERNAL"
    assert second.error.message == "RuntimeError: Tensor is stored in GPU and cannot be converted to NumPy."
    assert any("Traceback" in line for line in Logger.lines)


def test_a_request_of_the_wrong_shape_fails_alone_as_an_invalid_argument(model: Any) -> None:
    first, second = model.execute([request([1, 2]), request([1, 2, 3])])

    assert (first.error.code, first.output_tensors) == ("INVALID_ARG", [])
    assert first.error.message.startswith("input 'x' has shape [1,2], but model 'm' takes [-1,3]: ")
    assert second.values() == {"y": [[3, 5, 7]]}


def test_a_model_that_is_finalized_is_not_ready(model: Any) -> None:
    model.finalize()

    assert not model.is_ready()


def test_a_config_is_completed_in_place(backend: ModuleType) -> None:
    given = ModelConfig({"name": "m", "max_batch_size": 0})

    returned = backend.TritonPythonModel.auto_complete_config(given)

    assert returned is given
    assert given.config == config([tensor("x", 3)], [tensor("y", 3)], 4, dynamic_batching={})


def test_a_complete_config_is_not_compared_with_a_model_that_is_not_there(backend: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "1" / "model.onnx").unlink()

    backend.TritonPythonModel.auto_complete_config(ModelConfig(config([tensor("x", 3)], [tensor("y", 3)])))


def test_a_bad_parameter_is_refused_before_the_model_is_read(backend: ModuleType, tmp_path: Path) -> None:
    bad = config([], [], parameters={"execution_mode": {"string_value": "2"}})

    calls: list[tuple[Any, Any]] = [
        (backend.TritonPythonModel.auto_complete_config, ModelConfig(bad)),
        (backend.TritonPythonModel().initialize, arguments(tmp_path, bad)),
    ]
    for call, argument in calls:
        with pytest.raises(InvalidArgument, match=r"Expected values for  execution_mode are 0 or 1 but got 2 \."):
            call(argument)


@pytest.mark.parametrize(("version", "warned"), [("1.26.4", False), ("2.3.0", True)])
def test_numpy_2_is_warned_of(backend: ModuleType, version: str, warned: bool) -> None:
    backend.log_load("a model", numpy_version=version)

    assert any("answers with empty tensors" in line for line in Logger.lines) is warned


def test_a_string_that_cannot_be_read_leaves_its_mates_in_one_run(backend: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "1" / "model.onnx").write_bytes(onnx_models.unary("Identity", ("batch", 1), 8))
    text = {"data_type": "TYPE_STRING", "dims": [1]}
    instance = backend.TritonPythonModel()
    instance.initialize(arguments(tmp_path, config([{"name": "x", **text}], [{"name": "y", **text}])))
    joined: list[int] = []
    run_all = instance._batcher.run_all

    def counted(feeds: list[Any], wanted: Any) -> Any:
        joined.append(len(feeds))
        return run_all(feeds, wanted)

    instance._batcher.run_all = counted
    words = [InferenceRequest([Tensor("x", np.array([[word]], np.object_))]) for word in (b"one", b"\xff", b"two")]

    first, second, third = instance.execute(words)

    assert (first.values(), third.values()) == ({"y": [["one"]]}, {"y": [["two"]]})
    assert second.error.code == "INVALID_ARG"
    assert joined == [2]


def test_a_shared_session_is_warned_of(backend: ModuleType, tmp_path: Path) -> None:
    shared: dict[str, Any] = {"parameters": {"share_session_between_instances": {"string_value": "true"}}}
    backend.TritonPythonModel().initialize(arguments(tmp_path, config([tensor("x", 3)], [tensor("y", 3)], **shared)))
    assert any("share_session_between_instances has no effect" in line for line in Logger.lines)
