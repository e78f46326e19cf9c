"""The HTML report: one file with everything in it, plotly.js too, for one run or several. It computes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from perf.charts import Chart, charts
from perf.columns import COLUMNS
from perf.run import Run
from perf.summary import Summary, summarise
from perf.table import level_of, slo_sentence
from tritonsmith.errors import MeasurementError
from tritonsmith.extras import require
from tritonsmith.files import write_atomic
from tritonsmith.template_files import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the template shows of one run."""

    key: str
    run: Run
    summary: Summary
    slo: str | None
    charts: tuple[Chart, ...]
    rows: tuple[tuple[str, ...], ...]
    facts: tuple[tuple[str, str], ...]


def write_report(path: Path, runs: Sequence[Run], *, title: str) -> None:
    """Write the report of `runs` to `path`, atomically.

    MissingExtra without plotly, MeasurementError without a point.
    """
    write_atomic(path, render_report(runs, title=title))


def render_report(runs: Sequence[Run], *, title: str) -> str:
    """The HTML text."""
    if not any(run.points for run in runs):
        raise MeasurementError("there is nothing to report: no point was measured")
    plotly = require("plotly.offline", extra="perf")
    sections = [_section(index, run) for index, run in enumerate(runs)]
    figures = {f"{section.key}-{chart.name}": chart.figure for section in sections for chart in section.charts}
    return render(
        "report/sweep.html.j2",
        title=title,
        started=_moment(runs[0].header.started),
        sections=sections,
        columns=COLUMNS,
        level_of=level_of,
        plotly_js=Markup(plotly.get_plotlyjs()),  # noqa: S704  # the library's own source
        figures=_script_json(figures),
        records=_script_json([run.to_json() for run in runs]),
    )


def _section(index: int, run: Run) -> Section:
    summary = summarise(run)
    return Section(
        key=f"run-{index}",
        run=run,
        summary=summary,
        slo=slo_sentence(summary.slo) if summary.slo else None,
        charts=tuple(charts(run)),
        rows=tuple(tuple(column.show(point) for column in COLUMNS) for point in run.points),
        facts=tuple(_facts(run)),
    )


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    """What was measured, on what, with what."""
    header, identity = run.header, run.header.identity
    machine = header.machine
    yield "model", f"{identity.model}, version {identity.version}"
    yield "server", f"{identity.server} at {header.url}, {identity.protocol}"
    yield "client", f"{identity.client} {identity.client_version}: {header.client_why}"
    yield "requests", f"made of {header.input_source}, batch {identity.batch}"
    yield "windows", f"three of {identity.interval_ms} ms or longer"
    yield "client's machine", f"{identity.machine}, {machine.get('memory_bytes', 0) / 2**30:.0f} GiB"
    yield "GPUs of that machine", ", ".join(machine.get("gpus", ())) or "none"
    yield "system", f"{machine.get('system', '')}, Python {machine.get('python', '')}"
    yield "packages", ", ".join(f"{name} {version}" for name, version in header.versions.items())
    yield "configuration", f"sha256 {identity.config_sha256[:12]}"
    yield "build", f"sha256 {identity.build[:12]}" if identity.build else "no build.json here"
    yield "started", _moment(header.started)


def _moment(iso: str) -> str:
    return iso.replace("T", " ").replace("+00:00", " UTC")


def _script_json(value: Any) -> Markup:
    """JSON that cannot end the script element that holds it."""
    return Markup(json.dumps(value, allow_nan=False).replace("<", "\\u003c"))  # noqa: S704  # escaped here
