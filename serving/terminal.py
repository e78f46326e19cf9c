"""What `tritonsmith serve` shows while it starts and when it is ready. Remarks go to stderr, the result to stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from serving.example import example_command
from tritonsmith.console import log, out

if TYPE_CHECKING:
    from serving.doctor import Check
    from serving.server import Progress, TritonServer


def remark(text: str) -> None:
    """One line that is no result."""
    log.print(Text(text, style="yellow"))


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """A callback for the start: a moving line in a terminal, one line per model elsewhere."""
    if log.is_terminal:
        with log.status("starting Triton") as status:
            yield lambda progress: status.update(_status(progress))
    else:
        told: set[str] = set()
        yield lambda progress: _tell_loaded(progress, told)


def _status(progress: Progress) -> str:
    ready = f", ready: {', '.join(progress.loaded)}" if progress.loaded else ""
    what = f"loading {', '.join(progress.loading)}" if progress.loading else "starting Triton"
    return f"{what}{ready} ({progress.seconds:.0f} s)"


def _tell_loaded(progress: Progress, told: set[str]) -> None:
    for model in progress.loaded:
        if model not in told:
            told.add(model)
            log.print(f"loaded {model} ({progress.seconds:.1f} s)", markup=False)


def show_ready(server: TritonServer, repository: Path) -> None:
    """The addresses and the models of a server that is ready, and what to try next."""
    out.print(f"Triton {server.version} is ready (pid {server.pid})", markup=False)
    out.print(f"  HTTP     http://{server.http_url}", markup=False)
    out.print(f"  gRPC     {server.grpc_url}", markup=False)
    out.print(f"  metrics  {server.metrics_url}", markup=False)
    models = server.control.models()
    table = Table("model", "version", "state")
    for row in models:
        table.add_row(row["name"], row.get("version", ""), row.get("state", ""))
    out.print(table)
    for row in models[:1]:
        out.print(f"ask it: {example_command(row['name'], repository, server.http_url)}", markup=False)
    out.print("Press Ctrl-C to stop", markup=False)


_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "missing": ("missing", "red")}


def show_checks(checks: list[Check]) -> None:
    """The report of `tritonsmith doctor`: one line a check, the fix below it, the verdict at the end."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark, style = _MARKS[check.state]
        out.print(Text(f"{mark:8}", style=style), Text(f"{check.name:{width}}  {check.found}"))
        if check.fix:
            out.print(Text(f"{'':8} {'':{width}}  fix: {check.fix}", style="cyan"))
    missing = [check.name for check in checks if check.state == "missing"]
    verdict = f"missing: {', '.join(missing)}" if missing else "models can be built and served here"
    out.print(Text(verdict, style="red" if missing else "green"))
