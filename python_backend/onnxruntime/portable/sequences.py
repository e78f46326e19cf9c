"""Sequence batching at load: the control tensors that Triton's sequence batcher adds to every request.

They must be inputs of the model, of shape [1] and of the control's type. Texts are the native backend's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .errors import Internal, InvalidArgument
from .tensors import Signature, TensorInfo, format_shape, short_type

SWITCH_TYPES: Mapping[str, str] = {
    "int32_false_true": "TYPE_INT32",
    "fp32_false_true": "TYPE_FP32",
    "bool_false_true": "TYPE_BOOL",
}
CONTROL_KINDS = frozenset(
    {"CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY", "CONTROL_SEQUENCE_CORRID"}
)


def check_controls(config: Mapping[str, Any], signature: Signature) -> int:
    """Check the control tensors against the model and return how many there are."""
    controls = list(control_tensors(config))
    for name, data_type in controls:
        if name not in signature.inputs:
            raise Internal(f"configuration specified sequence control '{name}', but model does not provide that input")
        check_control(config, data_type, signature.inputs[name])
    return len(controls)


def control_tensors(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and data type of each control tensor of the config."""
    for entry in config.get("sequence_batching", {}).get("control_input", []):
        for control in entry["control"]:
            if control["kind"] in CONTROL_KINDS:
                yield entry["name"], control_type(control)


def control_type(control: Mapping[str, Any]) -> str:
    """Return the type of a control: implied by its pair of values, else written down (the correlation id)."""
    for pair, data_type in SWITCH_TYPES.items():
        if control.get(pair):
            return data_type
    return str(control["data_type"])


def check_control(config: Mapping[str, Any], data_type: str, info: TensorInfo) -> None:
    """Compare one control tensor with the model's input."""
    start = f"unable to load model '{config['name']}', sequence control '{info.name}'"
    shape = info.shape[1:] if config["max_batch_size"] > 0 else info.shape
    if shape != (1,):
        raise InvalidArgument(f"{start} in model has dims {format_shape(shape)} but dims [1] is expected")
    if data_type != info.data_type:
        raise InvalidArgument(
            f"{start}, the model expects data-type {short_type(info.data_type)} "
            f"but the model configuration specifies data-type {data_type}"
        )
