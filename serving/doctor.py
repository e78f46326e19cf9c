"""The checks of `tritonsmith doctor`, run one by one: each is ok, a warning, or missing with the way to get it.

What is looked at is `machine_checks`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from serving import machine_checks
from serving.finding import Finding
from tritonsmith.errors import TritonsmithError


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

CHECKS: Mapping[str, tuple[Look, bool]] = {
    #  name          what looks             essential
    "Python": (machine_checks.python, True),
    "libpython": (machine_checks.libpython, True),
    "numpy": (machine_checks.numpy, True),
    "torch": (machine_checks.torch, True),
    "ONNX": (machine_checks.onnx, True),
    "onnxruntime": (machine_checks.onnxruntime, True),
    "GPU": (machine_checks.gpu, False),
    "Triton": (machine_checks.triton, True),
    "shared memory": (machine_checks.shared_memory, True),
    "perf_analyzer": (machine_checks.perf_analyzer, False),
    "a served model": (machine_checks.served_model, True),
}
_STARTS_A_SERVER = {"a served model"}


def check_all(*, start_server: bool = True) -> list[Check]:
    """Run every check; without `start_server` only look. Seconds with, a fraction of one without."""
    names = [name for name in CHECKS if start_server or name not in _STARTS_A_SERVER]
    return [run_check(name, CHECKS[name][0], essential=CHECKS[name][1]) for name in names]


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


def is_able(checks: Iterable[Check]) -> bool:
    """True when a model can be built and served here: nothing essential is missing."""
    return all(check.state != "missing" for check in checks)


def as_rows(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks for JSON."""
    return [asdict(check) for check in checks]
