"""The portable `onnxruntime` backend: Triton looks for `TritonPythonModel` here. The rest is in `portable/`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from python_backend.onnxruntime.portable.backend import TritonPythonModel
else:
    # Triton puts this folder last on sys.path, behind site-packages and the current directory.
    sys.path.insert(0, str(Path(__file__).parent))
    from portable.backend import TritonPythonModel

__all__ = ["TritonPythonModel"]
