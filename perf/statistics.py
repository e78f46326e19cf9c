"""The numbers of a measured level, as pure functions on samples. Units stand in the names; every formula is said once.

A percentile from too few samples is None, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """What is told of the latencies of one level, in ms; a percentile with too few samples behind it is None."""

    mean_ms: float
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One measurement window: answers per second and their mean latency in ms (0 when there were none)."""

    throughput_qps: float
    latency_mean_ms: float


def samples_needed(q: float) -> int:
    """The least number of samples for the q-th percentile: 1 / (1 - q/100), so that one sample lies beyond it.

    p50 needs 2, p90 10, p95 20, p99 100.
    """
    return round(100 / (100 - q))


def percentile(samples_ms: Sequence[float], q: float) -> float | None:
    """The q-th percentile, or None with fewer than `samples_needed(q)` samples.

    Linear interpolation between the closest ranks: rank (n - 1) q / 100 of the sorted samples (Hyndman and Fan's
    type 7, numpy's default).
    """
    if len(samples_ms) < samples_needed(q):
        return None
    return float(np.percentile(samples_ms, q))


def trusted(value_ms: float, q: float, n: int) -> float | None:
    """A percentile that somebody else computed from n samples, or None when n is too small for it."""
    return value_ms if n >= samples_needed(q) else None


def latency(samples_ms: Sequence[float]) -> Latency:
    """Mean = sum / n, and the percentiles; ValueError without samples."""
    if not samples_ms:
        raise ValueError("latency of no samples")
    p50, p90, p95, p99 = (percentile(samples_ms, q) for q in PERCENTILES)
    mean = math.fsum(samples_ms) / len(samples_ms)
    return Latency(mean_ms=mean, p50_ms=p50, p90_ms=p90, p95_ms=p95, p99_ms=p99)


def throughput_qps(completed: int, duration_s: float) -> float:
    """QPS = requests that completed without an error / seconds of measuring."""
    return completed / duration_s


def throughput_ips(qps: float, batch: int) -> float:
    """IPS = QPS x rows per request: inferences, not requests."""
    return qps * batch


def windows(ends_s: Sequence[float], latencies_ms: Sequence[float], bounds_s: Sequence[float]) -> list[Window]:
    """Cut the answers into windows by when they came: one window between each two neighbouring bounds."""
    ends, values = np.asarray(ends_s), np.asarray(latencies_ms)
    cut = []
    for start, stop in pairwise(bounds_s):
        inside = values[(ends >= start) & (ends < stop)]
        mean = float(inside.mean()) if inside.size else 0.0
        cut.append(Window(throughput_qps=throughput_qps(inside.size, stop - start), latency_mean_ms=mean))
    return cut


def is_stable(recent: Sequence[Window], tolerance: float) -> bool:
    """Steady state, by perf_analyzer's rule for synchronous load: the last three windows agree.

    max / min <= 1 + tolerance, for throughput and for mean latency; fewer than three windows are not stable.
    """
    last = recent[-3:]
    if len(last) < 3:
        return False
    return all(
        min(values) > 0 and max(values) / min(values) <= 1 + tolerance
        for values in ([w.throughput_qps for w in last], [w.latency_mean_ms for w in last])
    )
