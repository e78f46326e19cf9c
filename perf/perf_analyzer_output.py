"""Reading what perf_analyzer leaves: its CSV, its JSON of every request, and its complaints. Pure functions on text.

Observed on 2.50: without a stable result it writes no file at all, and one failed request ends the run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from perf.server_stats import Split
from perf.statistics import Latency, Window, trusted, windows
from tritonsmith.errors import MeasurementError

_SPLIT_COLUMNS = {
    "queue_us": "Server Queue",
    "compute_input_us": "Server Compute Input",
    "compute_infer_us": "Server Compute Infer",
    "compute_output_us": "Server Compute Output",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The one line of the CSV: rows per second, latencies in microseconds, the server's split if it has statistics."""

    concurrency: int
    inferences_per_s: float
    mean_us: float
    percentiles_us: Mapping[int, float]
    split: Split | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Every measured request: when its answer came (s), its latency (ms), and the bounds of the windows (s)."""

    ends_s: list[float]
    latencies_ms: list[float]
    bounds_s: list[float]

    @property
    def duration_s(self) -> float:
        """From the first bound to the last."""
        return self.bounds_s[-1] - self.bounds_s[0]

    def windows(self) -> list[Window]:
        """Throughput and mean latency of each window."""
        return windows(self.ends_s, self.latencies_ms, self.bounds_s)


def parse_csv(text: str) -> Summary:
    """The report of `-f FILE --verbose-csv` with a single level; MeasurementError when it has another form."""
    rows = list(csv.DictReader(io.StringIO(text)))
    try:
        row = rows[0]
        split = {name: float(row[column]) for name, column in _SPLIT_COLUMNS.items() if row.get(column)}
        return Summary(
            concurrency=int(row["Concurrency"]),
            inferences_per_s=float(row["Inferences/Second"]),
            mean_us=float(row["Avg latency"]),
            percentiles_us={q: float(row[f"p{q} latency"]) for q in (50, 90, 95, 99)},
            split=Split(**split) if len(split) == len(_SPLIT_COLUMNS) else None,
        )
    except (IndexError, KeyError, ValueError) as error:
        head = text.splitlines()[0][:80] if text.strip() else "nothing"
        raise MeasurementError(f"perf_analyzer's CSV is not understood ({error}): {head}") from error


def parse_export(text: str) -> Samples:
    """The samples of `--profile-export-file` with a single level; times are moved so that the first bound is 0.

    A latency runs from the request's timestamp to its last response.
    """
    try:
        experiment = json.loads(text)["experiments"][0]
        bounds = experiment["window_boundaries"]
        origin = bounds[0]
        pairs = [(row["timestamp"], row["response_timestamps"][-1]) for row in experiment["requests"]]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise MeasurementError(f"perf_analyzer's profile export is not understood: {error!r}") from error
    return Samples(
        ends_s=[(end - origin) / 1e9 for _, end in pairs],
        latencies_ms=[(end - start) / 1e6 for start, end in pairs],
        bounds_s=[(bound - origin) / 1e9 for bound in bounds],
    )


def parse_passes(stdout: str, batch: int) -> list[Window]:
    """The windows as `-v` prints them: `Pass [1] throughput: 264.7 infer/sec. Avg latency: 7452 usec`."""
    found = re.findall(r"Pass \[\d+\] throughput: ([\d.e+]+) infer/sec\. Avg latency: (\d+) usec", stdout)
    return [Window(throughput_qps=float(ips) / batch, latency_mean_ms=int(us) / 1000) for ips, us in found]


def parse_request_count(stdout: str) -> int:
    """The number of requests behind the percentiles; 0 when it is not told."""
    found = re.search(r"Request count: (\d+)", stdout)
    return int(found.group(1)) if found else 0


def latency_of(summary: Summary, n: int) -> Latency:
    """perf_analyzer's own percentiles as ours, None where n samples are too few."""
    p50, p90, p95, p99 = (trusted(us / 1000, q, n) for q, us in summary.percentiles_us.items())
    return Latency(mean_ms=summary.mean_us / 1000, p50_ms=p50, p90_ms=p90, p95_ms=p95, p99_ms=p99)


_EMPTY = "No valid requests recorded within time interval"
_COMPLAINTS: tuple[tuple[str, str, str | None], ...] = (
    # what it says -> what we say ({} is the captured text), and the fix
    (r"Thread \[\d+\] had error: (.+)", "the server refused a request: {}", "--client builtin counts failing requests"),
    (r"error: (?:Failed to init manager inputs: )?(.+)", "perf_analyzer: {}", None),
    (r"Error: (.+)", "perf_analyzer: {}", None),
)


def found_no_requests(output: str) -> bool:
    """True when a window passed without one answer."""
    return _EMPTY in output


def explain(stdout: str, stderr: str, code: int) -> MeasurementError:
    """The one line that says why a run failed."""
    for pattern, message, hint in _COMPLAINTS:
        found = re.search(pattern, stderr)
        if found:
            return MeasurementError(message.format(found.group(1).strip()), hint=hint)
    lines = [line.strip() for line in (stderr or stdout).splitlines() if line.strip()]
    return MeasurementError(f"perf_analyzer exits {code}: {lines[-1] if lines else 'it says nothing'}")
