"""Prove that an artifact computes what its reference computes: on samples, on corner shapes, and row by row.

The batch tests compare the artifact with itself: f(cat(a, b)) = cat(f(a), f(b)), and equal rows in give equal rows out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from builders.parity import ITSELF, REFERENCE, OutputParity, compare_outputs, worst_of
from builders.synthetic import corner_sizes, distinct_rows, make_inputs
from tritonsmith.errors import ParityError
from tritonsmith.samples import Predict, Sample
from tritonsmith.spec import BATCH, Spec

PARITY_SAMPLES = 8
"""Samples that parity uses; corner shapes take their values from all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request, and what its outputs are compared with."""

    name: str
    inputs: Sample
    expected: Callable[[], Sample]
    against: str = REFERENCE


def parity_cases(spec: Spec, reference: Predict, candidate: Predict, samples: Sequence[Sample]) -> Iterator[Case]:
    """Every case that parity runs, named for the report."""
    for index, sample in enumerate(samples[:PARITY_SAMPLES]):
        yield _against(reference, f"sample {index}", sample)
    values = "" if samples else ", random values"
    for sizes in corner_sizes(spec):
        yield _against(reference, _describe(sizes) + values, make_inputs(spec, sizes, samples))
    if not spec.dims:
        for seed in (1, 2):
            yield _against(reference, f"values {seed}", make_inputs(spec, {}, samples, seed=seed))
    if spec.batches:
        differing = samples if distinct_rows(spec, samples) > 1 else []
        yield _split_case(spec, candidate, differing)
        yield _equal_rows_case(spec, candidate, samples)


def _against(reference: Predict, name: str, inputs: Sample) -> Case:
    return Case(name=name, inputs=inputs, expected=lambda: reference(inputs))


def _describe(sizes: dict[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in sizes.items()) or "fixed shape"


def _typical(spec: Spec) -> dict[str, int]:
    return {name: dim.opt for name, dim in spec.dims.items()}


def _split_case(spec: Spec, candidate: Predict, samples: Sequence[Sample]) -> Case:
    """f(cat(a, b)) against cat(f(a), f(b))."""
    rows = spec.max_batch_size
    whole = make_inputs(spec, {**_typical(spec), BATCH: min(rows, 2 * spec.dims[BATCH].opt + 1)}, samples, seed=3)
    cut = max(1, len(next(iter(whole.values()))) // 2)
    parts = [{name: array[part] for name, array in whole.items()} for part in (np.s_[:cut], np.s_[cut:])]

    def halves() -> Sample:
        first, second = (candidate(part) for part in parts)
        return {name: np.concatenate([first[name], second[name]]) for name in first}

    return Case(
        name=f"f(cat(a,b)) = cat(f(a),f(b)), batch={cut}+{len(next(iter(parts[1].values())))}",
        inputs=whole,
        expected=halves,
        against=ITSELF,
    )


def _equal_rows_case(spec: Spec, candidate: Predict, samples: Sequence[Sample]) -> Case:
    """The same row many times gives the same output row many times."""
    rows = max(2, min(spec.max_batch_size, spec.dims[BATCH].opt))
    one = make_inputs(spec, {**_typical(spec), BATCH: 1}, samples, seed=4)
    repeated = {name: np.repeat(array, rows, axis=0) for name, array in one.items()}

    def same() -> Sample:
        return {name: np.repeat(array, rows, axis=0) for name, array in candidate(one).items()}

    return Case(name=f"{rows} equal rows", inputs=repeated, expected=same, against=ITSELF)


def verify(
    spec: Spec,
    reference: Predict,
    candidate: Predict,
    samples: Sequence[Sample],
    *,
    on_case: Callable[[str], None] = lambda _name: None,
) -> list[OutputParity]:
    """Run every case and compare; `on_case` is told each case's name before it runs."""
    results: list[OutputParity] = []
    for case in parity_cases(spec, reference, candidate, samples):
        on_case(case.name)
        expected = case.expected()
        compared = compare_outputs(case.name, candidate(case.inputs), expected, spec.parity)
        results += [replace(result, against=case.against) for result in compared]
    return results


def require_parity(results: Sequence[OutputParity]) -> None:
    """ParityError that names the worst output, the case and how far it is off, when any case does not pass."""
    failed = [result for result in results if result.problem]
    if not failed:
        return
    against_reference = [result for result in failed if result.against == REFERENCE]
    worst = next(iter(worst_of(against_reference or failed).values()))
    raise ParityError(
        f"parity failed: output {worst.output!r} {worst.problem} (case {worst.case!r}: max abs {worst.max_abs:.3g}, "
        f"cosine {worst.cosine:.4f}, SQNR {worst.sqnr_db:.1f} dB; {len(failed)} of {len(results)} comparisons failed)",
        hint=_advice(worst),
    )


def _advice(result: OutputParity) -> str:
    if result.against == ITSELF:
        return "rows of a batch influence each other: look for batch norm in training mode, or a reduction over axis 0"
    if "random values" in result.case:
        return (
            "nothing was published; the inputs were random: if they are not valid, give `samples:` or a `range:` for "
            "each input; if they are, look for random numbers, training mode or state in forward"
        )
    if result.problem and "shape" in result.problem:
        return "a size was fixed while tracing: write the code without int(x.shape[i]), or make the dim static"
    return "nothing was published; look for random numbers, training mode or state in forward, or widen the gate"
