"""The charts of a run as plain plotly figures: values are taken from the records, none is computed here.

Colours suit a light and a dark page; the page adds those of text and grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perf.point import Point
from perf.run import Run

Figure = dict[str, Any]
Trace = dict[str, Any]

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#4c8dd6", "#e08a2e", "#3fa66b", "#d65a5a", "#9271c9", "#8a8f98"
_PERCENTILES = (
    ("p50", "latency_p50_ms", BLUE),
    ("p90", "latency_p90_ms", GREEN),
    ("p95", "latency_p95_ms", ORANGE),
    ("p99", "latency_p99_ms", RED),
)
_STAGES = (
    ("queue", "queue_us", ORANGE),
    ("input", "compute_input_us", PURPLE),
    ("infer", "compute_infer_us", BLUE),
    ("output", "compute_output_us", GREEN),
    ("outside", "outside_us", GREY),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure with its heading and a sentence on how to read it."""

    name: str
    heading: str
    reading: str
    figure: Figure


def charts(run: Run) -> list[Chart]:
    """The four charts of a run."""
    return [
        Chart(
            name="curve",
            heading="Throughput and latency",
            reading="One dot a level, labelled with its concurrency; hollow ones were not stable. Right is more work, "
            "low is fast; where the line turns up, more load only waits.",
            figure=_curve(run),
        ),
        Chart(
            name="percentiles",
            heading="Latency by concurrency",
            reading="How long the slower requests take. A percentile with too few requests behind it is left out.",
            figure=_lines(run.points),
        ),
        Chart(
            name="split",
            heading="Where a request's time goes",
            reading="Triton's own account of an average request: queue, copying input, running the model, copying "
            "output. Outside is what it does not see: network and client.",
            figure=_split(run.points),
        ),
        Chart(
            name="batches",
            heading="Average batch size",
            reading="Rows per run of the model: above the rows of one request, the dynamic batcher is at work.",
            figure=_batches(run.points),
        ),
    ]


def _curve(run: Run) -> Figure:
    chosen = [row for row in _PERCENTILES if row[0] in {"p50", "p99"}]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers+text" if name == "p99" else "lines+markers",
            "name": name,
            "x": [point.throughput_qps for point in run.points],
            "y": [getattr(point, field) for point in run.points],
            "text": [str(point.concurrency) for point in run.points],
            "textposition": "top center",
            "cliponaxis": False,
            "line": {"color": colour},
            "marker": {"size": 8, "symbol": _symbols(run.points)},
            "hovertemplate": f"concurrency %{{text}}<br>%{{x:.1f}} QPS<br>{name} %{{y:.2f}} ms<extra></extra>",
        }
        for name, field, colour in chosen
    ]
    layout = _layout("requests per second (QPS)", "latency (ms)")
    if run.header.slo_p99_ms is not None and run.header.slo_p99_ms < 2 * _highest(run.points):
        layout |= _slo_line(run.header.slo_p99_ms)
    return {"data": traces, "layout": layout}


def _symbols(points: Sequence[Point]) -> list[str]:
    return ["circle" if point.stable else "circle-open" for point in points]


def _highest(points: Sequence[Point]) -> float:
    """The highest p99: an SLO far above it would flatten the curve for a line that says nothing."""
    return max((point.latency_p99_ms for point in points if point.latency_p99_ms is not None), default=0.0)


def _slo_line(limit_ms: float) -> dict[str, Any]:
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit_ms, "y1": limit_ms}
    label = {"text": f"SLO: p99 {limit_ms:g} ms", "textposition": "start", "yanchor": "top", "font": {"color": RED}}
    return {"shapes": [{**line, "line": {"color": RED, "dash": "dash", "width": 1}, "label": label}]}


def _lines(points: Sequence[Point]) -> Figure:
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": _levels(points),
            "y": [getattr(point, field) for point in points],
            "line": {"color": colour},
            "marker": {"size": 7, "symbol": _symbols(points)},
            "hovertemplate": f"concurrency %{{x}}<br>{name} %{{y:.2f}} ms<extra></extra>",
        }
        for name, field, colour in _PERCENTILES
    ]
    return {"data": traces, "layout": _layout("concurrency", "latency (ms)", categories=True)}


def _split(points: Sequence[Point]) -> Figure:
    traces = [
        _bar(name, _levels(points), [getattr(point, field) for point in points], colour, "%{y:.0f} µs")
        for name, field, colour in _STAGES
    ]
    layout = _layout("concurrency", "microseconds per request", categories=True)
    return {"data": traces, "layout": {**layout, "barmode": "stack"}}


def _batches(points: Sequence[Point]) -> Figure:
    means = [point.batch_size_mean for point in points]
    trace = _bar("average batch", _levels(points), means, BLUE, "%{y:.2f} rows")
    layout = _layout("concurrency", "rows per run of the model", categories=True)
    return {"data": [trace], "layout": {**layout, "showlegend": False}}


def _levels(points: Sequence[Point]) -> list[str]:
    return [str(point.concurrency) for point in points]


def _bar(name: str, x: list[str], y: list[float | None], colour: str, value: str) -> Trace:
    hover = f"concurrency %{{x}}<br>{name} {value}<extra></extra>"
    return {"type": "bar", "name": name, "x": x, "y": y, "marker": {"color": colour}, "hovertemplate": hover}


def _layout(x: str, y: str, *, categories: bool = False) -> dict[str, Any]:
    """Both axes from 0; the page adds the colours of its theme."""
    return {
        "xaxis": {"title": {"text": x}, "automargin": True, **({"type": "category"} if categories else _FROM_ZERO)},
        "yaxis": {"title": {"text": y}, "automargin": True, **_FROM_ZERO},
        "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
        "legend": {"orientation": "h", "traceorder": "normal", "y": 1.02, "yanchor": "bottom", "x": 0},
        "hovermode": "closest",
        "height": 340,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }


_FROM_ZERO = {"rangemode": "tozero"}
