"""Stand-ins for the part of Triton's `triton_python_backend_utils` that the backend uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import numpy.typing as npt


class Tensor:
    """A named array; one without an array stands for a tensor on a GPU, which numpy cannot read."""

    def __init__(self, name: str, array: npt.NDArray[Any] | None) -> None:
        self._name = name
        self._array = array

    def name(self) -> str:
        """Return the name."""
        return self._name

    def as_numpy(self) -> npt.NDArray[Any]:
        """Return the array."""
        if self._array is None:
            raise RuntimeError("Tensor is stored in GPU and cannot be converted to NumPy.")
        return self._array


@dataclass
class TritonError:
    """An error of one response."""

    INVALID_ARG: ClassVar[str] = "INVALID_ARG"
    INTERNAL: ClassVar[str] = "INTERNAL"
    message: str
    code: str


@dataclass
class InferenceResponse:
    """What one request gets."""

    output_tensors: list[Tensor]
    error: TritonError | None = None

    def values(self) -> dict[str, Any]:
        """Return the outputs as lists."""
        return {tensor.name(): tensor.as_numpy().tolist() for tensor in self.output_tensors}


@dataclass
class InferenceRequest:
    """One request; asks for every output unless told otherwise."""

    tensors: list[Tensor]
    wanted: set[str] = field(default_factory=lambda: {"y"})

    def inputs(self) -> list[Tensor]:
        """Return the inputs."""
        return self.tensors

    def requested_output_names(self) -> set[str]:
        """Return the outputs asked for."""
        return self.wanted


@dataclass
class ModelConfig:
    """The config that Triton wants completed."""

    config: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return the config itself, as Triton's class does."""
        return self.config


class Logger:
    """Remembers what is logged."""

    lines: ClassVar[list[str]] = []

    @classmethod
    def log_info(cls, line: str) -> None:
        """Remember a line."""
        cls.lines.append(line)

    log_warn = log_error = log_info


def fake_module(model_directory: str) -> ModuleType:
    """Make the module, for a model version that lies in this directory."""
    module = ModuleType("triton_python_backend_utils")
    vars(module).update(
        Tensor=Tensor,
        TritonError=TritonError,
        InferenceResponse=InferenceResponse,
        InferenceRequest=InferenceRequest,
        Logger=Logger,
        get_model_dir=lambda: model_directory,
    )
    return module
