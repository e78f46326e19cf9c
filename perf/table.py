"""The points of a run as a table in the terminal; every number comes from the record."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perf.columns import COLUMNS, Column
from perf.point import Point
from perf.run import Run
from perf.summary import SloResult, Summary, summarise


def render_run(run: Run) -> RenderableType:
    """Table, best throughput, SLO point and warnings."""
    summary = summarise(run)
    lines = [*_results(summary), *(Text(f"warning: {text}", style="yellow") for text in summary.warnings)]
    return Group(_table(run), *lines)


def _table(run: Run) -> Table:
    identity = run.header.identity
    client = f"{identity.client} {identity.client_version}"
    title = f"{identity.model} · {identity.protocol} · batch {identity.batch} · {client}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown = [column for column in COLUMNS if _is_worth_a_column(column, run)]
    for column in shown:
        title = (column.narrow or column.title).replace(" ", "\n")
        widest = max([*map(len, title.split("\n")), *(len(column.show(point)) for point in run.points)])
        table.add_column(title, justify="right", no_wrap=True, min_width=widest)
    for point in run.points:
        table.add_row(*(column.show(point) for column in shown), style="" if point.stable else "yellow")
    return table


def _is_worth_a_column(column: Column, run: Run) -> bool:
    """A terminal is narrow: columns that would only repeat themselves are left to the report."""
    needed = {
        "latency_p90_ms": False,
        "throughput_ips": run.header.identity.batch > 1,
        "errors": any(point.errors for point in run.points),
    }
    return needed.get(column.field, True)


def _results(summary: Summary) -> list[Text]:
    lines = []
    if summary.best:
        best = summary.best
        lines.append(Text(f"best throughput: {best.throughput_qps:.1f} QPS at {level_of(best)}"))
    if summary.slo:
        lines.append(Text(slo_sentence(summary.slo)))
    return lines


def level_of(point: Point) -> str:
    """`concurrency 8`, and whether it was stable."""
    return f"concurrency {point.concurrency}{'' if point.stable else ', not stable'}"


def slo_sentence(slo: SloResult) -> str:
    """What the sweep says about the SLO, in one sentence."""
    if slo.point is not None:
        return (
            f"within the SLO of p99 {slo.limit_ms:g} ms: {slo.point.throughput_qps:.1f} QPS at {level_of(slo.point)} "
            f"(p99 {slo.point.latency_p99_ms:.1f} ms)"
        )
    if slo.best_p99_ms is None:
        return f"SLO of p99 {slo.limit_ms:g} ms: not known, no level has enough samples for a p99"
    return f"SLO of p99 {slo.limit_ms:g} ms: not met at any level, the lowest p99 is {slo.best_p99_ms:.1f} ms"
