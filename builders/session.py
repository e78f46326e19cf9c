"""ONNX Runtime on the CPU, as the builder uses it: load a file, run requests, list its inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tritonsmith.errors import BuildError
from tritonsmith.extras import require
from tritonsmith.samples import Sample


class OnnxModel:
    """An ONNX file in an inference session; calling it with {input: array} returns {output: array}."""

    def __init__(self, path: Path, *, optimize: bool = True, threads: int = 0) -> None:
        ort = require("onnxruntime", extra="build")
        options = ort.SessionOptions()
        options.log_severity_level = 4  # what matters comes as an exception
        options.intra_op_num_threads = threads
        if not optimize:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._errors = _errors()
        try:
            self.session: Any = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except self._errors as error:
            raise BuildError(
                f"ONNX Runtime refuses {path.name}: {_first_line(error)}", hint=_hint(str(error))
            ) from error
        self.inputs = [node.name for node in self.session.get_inputs()]
        self.outputs = [node.name for node in self.session.get_outputs()]

    def __call__(self, inputs: Sample) -> Sample:
        """Run one request; BuildError when the graph fails on it."""
        try:
            results = self.session.run(None, {name: inputs[name] for name in self.inputs})
        except self._errors as error:
            shapes = {name: list(array.shape) for name, array in inputs.items()}
            raise BuildError(f"ONNX Runtime failed on a request of {shapes}: {_first_line(error)}") from error
        return dict(zip(self.outputs, results, strict=True))


def _errors() -> tuple[type[BaseException], ...]:
    """ONNX Runtime's own exceptions, which share no public base class."""
    states = require("onnxruntime.capi.onnxruntime_pybind11_state", extra="build")
    own = [value for value in vars(states).values() if isinstance(value, type) and issubclass(value, Exception)]
    return (*own, ValueError, RuntimeError)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text.partition("] : ")[2].partition(" : ")[2] or text


def _hint(text: str) -> str | None:
    """What to do about the load errors that users meet."""
    advice = {
        "Protobuf parsing failed": "the file is corrupt or no ONNX file: export or download it again",
        "Unsupported model IR version": "export again with a newer ONNX Runtime installed, or a lower IR version",
        "External data": "put the external data file beside the model, under the name that the model gives",
        "model_path must not be empty": "the model has external data: it must be loaded from its folder",
    }
    return next((fix for part, fix in advice.items() if part in text), None)
