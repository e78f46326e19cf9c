"""One level with clients that never see an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perf.client import Chosen
from perf.load import Load, Measured
from perf.records import Records
from perf.server_stats import ServerStats
from perf.sweep import measure_level
from perf.target import Target
from tests.perf.test_perf_analyzer_run import _load
from tests.perf.test_records import _measured
from tritonsmith.errors import MeasurementError


class Lives(Target):
    """A server that is there."""

    def __init__(self) -> None:
        """No connection."""

    def is_live(self) -> bool:
        """It is."""
        return True


class Hears:
    """A client that gets its first answer in windows of `enough_ms`."""

    kind, version = "fake", "1"

    def __init__(self, enough_ms: float) -> None:
        self.enough_ms, self.tried_ms = enough_ms, list[int]()

    def measure(self, load: Load, statistics: Callable[[], ServerStats]) -> Measured | None:  # noqa: ARG002  # as clients
        """Note the window."""
        self.tried_ms.append(load.interval_ms)
        return _measured() if load.interval_ms >= self.enough_ms else None


def _tried(interval_ms: int, enough_ms: float) -> list[int]:
    client = Hears(enough_ms)
    load = replace(_load(), interval_ms=interval_ms)
    measure_level(load, Chosen(client, "a fake"), Lives(), Records(Path("none")))
    return client.tried_ms


def test_windows_without_an_answer_are_made_longer() -> None:
    assert _tried(1000, 10_000) == [1000, 4000, 16_000]
    assert _tried(30_000, 60_000) == [30_000, 64_000]


@pytest.mark.parametrize("interval_ms", [64_000, 100_000])
def test_a_window_of_any_length_is_measured_once(interval_ms: int) -> None:
    assert _tried(interval_ms, interval_ms) == [interval_ms]


@pytest.mark.parametrize(("interval_ms", "longest"), [(1000, "64"), (100_000, "100")])
def test_a_model_that_never_answers_is_given_up_on(interval_ms: int, longest: str) -> None:
    with pytest.raises(MeasurementError, match=f"no request was answered within {longest} s at concurrency 2"):
        _tried(interval_ms, float("inf"))
