"""The columns that a point has in the terminal and in the report: title, unit and how a value is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perf.point import Point

MISSING = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `meaning` is its explanation in the report, `narrow` its title where there is little room."""

    title: str
    field: str
    write: Callable[[float], str]
    meaning: str
    narrow: str | None = None

    def show(self, point: Point) -> str:
        """The value as text; a dash where there is none."""
        value = getattr(point, self.field)
        return MISSING if value is None else self.write(value)


def _whole(value: float) -> str:
    return f"{value:.0f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


def _two(value: float) -> str:
    return f"{value:.2f}"


def _yes(value: float) -> str:
    return "yes" if value else "no"


COLUMNS = (
    Column("concurrency", "concurrency", _whole, "requests under way at any time", narrow="load"),
    Column("QPS", "throughput_qps", _one, "requests answered per second"),
    Column("IPS", "throughput_ips", _one, "inferences (rows) per second"),
    Column("mean ms", "latency_mean_ms", _two, "mean latency"),
    Column("p50 ms", "latency_p50_ms", _two, "half of the requests are faster"),
    Column("p90 ms", "latency_p90_ms", _two, "nine of ten are faster"),
    Column("p95 ms", "latency_p95_ms", _two, "19 of 20 are faster"),
    Column("p99 ms", "latency_p99_ms", _two, "99 of 100 are faster; needs 100 requests"),
    Column("n", "n", _whole, "requests measured"),
    Column("errors", "errors", _whole, "requests that failed; they count in no other column"),
    Column("queue µs", "queue_us", _whole, "waiting in Triton's queue, per request"),
    Column("infer µs", "compute_infer_us", _whole, "running the model, per request: its whole batch's time"),
    Column("batch", "batch_size_mean", _two, "rows per run of the model"),
    Column("stable", "stable", _yes, "the last three windows agree within the tolerance"),
)
