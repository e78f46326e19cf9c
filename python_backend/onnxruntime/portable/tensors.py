"""Names, data types and shapes of a model's tensors, in the words of Triton's model config.

Knows the three spellings of a data type (ONNX Runtime's, the model config's, the short one in error texts) and how a
shape is printed. Imports neither ONNX Runtime nor Triton.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .errors import Unsupported

DYNAMIC = -1

CONFIG_TYPES: Mapping[str, str] = {
    "tensor(bool)": "TYPE_BOOL",
    "tensor(uint8)": "TYPE_UINT8",
    "tensor(uint16)": "TYPE_UINT16",
    "tensor(uint32)": "TYPE_UINT32",
    "tensor(uint64)": "TYPE_UINT64",
    "tensor(int8)": "TYPE_INT8",
    "tensor(int16)": "TYPE_INT16",
    "tensor(int32)": "TYPE_INT32",
    "tensor(int64)": "TYPE_INT64",
    "tensor(float16)": "TYPE_FP16",
    "tensor(float)": "TYPE_FP32",
    "tensor(double)": "TYPE_FP64",
    "tensor(string)": "TYPE_STRING",
}
KNOWN_TYPES = frozenset(CONFIG_TYPES.values())
ONNX_NAMES: Mapping[str, str] = {config: onnx[7:-1].upper() for onnx, config in CONFIG_TYPES.items()}
CONTAINER_TYPES: Mapping[str, str] = {
    "seq": "ONNX_TYPE_SEQUENCE",
    "map": "ONNX_TYPE_MAP",
    "opaque": "ONNX_TYPE_OPAQUE",
    "sparse_tensor": "ONNX_TYPE_SPARSETENSOR",
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output of a model: config data type and full shape, -1 for a dim that varies."""

    name: str
    data_type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a model takes and gives; `initializers` are the inputs that a request may leave out."""

    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    initializers: Mapping[str, TensorInfo] = field(default_factory=dict)

    @property
    def takes(self) -> dict[str, TensorInfo]:
        """Every tensor that a request may carry."""
        return {**self.inputs, **self.initializers}


def tensor_info(name: str, onnx_type: str, shape: Iterable[int | str | None]) -> TensorInfo:
    """Describe a tensor from what ONNX Runtime says of it: `tensor(float)` and dims that are numbers, names or None.

    Raises Unsupported for a sequence, map or other value that is not a tensor.
    """
    kind = onnx_type.partition("(")[0]
    if kind != "tensor":
        found = CONTAINER_TYPES.get(kind, "ONNX_TYPE_UNKNOWN")
        raise Unsupported(f"Unsupported ONNX Type '{found}' for I/O '{name}', expected 'ONNX_TYPE_TENSOR'.")
    dims = tuple(dim if isinstance(dim, int) else DYNAMIC for dim in shape)
    return TensorInfo(name, CONFIG_TYPES.get(onnx_type, "TYPE_INVALID"), dims)


def short_type(data_type: str) -> str:
    """Name a data type as the native backend does where it quotes the model: FLOAT, INT64, STRING, …"""
    return ONNX_NAMES.get(data_type, "UNDEFINED")


def format_shape(shape: Iterable[int]) -> str:
    """Print a shape as Triton does: [-1,3,224,224]."""
    return "[" + ",".join(map(str, shape)) + "]"
