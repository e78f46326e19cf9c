"""The checks that NVIDIA's native onnxruntime backend makes at load: does the config describe this model?

Rules and texts are the native backend's, so that a config that loads here loads there, and one that does not fails
with the same words. Pure: takes the model config and the model's signature.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .errors import Internal, InvalidArgument
from .sequences import check_controls
from .tensors import DYNAMIC, KNOWN_TYPES, Signature, TensorInfo, format_shape


def check_contract(config: Mapping[str, Any], signature: Signature) -> None:
    """Raise InvalidArgument or Internal if the model config does not fit the model."""
    controls = check_controls(config, signature)
    check_inputs(config, signature, controls)
    check_outputs(config, signature)


def check_inputs(config: Mapping[str, Any], signature: Signature, controls: int) -> None:
    """Compare the config's inputs with the model's; `controls` inputs are fed by the sequence batcher."""
    model = config["name"]
    inputs = config.get("input", [])
    required = sum(not entry.get("optional", False) for entry in inputs)
    states = len(config.get("sequence_batching", {}).get("state", []))
    expected = required + len(config.get("batch_input", [])) + controls + states
    if expected != len(signature.inputs):
        raise InvalidArgument(
            f"unable to load model '{model}', configuration expects {expected} inputs, "
            f"model provides {len(signature.inputs)}"
        )
    for entry in inputs:
        check_input(config, entry, signature)


def check_input(config: Mapping[str, Any], entry: Mapping[str, Any], signature: Signature) -> None:
    """Compare one input of the config with the model."""
    model, name = config["name"], entry["name"]
    if entry.get("optional", False) and config["max_batch_size"] != 0:
        raise InvalidArgument(
            f"unable to load model '{model}', optional input '{name}' is not supported for models that support batching"
        )
    info = find_tensor("input", name, signature.takes)
    check_type("input", model, entry, info)
    if entry.get("allow_ragged_batch", False):
        check_ragged(model, entry, info)
    else:
        check_dims(config, entry, info, exact=False)


def check_outputs(config: Mapping[str, Any], signature: Signature) -> None:
    """Compare the config's outputs with the model's; the config may leave some out."""
    scattered = {name for entry in config.get("batch_output", []) for name in entry["target_name"]}
    for entry in config.get("output", []):
        info = find_tensor("output", entry["name"], signature.outputs)
        check_type("output", config["name"], entry, info)
        if entry["name"] not in scattered:
            check_dims(config, entry, info, exact=True)


def find_tensor(role: str, name: str, known: Mapping[str, TensorInfo]) -> TensorInfo:
    """Return the model's tensor of this name; raises InvalidArgument that lists the known ones."""
    if name not in known:
        raise InvalidArgument(f"unexpected inference {role} '{name}', allowed {role}s are: {', '.join(sorted(known))}")
    return known[name]


def check_type(role: str, model: str, entry: Mapping[str, Any], info: TensorInfo) -> None:
    """Compare the data types; there is no conversion between them."""
    name, wanted = entry["name"], entry["data_type"]
    if wanted not in KNOWN_TYPES:
        raise Internal(f"unsupported datatype {wanted} for {role} '{name}' for model '{model}'")
    if wanted != info.data_type:
        provided = "TYPE_<invalid>" if info.data_type not in KNOWN_TYPES else config_spelling(info.data_type)
        raise InvalidArgument(
            f"unable to load model '{model}', configuration expects datatype {wanted} for {role} '{name}', "
            f"model provides {provided}"
        )


def config_spelling(data_type: str) -> str:
    """Spell a data type as the native error does: what the protocol calls BYTES, though the config says STRING."""
    return "TYPE_BYTES" if data_type == "TYPE_STRING" else data_type


def check_ragged(model: str, entry: Mapping[str, Any], info: TensorInfo) -> None:
    """Only an input of shape [-1] can be ragged, and not an optional one."""
    start = (
        f"unable to load model '{model}', configuration expects model provides input with shape [-1]"
        f"{' ' if entry.get('optional', False) else '  '}for ragged input '{entry['name']}', "
    )
    if entry.get("optional", False):
        raise InvalidArgument(f"{start}which is not supported for optional input")
    if info.shape != (DYNAMIC,):
        raise InvalidArgument(f"{start}model provides {format_shape(info.shape)}")


def configured_dims(entry: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the dims that the backend sees: those of `reshape` where the config has one. No batch dim."""
    reshape = entry.get("reshape")
    dims = entry["dims"] if reshape is None else reshape.get("shape", [])
    return tuple(int(dim) for dim in dims)


def check_dims(config: Mapping[str, Any], entry: Mapping[str, Any], info: TensorInfo, *, exact: bool) -> None:
    """Compare the shapes: an input may be fixed where the model varies, an output must be the model's own."""
    dims, model = configured_dims(entry), config["name"]
    if not info.shape:
        check_scalar(model, info.name, dims)
    elif config["max_batch_size"] > 0:
        check_batched_dims(model, info, (DYNAMIC, *dims), exact=exact)
    elif not dims_fit(info.shape, dims, exact=exact):
        raise InvalidArgument(
            f"{dims_start(model, info)} but the model configuration specifies {len(dims)} dimensions "
            f"(shape {format_shape(dims)})"
        )


def check_scalar(model: str, name: str, dims: Sequence[int]) -> None:
    """A scalar of the model is [1] in the config."""
    if any(dim != 1 for dim in dims):
        raise InvalidArgument(
            f"unable to load model '{model}', scalar tensor '{name}', should only provide 1 in the model configuration "
            f"when the model doesn't support batching. Model configuration provided: {format_shape(dims)}."
        )


def check_batched_dims(model: str, info: TensorInfo, full: tuple[int, ...], *, exact: bool) -> None:
    """Compare shapes under a batch dim, which the model must leave open."""
    if info.shape[0] != DYNAMIC:
        raise InvalidArgument(
            f"model '{model}', tensor '{info.name}': for the model to support batching the shape should have at least "
            "1 dimension and the first dimension must be -1; but shape expected by the model is "
            f"{format_shape(info.shape)}"
        )
    if not dims_fit(info.shape, full, exact=exact):
        raise InvalidArgument(
            f"{dims_start(model, info)} but the model configuration specifies {len(full)} dimensions (an initial batch "
            "dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape "
            f"{format_shape(full)})"
        )


def dims_start(model: str, info: TensorInfo) -> str:
    """Say what the model expects, as both errors about dims begin."""
    expected = f"{len(info.shape)} dimensions (shape {format_shape(info.shape)})"
    return f"model '{model}', tensor '{info.name}': the model expects {expected}"


def dims_fit(model_shape: Collection[int], dims: Collection[int], *, exact: bool) -> bool:
    """Tell whether dims agree with the model's; unless `exact`, a dim that the model leaves open takes any value."""
    if len(model_shape) != len(dims):
        return False
    pairs = zip(model_shape, dims, strict=True)
    return all(expected == given or (expected == DYNAMIC and not exact) for expected, given in pairs)
