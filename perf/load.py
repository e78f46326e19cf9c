"""One level of closed-loop load, and what a client measured of it; the two clients share these words and rules.

Closed loop: `concurrency` requests are always under way, and each answer starts the next request. It finds what a
server can do, not what users feel when more arrives than it can serve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol as Interface

from perf.input_data import InputData
from perf.server_stats import ServerStats, Split
from perf.statistics import Latency
from tritonsmith.address import Protocol

RAW_LIMIT_BYTES = 16 * 1024
"""perf_analyzer exports every request with its tensors: above this size of a request no raw export is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One level: `batch` rows a request; three windows of `interval_ms`, up to `trials` times until they agree."""

    url: str
    protocol: Protocol
    model: str
    version: str
    concurrency: int
    batch: int
    data: InputData
    request_bytes: int
    interval_ms: int = 1000
    tolerance: float = 0.15
    trials: int = 2

    @property
    def wants_raw(self) -> bool:
        """True when the requests are small enough to export all of them."""
        return self.request_bytes <= RAW_LIMIT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a client saw in its last three windows: `n` answers without an error, in `duration_s` seconds.

    `split` is the client's own account of the server's stages, None when it has none; `server` is what Triton counted
    in the meantime. `raw`: percentiles are from our own copy of all samples.
    """

    duration_s: float
    n: int
    errors: int
    first_error: str | None
    latency: Latency
    stable: bool
    raw: bool
    split: Split | None
    server: ServerStats


class LoadClient(Interface):
    """A source of closed-loop load."""

    @property
    def kind(self) -> str:
        """`perf_analyzer` or `builtin`."""
        ...

    @property
    def version(self) -> str:
        """The version of what sends the requests."""
        ...

    def measure(self, load: Load, statistics: Callable[[], ServerStats]) -> Measured | None:
        """Measure one level; None when a window passed without one answer, so that the windows are too short.

        MeasurementError when the level cannot be measured at all.
        """
        ...
