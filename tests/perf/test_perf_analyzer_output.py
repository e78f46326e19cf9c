"""On files that perf_analyzer 2.50 really left: concurrency 2, batch 2, three windows of 100 ms."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf.perf_analyzer_output import (
    explain,
    found_no_requests,
    latency_of,
    parse_csv,
    parse_export,
    parse_passes,
    parse_request_count,
)
from perf.server_stats import Split
from perf.statistics import latency
from tritonsmith.errors import MeasurementError

RECORDED = Path(__file__).parent / "recorded"
CSV = (RECORDED / "report.csv").read_text()
EXPORT = (RECORDED / "requests.json").read_text()
STDOUT = (RECORDED / "stdout.txt").read_text()


def test_the_csv_gives_rate_latencies_and_split() -> None:
    summary = parse_csv(CSV)
    assert (summary.concurrency, summary.inferences_per_s, summary.mean_us) == (2, 718.95, 5465)
    assert summary.percentiles_us == {50: 5161, 90: 5333, 95: 5421, 99: 21577}
    assert summary.split == Split(queue_us=588, compute_input_us=21, compute_infer_us=4551, compute_output_us=179)


def test_the_export_gives_every_request_of_the_windows() -> None:
    samples = parse_export(EXPORT)
    assert len(samples.latencies_ms) == 130
    assert samples.duration_s == pytest.approx(0.3616, abs=1e-4)
    assert samples.bounds_s[0] == 0
    assert all(0 <= end <= samples.duration_s for end in samples.ends_s)


def test_export_csv_and_passes_tell_the_same_story() -> None:
    samples, summary = parse_export(EXPORT), parse_csv(CSV)
    rows_per_s = 2 * len(samples.latencies_ms) / samples.duration_s
    assert rows_per_s == pytest.approx(summary.inferences_per_s, rel=1e-3)
    found = latency(samples.latencies_ms)
    assert found.mean_ms * 1000 == pytest.approx(summary.mean_us, abs=1)
    assert found.p50_ms == pytest.approx(5.161, abs=0.01)
    for ours, theirs in zip(samples.windows(), parse_passes(STDOUT, batch=2), strict=True):
        assert ours.throughput_qps == pytest.approx(theirs.throughput_qps, rel=0.02)
        assert ours.latency_mean_ms == pytest.approx(theirs.latency_mean_ms, rel=0.02)


def test_percentiles_of_the_csv_count_only_with_enough_requests() -> None:
    assert parse_request_count(STDOUT) == 130
    assert parse_request_count("nothing") == 0
    assert latency_of(parse_csv(CSV), 130).p99_ms == 21.577
    assert latency_of(parse_csv(CSV), 99).p99_ms is None


@pytest.mark.parametrize("text", ["", "Concurrency,Inferences/Second\n", "a,b\n1,2\n"])
def test_another_csv_is_refused(text: str) -> None:
    with pytest.raises(MeasurementError, match="CSV is not understood"):
        parse_csv(text)


@pytest.mark.parametrize("text", ["", "{}", '{"experiments": []}', '{"experiments": [{"requests": [{}]}]}'])
def test_another_export_is_refused(text: str) -> None:
    with pytest.raises(MeasurementError, match="profile export is not understood"):
        parse_export(text)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            "Failed to retrieve results from inference request.\nThread [0] had error: refused\n",
            "the server refused a request: refused",
        ),
        (
            "error: failed to get model metadata: Request for unknown model: 'nope' is not found\n",
            "perf_analyzer: failed to get model metadata: Request for unknown model: 'nope' is not found",
        ),
        (
            "error: Failed to init manager inputs: unable to find float data in json\n",
            "perf_analyzer: unable to find float data in json",
        ),
        (
            "\nError: Failed to parse --profile-export-file. Path must not already exist.\nUsage: x\n",
            "must not already",
        ),
        ("something odd\n", "perf_analyzer exits 99: something odd"),
        ("", "perf_analyzer exits 99: it says nothing"),
    ],
)
def test_complaints_become_one_line(stderr: str, said: str) -> None:
    assert said in explain("", stderr, 99).message


def test_a_window_without_an_answer_is_told_apart() -> None:
    assert found_no_requests("No valid requests recorded within time interval. Please use a larger time window.")
    assert not found_no_requests(STDOUT)
