"""The checks of `tritonsmith doctor`, run one by one: each is ok, a warning, or missing with the way to get it.

What is looked at is `machine_checks`' business. Checks are named by import strings and loaded when they run, since they
reach into packages that this one does not import.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from tritonsmith.errors import TritonsmithError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check saw; with a `warning` it works, but not as well as it could, and `fix` says how it would."""

    found: str
    warning: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the report; `essential` when nothing can be built or served here without it."""

    name: str
    state: Literal["ok", "warn", "missing"]
    found: str
    fix: str | None = None
    essential: bool = True


Look: TypeAlias = Callable[[], Finding]
"""A look at the machine; it raises a TritonsmithError, whose hint is the fix, when the thing is not there."""

CHECKS: Mapping[str, tuple[str, bool]] = {
    #  name            what looks                          essential
    "Python": ("serving.machine_checks:python", True),
    "libpython": ("serving.machine_checks:libpython", True),
    "numpy": ("serving.machine_checks:numpy", True),
    "torch": ("serving.machine_checks:torch", True),
    "ONNX": ("serving.machine_checks:onnx", True),
    "onnxruntime": ("serving.machine_checks:onnxruntime", True),
    "GPU": ("serving.machine_checks:gpu", False),
    "Triton": ("serving.machine_checks:triton", True),
    "shared memory": ("serving.machine_checks:shared_memory", True),
    "perf_analyzer": ("serving.machine_checks:perf_analyzer", False),
    "a served model": ("serving.machine_checks:served_model", True),
}
_STARTS_A_SERVER = {"a served model"}


def check_all(*, start_server: bool = True) -> list[Check]:
    """Run every check; without `start_server` only look. Seconds with, a fraction of one without."""
    names = [name for name in CHECKS if start_server or name not in _STARTS_A_SERVER]
    return [run_check(name, _load(CHECKS[name][0]), essential=CHECKS[name][1]) for name in names]


def run_check(name: str, look: Look, *, essential: bool) -> Check:
    """One check: a known error becomes `missing`, or a warning where we can do without."""
    try:
        finding = look()
    except TritonsmithError as error:
        state: Literal["warn", "missing"] = "missing" if essential else "warn"
        return Check(name=name, state=state, found=error.message, fix=error.hint, essential=essential)
    if finding.warning is not None:
        found = f"{finding.found}; {finding.warning}"
        return Check(name=name, state="warn", found=found, fix=finding.fix, essential=essential)
    return Check(name=name, state="ok", found=finding.found, essential=essential)


def _load(reference: str) -> Look:
    module, _, function = reference.partition(":")
    look: Look = getattr(importlib.import_module(module), function)
    return look


def is_able(checks: Iterable[Check]) -> bool:
    """True when a model can be built and served here: nothing essential is missing."""
    return all(check.state != "missing" for check in checks)


def as_rows(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks for JSON."""
    return [asdict(check) for check in checks]
