"""Build a model of a test and ask it: what was published, and what PyTorch says to the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from builders.build import build
from builders.session import OnnxModel
from builders.torch_model import TorchPredictor
from tritonsmith.repository import ModelFolder
from tritonsmith.spec_file import read_spec

X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


def build_folder(folder: ModelFolder, *, force: bool = False) -> str:
    """Build and say whether it was a cache hit."""
    return "cached" if build(folder, read_spec(folder.spec), force=force).cached else "built"


def served(folder: ModelFolder) -> NDArray[Any]:
    return OnnxModel(folder.version() / "model.onnx")({"x": X})["y"]


def torch_answer(module: nn.Module) -> NDArray[Any]:
    return TorchPredictor(module.eval(), ["x"], ["y"])({"x": X})["y"]
