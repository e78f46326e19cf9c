"""One table of tensor element types, as numpy, torch, ONNX, TensorRT and Triton name them.

Sources: Triton's ModelConfig.DataType, onnx.TensorProto.DataType and tensorrt.DataType. A None says that the library
has no such type.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tritonsmith.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class DType:
    """One element type; `wire` is its KServe v2 name, `config` its name in config.pbtxt, `itemsize` in bytes."""

    name: str
    wire: str
    onnx: str
    torch: str | None
    numpy: str | None
    tensorrt: str | None
    itemsize: int

    @property
    def config(self) -> str:
        """The name in config.pbtxt, which differs from the wire name for strings only."""
        return "TYPE_STRING" if self.wire == "BYTES" else f"TYPE_{self.wire}"

    @property
    def is_float(self) -> bool:
        """True for every floating type, bfloat16 included."""
        return self.wire in {"FP64", "FP32", "FP16", "BF16"}

    def to_numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype; SpecError where numpy has none (bfloat16)."""
        if self.numpy is None:
            raise SpecError(f"numpy has no {self.name}", hint="use float32 at the model's inputs and outputs")
        return np.dtype(self.numpy)


def _row(name: str, wire: str, onnx: str, torch: str | None, tensorrt: str | None, itemsize: int) -> DType:
    numpy = {"bfloat16": None, "string": "object"}.get(name, name)
    return DType(name=name, wire=wire, onnx=onnx, torch=torch, numpy=numpy, tensorrt=tensorrt, itemsize=itemsize)


DTYPES: dict[str, DType] = {
    row.name: row
    for row in (
        #    name        Triton    ONNX        torch       TensorRT bytes
        _row("float64", "FP64", "DOUBLE", "float64", None, 8),
        _row("float32", "FP32", "FLOAT", "float32", "FLOAT", 4),
        _row("float16", "FP16", "FLOAT16", "float16", "HALF", 2),
        _row("bfloat16", "BF16", "BFLOAT16", "bfloat16", "BF16", 2),
        _row("int64", "INT64", "INT64", "int64", "INT64", 8),
        _row("int32", "INT32", "INT32", "int32", "INT32", 4),
        _row("int16", "INT16", "INT16", "int16", None, 2),
        _row("int8", "INT8", "INT8", "int8", "INT8", 1),
        _row("uint64", "UINT64", "UINT64", "uint64", None, 8),
        _row("uint32", "UINT32", "UINT32", "uint32", None, 4),
        _row("uint16", "UINT16", "UINT16", "uint16", None, 2),
        _row("uint8", "UINT8", "UINT8", "uint8", "UINT8", 1),
        _row("bool", "BOOL", "BOOL", "bool", "BOOL", 1),
        _row("string", "BYTES", "STRING", None, None, 0),
    )
}
_ALIASES = {"float": "float32", "fp32": "float32", "half": "float16", "fp16": "float16", "double": "float64"}
_BY_WIRE = {row.wire: row for row in DTYPES.values()}
_BY_ONNX = {row.onnx: row for row in DTYPES.values()}
_BY_NUMPY = {np.dtype(row.numpy): row for row in DTYPES.values() if row.numpy is not None}


def dtype(name: str) -> DType:
    """The row of a dtype by its spec name (`float32`, `int64`, …); SpecError lists the known names."""
    row = DTYPES.get(name)
    if row is not None:
        return row
    meant = _ALIASES.get(name.lower()) or (_BY_WIRE.get(name.upper().removeprefix("TYPE_")) or DTYPES["float32"]).name
    known = name.lower() in _ALIASES or name.upper().removeprefix("TYPE_") in _BY_WIRE
    hint = f"write {meant!r}" if known else "known: " + ", ".join(DTYPES)
    raise SpecError(f"unknown dtype {name!r}", hint=hint)


def _look_up(table: dict[str, DType], key: str, where: str) -> DType:
    try:
        return table[key]
    except KeyError:
        raise SpecError(f"unknown {where} data type {key!r}", hint="known: " + ", ".join(table)) from None


def from_wire(name: str) -> DType:
    """The row of a KServe v2 datatype such as `FP32` or `BYTES`."""
    return _look_up(_BY_WIRE, name, "Triton")


def from_onnx(name: str) -> DType:
    """The row of an ONNX element type by its enum name such as `FLOAT`."""
    return _look_up(_BY_ONNX, name, "ONNX")


def from_numpy(numpy_dtype: np.dtype[np.generic]) -> DType:
    """The row of a numpy dtype; byte and unicode strings count as `string`."""
    if numpy_dtype.kind in "SUO":
        return DTYPES["string"]
    row = _BY_NUMPY.get(numpy_dtype)
    if row is None:
        raise SpecError(f"numpy dtype {numpy_dtype} cannot be sent to Triton", hint="known: " + ", ".join(DTYPES))
    return row
