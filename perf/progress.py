"""Who watches a sweep: nobody, or a person at a terminal (a bar, and a line for each point, on stderr)."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from perf.point import Point
from perf.run import Header
from tritonsmith.console import log


class Watcher(Protocol):
    """Is told what a sweep does."""

    def begin(self, header: Header, *, missing: Sequence[int], kept: int) -> None:
        """Which levels are about to be measured, and how many the record has already."""

    def measured(self, point: Point) -> None:
        """A point is on the disk."""


class Silent:
    """A watcher that says nothing."""

    def begin(self, header: Header, *, missing: Sequence[int], kept: int) -> None:
        """Nothing."""

    def measured(self, point: Point) -> None:
        """Nothing."""


class Terminal:
    """A watcher for a person; use it as a context, so that the bar goes away whatever happens."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bar = Progress(*columns, TimeElapsedColumn(), console=log, transient=True, disable=not log.is_terminal)
        self._levels: list[int] = []
        self._task = self._bar.add_task("asking the server", total=None)

    def __enter__(self) -> Terminal:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, header: Header, *, missing: Sequence[int], kept: int) -> None:
        """Say what is measured with what."""
        identity = header.identity
        log.print(
            f"{identity.model} on {identity.server} at {header.url}: {header.input_source}, batch {identity.batch}, "
            f"by {identity.client} {identity.client_version}",
            markup=False,
        )
        if kept:
            rest = "the rest follows" if missing else "--fresh measures again"
            log.print(f"{kept} points are measured already; {rest}", markup=False)
        self._levels = list(missing)
        self._bar.update(self._task, total=len(missing))
        self._next()

    def measured(self, point: Point) -> None:
        """One line, so that the log of a run without a terminal tells the story too."""
        state = "" if point.stable else ", not stable"
        log.print(
            f"concurrency {point.concurrency}: {point.throughput_qps:.1f} QPS, mean {point.latency_mean_ms:.2f} ms, "
            f"{point.n} requests{state}",
            markup=False,
        )
        self._bar.advance(self._task)
        self._levels.pop(0)
        self._next()

    def _next(self) -> None:
        if self._levels:
            self._bar.update(self._task, description=f"concurrency {self._levels[0]}")
