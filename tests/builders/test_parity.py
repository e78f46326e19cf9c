"""The parity figures against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders.parity import compare_outputs, cosine, sqnr_db, worst_of
from tritonsmith.spec import Tolerance

GATE = Tolerance(atol=1e-4, rtol=1e-3)
REF = np.array([[1.0, 2.0], [0.0, -4.0]], np.float32)


def problem_of(actual: np.ndarray, expected: np.ndarray = REF) -> str | None:  # type: ignore[type-arg]
    return compare_outputs("case", {"y": actual}, {"y": expected}, GATE)[0].problem


def test_figures_are_those_of_the_formulas() -> None:
    row = compare_outputs("case", {"y": REF + np.array([[0.5, 0], [0, 0]], np.float32)}, {"y": REF}, GATE)[0]
    assert row.max_abs == 0.5
    assert row.max_rel == 0.5
    assert row.sqnr_db == pytest.approx(10 * math.log10((1 + 4 + 16) / 0.25))
    assert row.cosine == pytest.approx((1.5 + 4 + 16) / math.sqrt((2.25 + 4 + 16) * 21))


def test_equal_outputs_are_identical() -> None:
    row = compare_outputs("case", {"y": REF.copy()}, {"y": REF}, GATE)[0]
    assert (row.max_abs, row.max_rel, row.cosine, row.sqnr_db, row.problem) == (0, 0, 1, math.inf, None)


@pytest.mark.parametrize(("error", "passes"), [(1.0e-4, True), (1.2e-3, False)])
def test_the_gate_is_absolute_plus_relative(error: float, passes: bool) -> None:
    assert (problem_of(REF + np.array([[error, 0], [0, 0]], np.float32)) is None) is passes


@pytest.mark.parametrize(
    ("actual", "problem"),
    [
        (REF[:1], "has shape [1, 2], the reference [2, 2]"),
        (REF.astype(np.float16), "has dtype float16, the reference float32"),
        (np.where(REF == 2, np.nan, REF).astype(np.float32), "has NaN or infinity where the reference has not"),
    ],
)
def test_other_shapes_dtypes_and_nan_never_pass(actual: np.ndarray, problem: str) -> None:  # type: ignore[type-arg]
    assert problem in (problem_of(actual) or "")


def test_nan_where_the_reference_has_nan_is_equal() -> None:
    gaps = np.array([np.nan, np.inf, 1.0], np.float32)
    assert problem_of(gaps.copy(), gaps) is None
    assert problem_of(-gaps, gaps) is not None


def test_integers_must_be_equal() -> None:
    labels = np.array([1, 2, 3])
    assert problem_of(labels.copy(), labels) is None
    assert problem_of(np.array([1, 2, 4]), labels) == "1 of 3 values differ"


def test_a_missing_output_does_not_pass() -> None:
    assert compare_outputs("case", {}, {"y": REF}, GATE)[0].problem == "is missing"


def test_the_worst_case_of_an_output_is_a_failed_one() -> None:
    good = compare_outputs("good", {"y": REF}, {"y": REF}, GATE)
    near = compare_outputs("near", {"y": REF + np.float32(1e-5)}, {"y": REF}, GATE)
    bad = compare_outputs("bad", {"y": REF + np.float32(1)}, {"y": REF}, GATE)
    assert worst_of([*good, *near])["y"].case == "near"
    assert worst_of([*bad, *near, *good])["y"].case == "bad"


def test_zero_signals() -> None:
    zero, one = np.zeros(3), np.ones(3)
    assert (sqnr_db(zero, zero), sqnr_db(one, zero)) == (math.inf, -math.inf)
    assert (cosine(zero, zero), cosine(one, zero)) == (1.0, 0.0)
