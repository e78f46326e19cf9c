"""The ONNX graph after export: names of its ends, IR version, checks against the spec, saving.

Works on onnx-ir models and files; runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from tritonsmith.dtypes import from_onnx
from tritonsmith.errors import BuildError, ExportError
from tritonsmith.spec import Size, Spec, TensorSpec

MAX_IR_VERSION = 10
"""The newest IR that every ONNX Runtime of the supported Triton releases reads."""
EXTERNAL_DATA_BYTES = 1_500_000_000
"""Weights above this go to a file of their own: a protobuf file ends at 2 GiB."""


def load_model(path: Path) -> ir.Model:
    """Read an ONNX file; BuildError for one that is corrupt."""
    try:
        return ir.load(path)
    except Exception as error:  # protobuf and onnx raise many types for a broken file
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BuildError(
            f"{path} is not an ONNX model: {said}",
            hint="the file is corrupt or incomplete: export or download it again",
        ) from error


def save_normalized(model: ir.Model, spec: Spec, outputs: Sequence[str], path: Path) -> None:
    """Name the ends of the graph, bring the IR version down, save and check the file.

    Inner values that already have a wanted name are renamed: ONNX Runtime refuses a graph with two values of one name.
    """
    rename_ends(model, list(spec.inputs), list(outputs))
    model.ir_version = min(model.ir_version or MAX_IR_VERSION, MAX_IR_VERSION)
    path.parent.mkdir(parents=True, exist_ok=True)
    external = f"{path.name}.data" if weight_bytes(model) > EXTERNAL_DATA_BYTES else None
    ir.save(model, path, external_data=external)
    _check(path)


def weight_bytes(model: ir.Model) -> int:
    """The bytes of all initializers."""
    return sum(value.const_value.nbytes for value in model.graph.initializers.values() if value.const_value is not None)


def rename_ends(model: ir.Model, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Give inputs and outputs the wanted names, in order; names that match already may stand in any order."""
    graph = model.graph
    for values, wanted, kind in ((graph.inputs, inputs, "inputs"), (graph.outputs, outputs, "outputs")):
        if len(values) != len(wanted):
            there = ", ".join(str(value.name) for value in values) or "none"
            raise ExportError(
                f"the graph has {len(values)} {kind} ({there}), the spec {len(wanted)} ({', '.join(wanted)})",
                hint="an input that the model does not use is removed by the exporter: take it out of the spec",
            )
    ends = [*graph.inputs, *graph.outputs]
    names = wanted_names(_names(graph.inputs), inputs) + wanted_names(_names(graph.outputs), outputs)
    _free_names(graph, ends, set(names))
    for value, name in zip(ends, names, strict=True):
        value.name = name


def _names(values: Sequence[ir.Value]) -> list[str]:
    return [str(value.name) for value in values]


def wanted_names(own: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The new name of each of `own`: the same where the names match in any order, else by position."""
    return list(own) if set(own) == set(wanted) else list(wanted)


def _free_names(graph: ir.Graph, ends: Sequence[ir.Value], names: set[str]) -> None:
    """Rename every inner value that holds one of `names`, and the ends themselves for a moment."""
    is_end = {id(value) for value in ends}
    taken = {str(value.name) for value in _inner_values(graph)} | names
    for value in [*_inner_values(graph), *ends]:
        if value.name in names:
            suffix = "end" if id(value) in is_end else "inner"
            value.name = _fresh(f"{value.name}_{suffix}", taken)
            taken.add(value.name)


def _inner_values(graph: ir.Graph) -> list[ir.Value]:
    ends = {id(value) for value in (*graph.inputs, *graph.outputs)}
    made = [value for node in graph.all_nodes() for value in node.outputs]
    return [value for value in (*made, *graph.initializers.values()) if id(value) not in ends and value.name]


def _fresh(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _check(path: Path) -> None:
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError as error:
        raise ExportError(f"the exported graph is not valid ONNX: {str(error).strip().splitlines()[0]}") from error


def read_tensors(path: Path) -> tuple[dict[str, TensorSpec], dict[str, TensorSpec]]:
    """The inputs and outputs of an ONNX file as tensor specs; a dim without a name is called `?`."""
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {initializer.name for initializer in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    return {v.name: _tensor(v) for v in inputs}, {v.name: _tensor(v) for v in graph.output}


def _tensor(value: Any) -> TensorSpec:
    kind = value.type.tensor_type
    row = from_onnx(onnx.TensorProto.DataType.Name(kind.elem_type))
    shape: list[Size] = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in kind.shape.dim]
    return TensorSpec(dtype=row.name, shape=tuple(shape))


def check_ends(path: Path, spec: Spec) -> dict[str, TensorSpec]:
    """Compare the file's inputs and outputs with the spec; returns the outputs, the file's where the spec has none.

    ExportError names the tensor, what the graph has and what the spec wants.
    """
    inputs, outputs = read_tensors(path)
    _compare("input", inputs, spec.inputs)
    if spec.outputs:
        _compare("output", outputs, spec.outputs)
        return dict(spec.outputs)
    unknown = {size for tensor in outputs.values() for size in tensor.shape if isinstance(size, str)} - set(spec.dims)
    if unknown:
        raise ExportError(
            f"outputs have sizes that the spec's dims do not name: {', '.join(sorted(unknown))}",
            hint="describe the outputs in the spec, with a dim for each size that varies",
        )
    return outputs


def _compare(kind: str, actual: Mapping[str, TensorSpec], wanted: Mapping[str, TensorSpec]) -> None:
    for name, tensor in wanted.items():
        there = actual.get(name)
        if there is None:
            raise ExportError(f"the graph has no {kind} {name!r}", hint=f"it has: {', '.join(actual)}")
        if there.dtype != tensor.dtype:
            raise ExportError(f"{kind} {name!r} is {there.dtype} in the graph, {tensor.dtype} in the spec")
        if not _fits(there.shape, tensor.shape):
            raise ExportError(
                f"{kind} {name!r} has shape {list(there.shape)} in the graph, {list(tensor.shape)} in the spec",
                hint="a fixed size where the spec names a dim: the code fixes it (int(x.shape[i]), view with numbers)",
            )


def _fits(actual: Sequence[Size], wanted: Sequence[Size]) -> bool:
    """Same rank, same fixed sizes; a named dim wants a dim that varies; an expression may stand for a fixed size."""
    if len(actual) != len(wanted):
        return False
    return all(
        isinstance(there, str) if isinstance(size, str) else there in (size, "?") or isinstance(there, str)
        for there, size in zip(actual, wanted, strict=True)
    )
