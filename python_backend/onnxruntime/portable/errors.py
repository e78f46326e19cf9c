"""What can go wrong, named after Triton's own error codes where Triton prints the name.

Triton prints an exception of a Python backend as `ClassName: text`, so these names put the code that NVIDIA's native
onnxruntime backend reports in front of the same text.

    LoadError
    ├── InvalidArgument   the config contradicts the model, or a value is out of its range
    ├── Internal          a file cannot be read, or ONNX Runtime refuses the model
    ├── Unavailable       a directory that holds no model
    └── Unsupported       the model or the config uses something that this backend does not run
    RunError              ONNX Runtime failed to run one feed
"""


class LoadError(Exception):
    """A model that cannot be loaded."""


class InvalidArgument(LoadError):
    """The config contradicts the model, or holds a value outside its range."""


class Internal(LoadError):
    """A model file that cannot be read, or that ONNX Runtime refuses."""


class Unavailable(LoadError):
    """A model directory without a model in it."""


class Unsupported(LoadError):
    """Something that ONNX or Triton allows and this backend does not run."""


class RunError(Exception):
    """A run that failed; `request_at_fault` unless the machine is (no memory, no device)."""

    def __init__(self, text: str, *, request_at_fault: bool) -> None:
        super().__init__(text)
        self.request_at_fault = request_at_fault
