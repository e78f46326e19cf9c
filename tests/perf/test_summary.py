from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from perf.point import Point
from perf.summary import slo_result, summarise
from perf.table import render_run, slo_sentence
from tests.perf.made import header, point, run


def test_the_slo_point_is_the_highest_throughput_within_it() -> None:
    points = [point(1, throughput_qps=100.0), point(2, throughput_qps=180.0), point(4, throughput_qps=250.0)]
    late = point(8, throughput_qps=400.0, latency_p99_ms=30.0)
    result = slo_result([*points, late], 20.0)
    assert result is not None
    assert result.point == points[2]
    assert "250.0 QPS at concurrency 4 (p99 9.5 ms)" in slo_sentence(result)


def test_points_with_errors_or_without_a_p99_do_not_meet_an_slo() -> None:
    result = slo_result([point(1, errors=3), point(2, latency_p99_ms=None)], 20.0)
    assert result is not None
    assert (result.point, result.best_p99_ms) == (None, 9.5)
    nothing = slo_result([point(2, latency_p99_ms=None)], 20.0)
    assert nothing is not None
    assert "not known" in slo_sentence(nothing)


def test_an_slo_that_is_not_met_says_by_how_much() -> None:
    result = slo_result([point(1), point(2, latency_p99_ms=12.0)], 5.0)
    assert result is not None
    assert slo_sentence(result) == "SLO of p99 5 ms: not met at any level, the lowest p99 is 9.5 ms"


def test_without_an_slo_there_is_no_verdict() -> None:
    assert summarise(run(point(1), slo_p99_ms=None)).slo is None


def test_a_clean_run_has_no_warning() -> None:
    assert summarise(run(point(1), point(2))).warnings == ()


def test_requests_that_cannot_be_batched_are_told_apart() -> None:
    apart, joined = point(4, batch_size_mean=1.02), point(8, batch_size_mean=3.0)
    said = summarise(run(point(1, batch_size_mean=1.0), apart, joined, input_shapes=24)).warnings
    assert len(said) == 1
    assert "24 different shapes" in said[0]
    assert said[0].endswith("at concurrency 4.")
    assert summarise(run(apart, input_shapes=1)).warnings == ()
    assert summarise(run(apart, input_shapes=24, max_batch_size=0)).warnings == ()


def test_what_to_mistrust_is_said_errors_first() -> None:
    doubtful = run(
        point(1, errors=2, first_error="queue full"),
        point(2, stable=False, raw=False),
        point(4, n=60, latency_p99_ms=None),
        input_kind="random",
        input_source="8 random rows",
        client="builtin",
        client_why="no perf_analyzer runs here",
    )
    said = summarise(doubtful).warnings
    starts = [
        "2 requests failed at concurrency 1: queue full",
        "The requests are 8 random rows",
        "Measured with the built-in",
    ]
    starts += [
        "Not stable at concurrency 2",
        "Too few samples for a p99 at concurrency 4",
        "Percentiles at concurrency 2",
    ]
    assert [text for text, start in zip(said, starts, strict=True) if not text.startswith(start)] == []
    assert "no perf_analyzer runs here" in said[2]


def _text(*points: Point, **changes: Any) -> str:
    console = Console(width=100, file=io.StringIO())
    with console.capture() as captured:
        console.print(render_run(run(*points, **changes)))
    return captured.get()


def test_the_table_shows_each_point_and_the_results() -> None:
    text = _text(point(1), point(16, throughput_qps=1234.56, latency_p99_ms=None, stable=False))
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "200.5", "5.25", "5.00", "7.00", "9.50", "700", "600", "4200", "1.50", "yes"] in rows
    assert ["16", "1234.6", "5.25", "5.00", "7.00", "-", "700", "600", "4200", "1.50", "no"] in rows
    assert "best throughput: 1234.6 QPS at concurrency 16, not stable" in text
    assert "within the SLO of p99 20 ms: 200.5 QPS at concurrency 1 (p99 9.5 ms)" in text


def test_columns_that_matter_now_and_then_appear_when_they_do() -> None:
    assert "IPS" not in _text(point(1))
    assert "errors" not in _text(point(1))
    assert "errors" in _text(point(1, errors=1))
    assert "IPS" in _text(point(1, batch=4), batch=4)


def test_the_identity_says_what_differs() -> None:
    old, new = header().identity, header(server="triton 2.75.0").identity
    assert old.differences(old) == []
    assert old.differences(new) == ["server: triton 2.51.0, now triton 2.75.0"]
