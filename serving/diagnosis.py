"""Why a server or a model did not come up, from the log and the exit code: one line, and what to do about it. Pure."""

from __future__ import annotations

import re
import signal

from serving.log import Failure, fatal_reason, last_errors, load_failures, models_loaded, models_loading
from tritonsmith.errors import ServerError

_SHOWN = 3
_FIXES: tuple[tuple[str, str], ...] = (
    (r"KIND_GPU but no GPUs", "choose the CPU's configuration with --host cpu, or build the model for the CPU"),
    (
        r"unable to find backend library",
        "this Triton lacks that backend: serve it in NVIDIA's container, or build it for the onnxruntime backend",
    ),
    (r"No module named '(?P<module>[\w.]+)'", "pip install {module} where tritonsmith is installed"),
    (r"at least one version must be available", "build the model: build-engine {model}"),
    (r"[Pp]rotobuf parsing failed|INVALID_PROTOBUF", "the ONNX file is damaged; build it again: build-engine {model}"),
    (
        r"Stub process .* is not healthy",
        "its Python process died without a traceback (exit, a crash in native code, no memory); see --log FILE",
    ),
    (r"already in use", "stop the other server, or let tritonsmith choose free ports: --free-ports"),
    (r"failed to map segment", "programs may not run from the temporary folder: set TMPDIR to another one"),
    (r"No space left on device|shared memory key", "give /dev/shm more room; in Docker: --shm-size=1g"),
    (r"^config\.pbtxt:\d+", "correct that line, or render the file again: tritonsmith config render {model}"),
    (r"^libpython", "apt-get install that library"),
)


def advice(reason: str, *, model: str = "MODEL") -> str | None:
    """The fix for a reason out of Triton's log; None when there is none to give."""
    for pattern, fix in _FIXES:
        if match := re.search(pattern, reason):
            return fix.format(model=model, **match.groupdict())
    return None


def server_ended(log: str, exit_code: int) -> ServerError:
    """The error for a server that ended before it was ready."""
    failures = load_failures(log)
    if failures:
        return models_failed(failures, models_loaded(log))
    reason = fatal_reason(log)
    if reason is not None and exit_code < 128:
        return ServerError(f"Triton did not start: {reason}", hint=advice(reason) or "--log FILE keeps the whole log")
    loading = ", ".join(map(repr, models_loading(log)))
    last = " ".join(last_errors(log, 1)) or "none"
    return ServerError(
        f"Triton {how_it_ended(exit_code)}{f' while loading {loading}' if loading else ''}",
        hint=f"the log's last words: {reason or last}; --log FILE keeps the whole log",
    )


def models_failed(failures: list[Failure], loaded: list[str]) -> ServerError:
    """The error for models that did not load: the first reasons in one line, the fix of the first, how to go on."""
    first = failures[0]
    if len(failures) == 1:
        message = f"model {first.model!r} did not load: {first.reason}"
    else:
        shown = "; ".join(f"{failure.model!r}: {failure.reason}" for failure in failures[:_SHOWN])
        more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
        message = f"{len(failures)} models did not load: {shown}{more}"
    rest = f"the others alone: {' '.join(f'--model {name}' for name in loaded)}" if loaded else None
    return ServerError(message, hint="; ".join(filter(None, (advice(first.reason, model=first.model), rest))) or None)


def not_ready(log: str, timeout_s: float) -> ServerError:
    """The error for a server that is still loading when the time is up."""
    loading = ", ".join(map(repr, models_loading(log)))
    return ServerError(
        f"Triton was not ready after {timeout_s:g} s{f': still loading {loading}' if loading else ''}",
        hint="give it longer with --ready-timeout, or see what it does with --log FILE",
    )


def model_refused(model: str, said: str, log: str) -> ServerError:
    """The error for a model that the load API refused; `log` is what was logged since, `said` the server's answer."""
    failures = load_failures(log)
    named = next((failure for failure in failures if failure.model == model), None)
    reason = named.reason if named else _after_prefix(said, model)
    return ServerError(f"model {model!r} did not load: {reason}", hint=advice(reason, model=model))


def _after_prefix(said: str, model: str) -> str:
    return said.removeprefix(f"load failed for model '{model}': ").strip()


def how_it_ended(exit_code: int) -> str:
    """The exit code in words; a code above 128 is a signal."""
    if exit_code <= 128:
        return f"ended with exit code {exit_code}"
    try:
        name = signal.Signals(exit_code - 128).name
    except ValueError:
        return f"ended with exit code {exit_code}"
    return f"was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
