"""What a run comes to: its best throughput, its SLO point, and what to mistrust. Pure functions on records.

Reports and tables only print what these say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perf.point import Point
from perf.run import Run
from perf.statistics import samples_needed


@dataclass(frozen=True, slots=True, kw_only=True)
class SloResult:
    """The highest measured throughput within the SLO; None when no level met it: `best_p99_ms` says how near it was."""

    limit_ms: float
    point: Point | None
    best_p99_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The run in a few numbers."""

    best: Point | None
    fastest: Point | None
    slo: SloResult | None
    warnings: tuple[str, ...]


def summarise(run: Run) -> Summary:
    """Best throughput, lowest latency, SLO point and warnings of a run."""
    return Summary(
        best=max(run.points, key=lambda point: point.throughput_qps, default=None),
        fastest=min(run.points, key=lambda point: point.latency_mean_ms, default=None),
        slo=slo_result(run.points, run.header.slo_p99_ms),
        warnings=tuple(warnings(run)),
    )


def slo_result(points: Sequence[Point], limit_ms: float | None) -> SloResult | None:
    """The point of the highest measured throughput with p99 <= limit and no errors; None without a limit.

    A point with too few samples for a p99 does not count.
    """
    if limit_ms is None:
        return None
    known = [(point.latency_p99_ms, point) for point in points if point.latency_p99_ms is not None]
    within = [point for p99, point in known if p99 <= limit_ms and point.errors == 0]
    return SloResult(
        limit_ms=limit_ms,
        point=max(within, key=lambda point: point.throughput_qps, default=None),
        best_p99_ms=min((p99 for p99, _ in known), default=None),
    )


def warnings(run: Run) -> Iterator[str]:
    """What a reader must know before trusting the numbers, gravest first."""
    header, points = run.header, run.points
    failing = [point for point in points if point.errors]
    if failing:
        yield f"{sum(point.errors for point in failing)} requests failed at {_levels(failing)}: {_first_error(failing)}"
    if header.identity.input_kind in {"random", "zero"}:
        yield f"The requests are {header.input_source}, not real samples: real ones may take longer or shorter."
    if header.identity.client == "builtin":
        yield (
            "Measured with the built-in client, which is written in Python and may be the limit at high rates: "
            f"{header.client_why}."
        )
    apart = [point for point in points if _stays_apart(point)]
    if header.input_shapes > 1 and header.max_batch_size > 1 and apart:
        yield (
            f"The requests have {header.input_shapes} different shapes, and Triton joins only equal ones to a batch: "
            f"hardly any batch had more than one request at {_levels(apart)}."
        )
    unstable = [point for point in points if not point.stable]
    if unstable:
        yield f"Not stable at {_levels(unstable)}: throughput or latency still moved by more than the tolerance."
    few = [point for point in points if point.n < samples_needed(99)]
    if few:
        yield f"Too few samples for a p99 at {_levels(few)}: it takes {samples_needed(99)} requests."
    reported = [point for point in points if not point.raw]
    if reported:
        yield f"Percentiles at {_levels(reported)} are perf_analyzer's own: the requests are too large to export."


def _stays_apart(point: Point) -> bool:
    """Several requests were under way, and yet on average 10 runs of the model served less than 11 of them."""
    return point.concurrency > 1 and point.batch_size_mean is not None and point.batch_size_mean < 1.1 * point.batch


def _levels(points: Sequence[Point]) -> str:
    return "concurrency " + ", ".join(str(point.concurrency) for point in points)


def _first_error(points: Sequence[Point]) -> str:
    return next((point.first_error for point in points if point.first_error), "see the server's log")
