"""Fill a missing or partial model config from the model, by the native backend's rules.

Nothing is filled where both inputs and outputs are given. Otherwise the missing side comes from the model, and a
model whose every tensor has an open first dim gets `max_batch_size` 4 and dynamic batching.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from .errors import InvalidArgument
from .tensors import DYNAMIC, Signature, TensorInfo

# Triton's own default; a Python backend cannot see --backend-config=default-max-batch-size.
DEFAULT_MAX_BATCH_SIZE = 4


def is_complete(config: Mapping[str, Any]) -> bool:
    """Tell whether the config names inputs and outputs, so that the model need not be read."""
    return bool(config.get("input") or config.get("batch_input")) and bool(config.get("output"))


def complete_config(config: MutableMapping[str, Any], signature: Signature) -> None:
    """Fill what the config leaves out, in place.

    Raises InvalidArgument where the config sets `max_batch_size` and the model cannot batch.
    """
    if is_complete(config):
        return
    complete_batching(config, signature)
    batched = config["max_batch_size"] > 0
    if not config.get("input"):
        config["input"] = describe_tensors(signature.inputs.values(), batched=batched)
    if not config.get("output"):
        config["output"] = describe_tensors(signature.outputs.values(), batched=batched)


def can_batch(signature: Signature) -> bool:
    """Tell whether every tensor of the model has an open first dim."""
    tensors = (*signature.inputs.values(), *signature.outputs.values())
    return all(info.shape and info.shape[0] == DYNAMIC for info in tensors)


def complete_batching(config: MutableMapping[str, Any], signature: Signature) -> None:
    """Set `max_batch_size` and the scheduler of a model that can batch."""
    if not can_batch(signature):
        if config["max_batch_size"] != 0:
            raise InvalidArgument(
                f"autofill failed for model '{config['name']}': model does not support batching while non-zero "
                "max_batch_size is specified"
            )
        return
    config["max_batch_size"] = config["max_batch_size"] or DEFAULT_MAX_BATCH_SIZE
    if config["max_batch_size"] > 1 and "sequence_batching" not in config:
        config.setdefault("dynamic_batching", {})


def describe_tensors(tensors: Iterable[TensorInfo], *, batched: bool) -> list[dict[str, Any]]:
    """Return the config's entries for these tensors."""
    return [describe_tensor(info, batched=batched) for info in tensors]


def describe_tensor(info: TensorInfo, *, batched: bool) -> dict[str, Any]:
    """Return one entry; a tensor with no dims besides the batch is [1] in the config, reshaped away when batched."""
    dims = list(info.shape[1:] if batched else info.shape)
    entry: dict[str, Any] = {"name": info.name, "data_type": info.data_type, "dims": dims or [1]}
    if batched and not dims:
        entry["reshape"] = {"shape": []}
    return entry
