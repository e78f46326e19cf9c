"""The ONNX graph after export: names of its ends, IR version, external data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from builders import graph
from builders.session import OnnxModel
from tests.tritonsmith.specs import batched_spec
from tritonsmith.errors import BuildError, ExportError
from tritonsmith.spec import TensorSpec


def add_one(*, inner: str = "inner", output: str = "out", ir_version: int = 10) -> onnx.ModelProto:
    """out = (x + one) + one, with an inner value and an initializer of chosen names."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in ("x", output))
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    nodes = [helper.make_node("Add", ["x", "one"], [inner]), helper.make_node("Add", [inner, "one"], [output])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [one]), opset_imports=[helper.make_opsetid("", 20)]
    )
    model.ir_version = ir_version
    return model


def save(model: onnx.ModelProto, path: Path, outputs: list[str]) -> OnnxModel:
    graph.save_normalized(ir.from_proto(model), batched_spec(), outputs, path)
    return OnnxModel(path)


@pytest.mark.parametrize("inner", ["inner", "y", "one_inner"])
def test_an_inner_value_gives_way_to_the_output_of_its_name(tmp_path: Path, inner: str) -> None:
    model = save(add_one(inner=inner), tmp_path / "model.onnx", ["y"])
    assert (model.inputs, model.outputs) == (["x"], ["y"])
    np.testing.assert_array_equal(model({"x": np.zeros((2, 3), np.float32)})["y"], np.full((2, 3), 2, np.float32))


def test_an_initializer_gives_way_too(tmp_path: Path) -> None:
    model = save(add_one(), tmp_path / "model.onnx", ["one"])
    assert model.outputs == ["one"]
    np.testing.assert_array_equal(model({"x": np.ones((1, 3), np.float32)})["one"], np.full((1, 3), 3, np.float32))


def test_the_ir_version_is_one_that_older_servers_read(tmp_path: Path) -> None:
    save(add_one(ir_version=11), tmp_path / "model.onnx", ["y"])
    assert onnx.load(str(tmp_path / "model.onnx")).ir_version == 10


def test_a_number_of_outputs_that_differs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"the model has 1 outputs \(out\), the spec 2 \(y, z\)"):
        save(add_one(), tmp_path / "model.onnx", ["y", "z"])


def test_large_weights_go_to_a_file_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "EXTERNAL_DATA_BYTES", 1000)  # the real limit needs 1.5 GB
    model = add_one()
    model.graph.initializer[0].CopyFrom(helper.make_tensor("one", TensorProto.FLOAT, [1000, 3], [1.0] * 3000))
    loaded = save(model, tmp_path / "model.onnx", ["y"])
    assert (tmp_path / "model.onnx.data").stat().st_size == 12_000
    answer = loaded({"x": np.zeros((1000, 3), np.float32)})["y"]
    np.testing.assert_array_equal(answer, np.full((1000, 3), 2, np.float32))


def test_ends_that_differ_from_the_spec_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    save(add_one(), path, ["y"])
    with pytest.raises(ExportError, match=r"output 'y' has shape \['n', 3\] in the graph, \['batch', 2\] in the spec"):
        graph.check_ends(path, batched_spec())


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"\x00\x01garbage")
    with pytest.raises(BuildError, match="is not an ONNX model"):
        graph.load_model(tmp_path / "x.onnx")


def test_a_size_that_the_exporter_left_open_is_declared_as_the_spec_says(tmp_path: Path) -> None:
    model = add_one()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", "unknown"]))
    spec = replace(batched_spec(), outputs={"y": TensorSpec(dtype="float32", shape=("batch", 3))})
    graph.save_normalized(ir.from_proto(model), spec, ["y"], tmp_path / "model.onnx")
    assert graph.read_tensors(tmp_path / "model.onnx")[1]["y"].shape == ("n", 3)


def test_weights_listed_as_inputs_are_no_inputs(tmp_path: Path) -> None:
    model = add_one()
    model.graph.input.append(helper.make_tensor_value_info("one", TensorProto.FLOAT, [1]))
    onnx.save(model, str(tmp_path / "old.onnx"))
    graph.save_normalized(graph.load_model(tmp_path / "old.onnx"), batched_spec(), ["y"], tmp_path / "model.onnx")
    assert OnnxModel(tmp_path / "model.onnx").inputs == ["x"]


@pytest.mark.parametrize("size", [-1, 0])
def test_a_size_that_is_no_size_counts_as_unknown(tmp_path: Path, size: int) -> None:
    model = add_one()
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = size
    onnx.save(model, str(tmp_path / "model.onnx"))
    assert graph.read_tensors(tmp_path / "model.onnx")[1]["out"].shape == ("n", "?")
