"""The one error tree; a message holds the value, the rule and the fix.

TritonsmithError             known failure: one line and a hint, exit 1
├── MissingExtra             an optional package is not installed
├── SpecError                spec.yaml or its command-line form is wrong
├── SampleError              the user's samples do not fit the spec
├── UserCodeError            a factory, samples or metric function failed to import or raised
├── ConfigError              config.pbtxt does not parse or says something else than the spec
├── RepositoryError          the model repository is missing, unreadable or cannot be written
├── BuildError               a stage of the build failed
│   └── ExportError          PyTorch could not export the model to ONNX
├── ServerError              Triton is missing, did not start, or died
├── RequestError             a request was refused or could not be sent
├── MeasurementError         a load level could not be measured
└── GateError                a gate is not met, exit 3
    └── ParityError          the artifact does not compute what PyTorch computes
"""

from __future__ import annotations


class TritonsmithError(Exception):
    """A failure that we can explain: `message` is one line, `hint` the fix, `details` further lines (user frames)."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class MissingExtra(TritonsmithError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the Python package {package!r}, which is not installed",
            hint=f"pip install 'tritonsmith[{extra}]'",
        )


class SpecError(TritonsmithError):
    """The spec is wrong: an unknown key, a missing dim, an impossible range."""


class SampleError(TritonsmithError):
    """The samples do not fit the spec's inputs."""


class UserCodeError(TritonsmithError):
    """Code named by the spec failed to import or raised; `details` holds the user's own frames."""


class ConfigError(TritonsmithError):
    """A config.pbtxt does not parse, or says something else than the spec."""


class RepositoryError(TritonsmithError):
    """The model repository is missing, unreadable or cannot be written."""


class BuildError(TritonsmithError):
    """A stage of the build failed."""


class ExportError(BuildError):
    """PyTorch could not export the model to ONNX."""


class ServerError(TritonsmithError):
    """Triton is missing, did not start, or died."""


class RequestError(TritonsmithError):
    """A request was refused by the server or could not be sent."""


class MeasurementError(TritonsmithError):
    """A load level could not be measured."""


class GateError(TritonsmithError):
    """A gate is not met: nothing is published, exit 3."""

    exit_code = 3


class ParityError(GateError):
    """The artifact does not compute what PyTorch computes."""
