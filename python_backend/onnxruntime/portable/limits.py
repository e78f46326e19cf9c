"""What the native backend serves and this one does not, refused at load instead of answered wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import Unsupported


def check_limits(config: Mapping[str, Any]) -> None:
    """Raise Unsupported for a config that only NVIDIA's native onnxruntime backend can serve."""
    ragged = any(entry.get("allow_ragged_batch", False) for entry in config.get("input", []))
    states = config.get("sequence_batching", {}).get("state", [])
    asked = {
        "ragged batching (allow_ragged_batch, batch_input, batch_output)": ragged
        or config.get("batch_input")
        or config.get("batch_output"),
        "implicit state (sequence_batching.state)": states,
        "decoupled responses (model_transaction_policy)": config.get("model_transaction_policy", {}).get("decoupled"),
    }
    for feature, wanted in asked.items():
        if wanted:
            raise Unsupported(
                f"model '{config['name']}' asks for {feature}, which the portable onnxruntime backend does not have: "
                "take it out of the config, or serve the model with NVIDIA's native onnxruntime backend"
            )
