from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf.statistics import (
    Window,
    is_stable,
    latency,
    percentile,
    samples_needed,
    throughput_ips,
    throughput_qps,
    trusted,
    windows,
)


def test_percentiles_interpolate_between_the_closest_ranks() -> None:
    samples = [float(value) for value in range(1, 102)]
    assert percentile(samples, 50) == 51.0
    assert percentile(samples, 99) == 100.0
    assert percentile([1.0, 2.0], 50) == 1.5


@pytest.mark.parametrize(("q", "needed"), [(50, 2), (90, 10), (95, 20), (99, 100), (99.9, 1000)])
def test_a_percentile_needs_one_sample_beyond_it(q: float, needed: int) -> None:
    assert samples_needed(q) == needed
    assert percentile([1.0] * (needed - 1), q) is None
    assert percentile([1.0] * needed, q) == 1.0
    assert trusted(7.0, q, needed - 1) is None
    assert trusted(7.0, q, needed) == 7.0


@given(st.lists(st.floats(0.01, 1e6), min_size=100, max_size=300))
def test_percentiles_rise_and_stay_within_the_samples(samples: list[float]) -> None:
    found = latency(samples)
    values = [found.p50_ms, found.p90_ms, found.p95_ms, found.p99_ms]
    known = [value for value in values if value is not None]
    assert len(known) == 4
    assert min(samples) <= known[0] <= known[1] <= known[2] <= known[3] <= max(samples)


def test_latency_leaves_out_what_too_few_samples_cannot_tell() -> None:
    found = latency([1.0, 2.0, 6.0])
    assert (found.mean_ms, found.p50_ms, found.p90_ms, found.p99_ms) == (3.0, 2.0, None, None)
    with pytest.raises(ValueError, match="no samples"):
        latency([])


def test_rates_count_requests_and_rows() -> None:
    assert throughput_qps(300, 1.5) == 200.0
    assert throughput_ips(200.0, 8) == 1600.0


def test_windows_count_answers_by_when_they_came() -> None:
    cut = windows([0.1, 0.5, 1.0, 2.9], [10.0, 20.0, 30.0, 40.0], [0.0, 1.0, 2.0, 3.0])
    assert [window.throughput_qps for window in cut] == [2.0, 1.0, 1.0]
    assert [window.latency_mean_ms for window in cut] == [15.0, 30.0, 40.0]


def test_an_empty_window_has_no_rate_and_is_never_stable() -> None:
    cut = windows([0.1, 2.5], [10.0, 10.0], [0.0, 1.0, 2.0, 3.0])
    assert cut[1] == Window(throughput_qps=0.0, latency_mean_ms=0.0)
    assert not is_stable(cut, 0.5)


def _windows(*pairs: tuple[float, float]) -> list[Window]:
    return [Window(throughput_qps=qps, latency_mean_ms=mean) for qps, mean in pairs]


def test_stable_means_that_the_last_three_windows_agree_in_both() -> None:
    steady = [(100.0, 10.0), (105.0, 10.5), (110.0, 11.0)]
    assert is_stable(_windows((1.0, 99.0), *steady), 0.1)
    assert not is_stable(_windows(*steady[:2]), 0.1)
    assert not is_stable(_windows(*steady[:2], (116.0, 10.0)), 0.1)
    assert not is_stable(_windows(*steady[:2], (100.0, 12.0)), 0.1)
