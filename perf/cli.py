"""`tritonsmith sweep`: parse, measure, print; the work is in `sweep`, `table` and `report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perf.levels import parse_levels
from tritonsmith.address import parse_address
from tritonsmith.errors import MeasurementError, MissingExtra
from tritonsmith.option_types import FiniteRange, Parsed
from tritonsmith.repository import DEFAULT_REPOSITORY
from tritonsmith.signals import signals_as_interrupt

if TYPE_CHECKING:
    from perf.run import Run
    from perf.sweep import SweepOptions


def parse_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`NAME:D1,D2` as a name and sizes; a name may hold colons itself."""
    name, _, sizes = text.rpartition(":")
    parts = sizes.split(",")
    if not name or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise MeasurementError(f"shape {text!r} is not NAME:SIZE,SIZE", hint="for example image:3,224,224")
    return name, tuple(map(int, parts))


_LEVELS = Parsed(parse_levels, "LEVELS")
_SHAPE = Parsed(parse_shape, "NAME:D1,D2")
_ADDRESS = Parsed(parse_address, "HOST:PORT")


@click.command()
@click.argument("model")
@click.option(
    "--concurrency",
    "levels",
    type=_LEVELS,
    default="1:32",
    show_default=True,
    metavar="LEVELS",
    help="1:32 doubles, 4:32:4 steps, 1,2,8 lists.",
)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Rows in each request.")
@click.option("--protocol", type=click.Choice(["grpc", "http"]), default="grpc", show_default=True)
@click.option("--url", type=_ADDRESS, metavar="HOST:PORT", help="[default: 127.0.0.1:8001, over HTTP :8000]")
@click.option("--model-version", default="", help="A version of the model.  [default: the server's choice]")
@click.option(
    "--client",
    type=click.Choice(["auto", "perf_analyzer", "builtin"]),
    default="auto",
    show_default=True,
    help="What sends the load; auto is perf_analyzer where it runs.",
)
@click.option("--input-data", metavar="samples|random|zero|FILE", help="[default: the spec's samples, else random]")
@click.option(
    "--shape", "shapes", type=_SHAPE, multiple=True, metavar="NAME:D1,D2", help="Sizes of made-up input, without batch."
)
@click.option("--repository", type=click.Path(path_type=Path), default=DEFAULT_REPOSITORY, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of record and report.  [default: reports/MODEL]")
@click.option("--fresh", is_flag=True, help="Measure every level anew; the old record is kept beside.")
@click.option(
    "--interval-ms", type=click.IntRange(100), default=1000, show_default=True, help="Length of a measuring window."
)
@click.option(
    "--tolerance",
    type=FiniteRange(min=0.001),
    default=0.15,
    show_default=True,
    help="How far three windows may differ to be stable.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(min=0.1),
    default=60,
    show_default=True,
    help="Seconds for the server's answer to the first request.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record instead of the table.")
def sweep(shapes: tuple[tuple[str, tuple[int, ...]], ...], as_json: bool, **given: Any) -> None:
    """Measure throughput and latency of MODEL at rising concurrency.

    MODEL is a name on the server, a model folder or a spec.yaml. Each point is written at once: after Ctrl-C the same
    command goes on where it stopped.
    """
    names = [name for name, _ in shapes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise click.BadParameter(f"input {twice[0]!r} is given twice; give each input once", param_hint="--shape")
    from perf.sweep import SweepOptions

    with signals_as_interrupt():
        run, report = _measure(SweepOptions(shapes=dict(shapes), **given))
        _show(run, report, as_json=as_json)


def _measure(options: SweepOptions) -> tuple[Run, Path]:
    from perf.progress import Terminal
    from perf.sweep import run_sweep

    with Terminal() as terminal:
        run = run_sweep(options, watcher=terminal)
    return run, (options.out or Path("reports") / run.model) / "index.html"


def _show(run: Run, report: Path, *, as_json: bool) -> None:
    from perf.table import render_run
    from tritonsmith.console import log, out

    try:
        _write(run, report)
        log.print(f"report: {report}", markup=False)
    except MissingExtra as error:
        log.print(f"no HTML report: {error.message}; {error.hint}", markup=False)
    if as_json:
        click.echo(json.dumps(run.to_json(), indent=2))
    else:
        out.print(render_run(run))


def _write(run: Run, report: Path) -> None:
    from perf.report import write_report

    write_report(report, [run], title=f"{run.model} under load")
