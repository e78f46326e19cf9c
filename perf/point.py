"""One measured load level as a record: one JSON line, with units in the names and a schema version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from perf.load import Load, Measured
from perf.server_stats import Split
from perf.statistics import throughput_ips, throughput_qps
from tritonsmith.errors import MeasurementError

SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One load level: `n` answered requests of `batch` rows in `duration_s`; a percentile of too few samples is None.

    The `_us` fields are the server's time of an average request. `raw`: percentiles are of our own copy of all samples,
    else of perf_analyzer's report. `batch_sizes`: runs of the model by the number of rows in them.
    """

    concurrency: int
    batch: int
    throughput_qps: float
    throughput_ips: float
    latency_mean_ms: float
    latency_p50_ms: float | None
    latency_p90_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    n: int
    errors: int
    first_error: str | None
    queue_us: float | None
    compute_input_us: float | None
    compute_infer_us: float | None
    compute_output_us: float | None
    batch_size_mean: float | None
    batch_sizes: Mapping[int, int]
    stable: bool
    raw: bool
    client: str
    started: str
    duration_s: float
    interval_ms: int

    @property
    def outside_us(self) -> float | None:
        """What the server does not account for = mean latency - its stages, not below 0: network and client."""
        stages = (self.queue_us, self.compute_input_us, self.compute_infer_us, self.compute_output_us)
        known = [stage for stage in stages if stage is not None]
        return max(0.0, self.latency_mean_ms * 1000 - sum(known)) if len(known) == len(stages) else None

    def to_json(self) -> dict[str, Any]:
        """The record as plain data."""
        sizes = {str(size): count for size, count in self.batch_sizes.items()}
        return {"kind": "point", "schema": SCHEMA, **asdict(self), "batch_sizes": sizes}


def point_from_json(record: Mapping[str, Any]) -> Point:
    """The point of a record; MeasurementError for another schema or missing fields."""
    if record.get("schema") != SCHEMA:
        raise MeasurementError(f"a point of schema {record.get('schema')!r}, this version reads {SCHEMA}")
    values = {name: record[name] for name in (field.name for field in fields(Point)) if name in record}
    try:
        sizes = {int(size): int(count) for size, count in record["batch_sizes"].items()}
        return Point(**{**values, "batch_sizes": sizes})
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise MeasurementError(f"a point that is not complete: {error}") from error


def make_point(load: Load, measured: Measured, *, client: str, started: str) -> Point:
    """The record of what a client measured at one level."""
    qps = throughput_qps(measured.n, measured.duration_s)
    split = measured.split or measured.server.split
    times = asdict(split) if split else dict.fromkeys((field.name for field in fields(Split)), None)
    return Point(
        concurrency=load.concurrency,
        batch=load.batch,
        throughput_qps=qps,
        throughput_ips=throughput_ips(qps, load.batch),
        n=measured.n,
        errors=measured.errors,
        first_error=measured.first_error,
        batch_size_mean=measured.server.batch_size_mean,
        batch_sizes=measured.server.batches,
        stable=measured.stable,
        raw=measured.raw,
        client=client,
        started=started,
        duration_s=measured.duration_s,
        interval_ms=load.interval_ms,
        **{f"latency_{name}": value for name, value in asdict(measured.latency).items()},
        **times,
    )
