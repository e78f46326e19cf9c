"""How far one set of outputs is from another: pure functions on arrays, no model.

Sources: the gate is numpy.isclose's |y - ref| <= atol + rtol |ref|; SQNR = 10 log10(sum ref² / sum (y - ref)²), the
signal to quantisation noise ratio in dB; cosine is over the flattened output.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tritonsmith.samples import Array, Sample
from tritonsmith.spec import Tolerance

REFERENCE, ITSELF = "reference", "itself"
"""What an artifact is compared with."""

Floats = NDArray[np.float64]

_FLOOR = 1e-6
"""Reference values below this do not count for the relative error, which would be noise over nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputParity:
    """The distance of one output from what it is compared with, in one case; `problem` says why it does not pass.

    `max_abs` has the output's unit, `max_rel` none, `sqnr_db` is in dB (inf for equal outputs).
    """

    case: str
    output: str
    shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    cosine: float
    sqnr_db: float
    problem: str | None
    against: str = REFERENCE


def compare_outputs(case: str, actual: Sample, expected: Sample, gate: Tolerance) -> list[OutputParity]:
    """Compare every expected output; one that is missing, or of another shape or dtype, does not pass."""
    return [compare_output(case, name, actual.get(name), array, gate) for name, array in expected.items()]


def compare_output(case: str, name: str, actual: Array | None, expected: Array, gate: Tolerance) -> OutputParity:
    """Compare one output; floats by the gate, everything else exactly."""
    problem = _mismatch(actual, expected)
    if problem or actual is None:
        return _failed(case, name, expected, problem or "is missing")
    if expected.dtype.kind != "f":
        wrong = int(np.count_nonzero(actual != expected))
        problem = f"{wrong} of {expected.size} values differ" if wrong else None
        return _failed(case, name, expected, problem) if problem else _equal(case, name, expected)
    return _compare_floats(case, name, actual, expected, gate)


def _mismatch(actual: Array | None, expected: Array) -> str | None:
    if actual is None:
        return "is missing"
    if actual.shape != expected.shape:
        return f"has shape {list(actual.shape)}, the reference {list(expected.shape)}"
    if actual.dtype != expected.dtype:
        return f"has dtype {actual.dtype}, the reference {expected.dtype}"
    return None


def _compare_floats(case: str, name: str, actual: Array, expected: Array, gate: Tolerance) -> OutputParity:
    y, ref = actual.astype(np.float64), expected.astype(np.float64)
    same_gaps = np.array_equal(np.isfinite(y), np.isfinite(ref)) and np.array_equal(
        y[~np.isfinite(y)], ref[~np.isfinite(ref)], equal_nan=True
    )
    kept = np.isfinite(ref) & np.isfinite(y)
    y, ref = y[kept], ref[kept]
    error = np.abs(y - ref)
    outside = int(np.count_nonzero(error > gate.atol + gate.rtol * np.abs(ref)))
    problem = None if same_gaps else "has NaN or infinity where the reference has not, or the other way round"
    if problem is None and outside:
        problem = f"{outside} of {expected.size} values are off by more than atol {gate.atol:g} + rtol {gate.rtol:g}"
    large = np.abs(ref) > _FLOOR
    return OutputParity(
        case=case,
        output=name,
        shape=expected.shape,
        max_abs=float(error.max(initial=0)),
        max_rel=float((error[large] / np.abs(ref[large])).max(initial=0)),
        cosine=cosine(y, ref),
        sqnr_db=sqnr_db(y, ref),
        problem=problem,
    )


def sqnr_db(actual: Floats, reference: Floats) -> float:
    """10 log10(sum ref² / sum (y - ref)²) in dB; infinite for equal arrays."""
    noise = float(np.sum((actual - reference) ** 2))
    signal = float(np.sum(reference**2))
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def cosine(actual: Floats, reference: Floats) -> float:
    """The cosine of the angle between two flattened arrays; 1 when both are zero."""
    a, b = actual.ravel(), reference.ravel()
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return min(1.0, float(a @ b) / norms) if norms else float(not a.any() and not b.any())


def _failed(case: str, name: str, expected: Array, problem: str) -> OutputParity:
    return OutputParity(
        case=case,
        output=name,
        shape=expected.shape,
        max_abs=math.inf,
        max_rel=math.inf,
        cosine=0.0,
        sqnr_db=-math.inf,
        problem=problem,
    )


def _equal(case: str, name: str, expected: Array) -> OutputParity:
    return OutputParity(
        case=case,
        output=name,
        shape=expected.shape,
        max_abs=0.0,
        max_rel=0.0,
        cosine=1.0,
        sqnr_db=math.inf,
        problem=None,
    )


def worst_of(results: Iterable[OutputParity]) -> dict[str, OutputParity]:
    """The worst case of each output: failed ones first, then by SQNR."""
    worst: dict[str, OutputParity] = {}
    for result in results:
        held = worst.get(result.output)
        if held is None or _badness(result) > _badness(held):
            worst[result.output] = result
    return worst


def _badness(result: OutputParity) -> tuple[bool, float, float]:
    return result.problem is not None, -result.sqnr_db, result.max_abs
