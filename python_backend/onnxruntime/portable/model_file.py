"""Find the ONNX file of a model version.

It is `default_model_filename`, else `model.onnx`, in the version directory; where that is itself a directory, the file
is `model.onnx` inside it, next to its external data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import Internal, Unavailable

DEFAULT_NAME = "model.onnx"


def find_model_file(config: Mapping[str, Any], version_directory: Path) -> Path:
    """Return the path of the model; raises Internal or Unavailable, worded as natively, if it is not there."""
    path = version_directory / (config.get("default_model_filename") or DEFAULT_NAME)
    if not path.exists():
        raise Internal(f"failed to stat file {path}")
    if not path.is_dir():
        return path
    inner = path / DEFAULT_NAME
    if not inner.exists():
        raise Unavailable(f"unable to find '{inner}' for model instance '{config['name']}'")
    return inner
