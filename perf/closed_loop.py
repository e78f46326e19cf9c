"""The built-in closed-loop client, over tritonclient's asyncio clients, for where perf_analyzer cannot run.

It is written in Python: from some thousand requests a second on it, and not the server, may be what is measured.
Failed requests are counted, and never as fast answers.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from perf.load import Load, Measured
from perf.server_stats import ServerStats
from perf.statistics import Window, is_stable, latency, windows
from perf.target import PROTOCOLS, TIMEOUT_S, failures, infer_input, one_line
from tritonsmith.errors import MeasurementError
from tritonsmith.runtime import package_version

WARM_UP_S = 0.5
_PAUSE_S = 0.01  # after a failure, so that refusals do not become a storm


@dataclass(slots=True)
class Log:
    """The answers as they come: the moment of each, its latency, and the moments of failures."""

    ends_s: list[float] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    failures_s: list[float] = field(default_factory=list)
    first_error: str | None = None

    def answered(self, start_s: float, end_s: float) -> None:
        """Note an answer without an error."""
        self.ends_s.append(end_s)
        self.latencies_ms.append((end_s - start_s) * 1000)

    def failed(self, end_s: float, error: Exception) -> None:
        """Note a failure; its latency is nobody's business."""
        self.failures_s.append(end_s)
        self.first_error = self.first_error or one_line(error)

    def between(self, start_s: float, stop_s: float) -> tuple[list[float], int]:
        """Latencies of the answers, and the number of failures, from `start_s` up to `stop_s`."""
        inside = [value for end, value in zip(self.ends_s, self.latencies_ms, strict=True) if start_s <= end < stop_s]
        return inside, sum(start_s <= end < stop_s for end in self.failures_s)


@dataclass(slots=True)
class Marks:
    """The bounds of the windows so far, and Triton's counters at each."""

    bounds_s: list[float] = field(default_factory=list)
    counters: list[ServerStats] = field(default_factory=list)


class ClosedLoop:
    """The load client of our own."""

    @property
    def kind(self) -> str:
        """The client's name in records."""
        return "builtin"

    @property
    def version(self) -> str:
        """The version of the library that sends the requests."""
        return f"tritonclient {package_version('tritonclient')}"

    def measure(self, load: Load, statistics: Callable[[], ServerStats]) -> Measured | None:
        """Warm up, then measure windows until the last three agree, at most `3 * load.trials` of them."""
        log, marks = asyncio.run(_drive(load, statistics))
        start, stop = marks.bounds_s[-4], marks.bounds_s[-1]
        latencies, errors = log.between(start, stop)
        if not latencies and errors:
            raise MeasurementError(f"every request failed: {log.first_error}", hint="see the server's log")
        cut = _windows(log, marks)
        if any(window.throughput_qps == 0 for window in cut[-3:]):
            return None
        return Measured(
            duration_s=stop - start,
            n=len(latencies),
            errors=errors,
            first_error=log.first_error if errors else None,
            latency=latency(latencies),
            stable=is_stable(cut, load.tolerance),
            raw=True,
            split=None,
            server=marks.counters[-1].since(marks.counters[-4]),
        )


async def _drive(load: Load, statistics: Callable[[], ServerStats]) -> tuple[Log, Marks]:
    """Keep `concurrency` requests under way while the windows pass; what is under way at the end is dropped."""
    library = importlib.import_module(PROTOCOLS[load.protocol])
    log, marks = Log(), Marks()
    client = _connect(load)
    requests = [[infer_input(library, *item) for item in request.items()] for request in load.data.requests(load.batch)]
    workers = [
        asyncio.create_task(_work(client, load, islice(cycle(requests), index, None), log))
        for index in range(load.concurrency)
    ]
    try:
        await asyncio.sleep(WARM_UP_S)
        await _measure_windows(load, log, marks, statistics)
        for worker in workers:
            if worker.done():
                worker.result()  # it ended by an error that is no failed request
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await client.close()
    return log, marks


def _connect(load: Load) -> Any:
    library = importlib.import_module(f"{PROTOCOLS[load.protocol]}.aio")
    limits = {"conn_limit": load.concurrency, "conn_timeout": TIMEOUT_S} if load.protocol == "http" else {}
    return library.InferenceServerClient(load.url, **limits)


async def _work(client: Any, load: Load, requests: Iterator[list[Any]], log: Log) -> None:
    """One of the concurrent users: the next request goes out when the last was answered."""
    expected = failures()
    limit = {"client_timeout": TIMEOUT_S} if load.protocol == "grpc" else {}  # over HTTP the connection has it
    for inputs in requests:
        start = time.perf_counter()
        try:
            await client.infer(load.model, inputs, model_version=load.version, **limit)
        except expected as error:
            log.failed(time.perf_counter(), error)
            await asyncio.sleep(_PAUSE_S)
        else:
            log.answered(start, time.perf_counter())


async def _measure_windows(load: Load, log: Log, marks: Marks, statistics: Callable[[], ServerStats]) -> None:
    _mark(marks, statistics)
    for count in range(1, 3 * load.trials + 1):
        await asyncio.sleep(load.interval_ms / 1000)
        _mark(marks, statistics)
        if count >= 3 and is_stable(_windows(log, marks), load.tolerance):
            return


def _mark(marks: Marks, statistics: Callable[[], ServerStats]) -> None:
    """Note the moment and the counters. The load waits for the answer, a few milliseconds once a window.

    Not in a thread: tritonclient's HTTP client is bound to the thread that made it.
    """
    marks.bounds_s.append(time.perf_counter())
    marks.counters.append(statistics())


def _windows(log: Log, marks: Marks) -> list[Window]:
    return windows(log.ends_s, log.latencies_ms, marks.bounds_s)
