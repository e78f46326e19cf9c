"""The ONNX graph after export: names of its ends, IR version, checks against the spec, saving.

Works on onnx-ir models and files; runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
        model = ir.load(path)
        ir.external_data.load_to_model(model)  # the references are relative to a folder that the model leaves
    except Exception as error:  # protobuf and onnx raise many types for a broken file
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BuildError(
            f"{path} is not an ONNX model: {said}",
            hint="the file is corrupt or incomplete: export or download it again",
        ) from error
    for value in [value for value in model.graph.inputs if value.name in model.graph.initializers]:
        model.graph.inputs.remove(value)  # before IR 4 weights had to be listed as inputs
    return model


def save_normalized(model: ir.Model, spec: Spec, outputs: Sequence[str], path: Path) -> None:
    """Name the ends of the graph, bring the IR version down, save and check the file.

    Inner values that already have a wanted name are renamed: ONNX Runtime refuses a graph with two values of one name.
    """
    rename_ends(model, list(spec.inputs), list(outputs))
    _declare_sizes(model, spec)
    model.ir_version = min(model.ir_version or MAX_IR_VERSION, MAX_IR_VERSION)
    path.parent.mkdir(parents=True, exist_ok=True)
    external = f"{path.name}.data" if weight_bytes(model) > EXTERNAL_DATA_BYTES else None
    ir.save(model, path, external_data=external)
    _check(path)


def _declare_sizes(model: ir.Model, spec: Spec) -> None:
    """Write the spec's fixed sizes where the exporter left an output's size open: Triton compares them one by one.

    That they are true is for parity to prove.
    """
    for value in model.graph.outputs:
        tensor = spec.outputs.get(str(value.name))
        if tensor is None or value.shape is None or len(value.shape) != len(tensor.shape):
            continue
        sizes = zip(value.shape, map(spec.size, tensor.shape), strict=True)
        value.shape = ir.Shape(
            [size if isinstance(size, int) and not isinstance(there, int) else there for there, size in sizes]
        )


def weight_bytes(model: ir.Model) -> int:
    """The bytes of all initializers."""
    return sum(value.const_value.nbytes for value in model.graph.initializers.values() if value.const_value is not None)


def rename_ends(model: ir.Model, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Give inputs and outputs the wanted names; see `wanted_names` for which gets which."""
    graph = model.graph
    names = [
        *wanted_names(_names(graph.inputs), inputs, "inputs"),
        *wanted_names(_names(graph.outputs), outputs, "outputs"),
    ]
    ends = [*graph.inputs, *graph.outputs]
    _free_names(graph, ends, set(names))
    for value, name in zip(ends, names, strict=True):
        value.name = name


def _names(values: Sequence[ir.Value]) -> list[str]:
    return [str(value.name) for value in values]


def wanted_names(own: Sequence[str], wanted: Sequence[str], kind: str) -> list[str]:
    """The new name of each of `own`: its own where all names match in any order, by position where none does.

    ExportError for another number of names, or when only some match: then a guess could wire inputs wrongly, and a
    reference that shares the guess would not notice.
    """
    there, asked = ", ".join(own) or "none", ", ".join(wanted)
    if len(own) != len(wanted):
        raise ExportError(
            f"the model has {len(own)} {kind} ({there}), the spec {len(wanted)} ({asked})",
            hint="an input that the model does not use is removed by the exporter: take it out of the spec",
        )
    if set(own) == set(wanted):
        return list(own)
    if set(own) & set(wanted):
        raise ExportError(
            f"only some {kind} have the names of the spec: the model has {there}, the spec {asked}",
            hint="use the model's names for all, or new names for all, in the model's order",
        )
    return list(wanted)


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


def versions_of(path: Path) -> dict[str, int]:
    """The opset and the IR version that a file has, as the record wants them."""
    model = onnx.load(str(path), load_external_data=False)
    opset = next(entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"})
    return {"opset": opset, "ir_version": model.ir_version}


def external_files(path: Path) -> set[Path]:
    """The files beside an ONNX file that hold its weights."""
    tensors = onnx.load(str(path), load_external_data=False).graph.initializer
    entries = (entry for tensor in tensors for entry in tensor.external_data if entry.key == "location")
    return {path.parent / entry.value for entry in entries}


def read_tensors(path: Path) -> tuple[dict[str, TensorSpec], dict[str, TensorSpec]]:
    """The inputs and outputs of an ONNX file as tensor specs; a dim without a name is called `?`."""
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {initializer.name for initializer in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    return {v.name: _tensor(v) for v in inputs}, {v.name: _tensor(v) for v in graph.output}


def _tensor(value: Any) -> TensorSpec:
    if not value.type.HasField("tensor_type"):
        what = value.type.WhichOneof("value")
        raise BuildError(
            f"{value.name!r} is a {what}, Triton knows tensors only", hint="give the graph tensors as ends"
        )
    kind = value.type.tensor_type
    row = from_onnx(onnx.TensorProto.DataType.Name(kind.elem_type))
    shape: list[Size] = [dim.dim_value if dim.dim_value > 0 else dim.dim_param or "?" for dim in kind.shape.dim]
    return TensorSpec(dtype=row.name, shape=tuple(shape))


def check_ends(path: Path, spec: Spec) -> dict[str, TensorSpec]:
    """Compare the file's inputs and outputs with the spec; returns the outputs, the file's where the spec has none.

    ExportError names the tensor, what the graph has and what the spec wants.
    """
    inputs, outputs = read_tensors(path)
    _compare("input", inputs, spec.inputs, spec)
    if spec.outputs:
        _compare("output", outputs, spec.outputs, spec)
        return dict(spec.outputs)
    outputs = _in_the_specs_words(inputs, outputs, spec)
    unknown = {size for tensor in outputs.values() for size in tensor.shape if isinstance(size, str)} - set(spec.dims)
    if unknown:
        raise ExportError(
            f"outputs have sizes that the spec's dims do not name: {', '.join(sorted(unknown))}",
            hint="describe the outputs in the spec, with a dim for each size that varies",
        )
    return outputs


def _in_the_specs_words(
    inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec], spec: Spec
) -> dict[str, TensorSpec]:
    """The outputs with the graph's names of dims replaced by the spec's, as the inputs pair them."""
    words = {
        str(theirs): ours
        for name, tensor in spec.inputs.items()
        for theirs, ours in zip(inputs[name].shape, tensor.shape, strict=True)
    }
    return {
        name: replace(tensor, shape=tuple(words.get(str(size), size) for size in tensor.shape))
        for name, tensor in outputs.items()
    }


def _compare(kind: str, actual: Mapping[str, TensorSpec], wanted: Mapping[str, TensorSpec], spec: Spec) -> None:
    for name, tensor in wanted.items():
        there = actual.get(name)
        if there is None:
            raise ExportError(f"the graph has no {kind} {name!r}", hint=f"it has: {', '.join(actual)}")
        if there.dtype != tensor.dtype:
            raise ExportError(
                f"{kind} {name!r} is {there.dtype} in the graph, {tensor.dtype} in the spec",
                hint="convert it in forward, as with .float(), or correct the spec",
            )
        if not _fits(there.shape, [spec.size(size) for size in tensor.shape]):
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
