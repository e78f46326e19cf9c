"""Tiny ONNX models, built node by node, that each exercise one thing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[int | str]
OPSET = 17
IR_VERSION = 9


def value(name: str, dims: Dims | None, element: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """Declare an input or output; a dim may be a name."""
    return helper.make_tensor_value_info(name, element, dims)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    """Assemble a model."""
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def packed(*args: Sequence[onnx.NodeProto] | Sequence[onnx.ValueInfoProto] | Sequence[onnx.TensorProto]) -> bytes:
    """Assemble a model and serialise it."""
    return model(*args).SerializeToString()  # type: ignore[arg-type]  # the four arguments of `model`, in order


def constant(name: str, array: npt.ArrayLike) -> onnx.TensorProto:
    """Make an initializer."""
    return numpy_helper.from_array(np.asarray(array), name)


def unary(op: str, dims: Dims, element: int = TensorProto.FLOAT) -> bytes:
    """x → y, one operator."""
    return packed([helper.make_node(op, ["x"], ["y"])], [value("x", dims, element)], [value("y", dims, element)])


def affine(dims: Dims = ("batch", 3)) -> bytes:
    """y = 2x + 1."""
    nodes = [helper.make_node("Mul", ["x", "two"], ["d"]), helper.make_node("Add", ["d", "one"], ["y"])]
    weights = [constant("two", np.float32(2)), constant("one", np.float32(1))]
    return packed(nodes, [value("x", dims)], [value("y", dims)], weights)


def sum_and_difference() -> bytes:
    """a, b → sum, difference."""
    nodes = [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Sub", ["a", "b"], ["difference"])]
    dims = ("batch", "length")
    return packed(nodes, [value("a", dims), value("b", dims)], [value("sum", dims), value("difference", dims)])


def lookup(rows: int = 4) -> bytes:
    """ids → row ids of a table of `rows` rows, 10 row + column; an id out of range fails inside the run."""
    table = (10 * np.arange(rows)[:, None] + np.arange(2)).astype(np.float32)
    return packed(
        [helper.make_node("Gather", ["table", "ids"], ["rows"])],
        [value("ids", ("batch", "length"), TensorProto.INT64)],
        [value("rows", ("batch", "length", 2))],
        [constant("table", table)],
    )


def with_external_data(folder: Path) -> dict[str, bytes]:
    """y = x + weight, the weight in a file of its own; returns the files by name."""
    weight = constant("w", np.arange(512, dtype=np.float32))
    add = helper.make_node("Add", ["x", "w"], ["y"])
    made = model([add], [value("x", ("batch", 512))], [value("y", ("batch", 512))], [weight])
    onnx.save_model(made, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    return {path.name: path.read_bytes() for path in folder.iterdir()}
