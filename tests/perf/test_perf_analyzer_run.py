"""With a fake perf_analyzer, a shell script that leaves the files of a real one."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perf.input_data import InputData
from perf.load import RAW_LIMIT_BYTES, Load
from perf.perf_analyzer import PerfAnalyzer
from perf.perf_analyzer_run import Files, PerfAnalyzerClient, command, run_group
from perf.server_stats import ServerStats
from tests.perf.test_perf_analyzer import script
from tritonsmith.errors import MeasurementError

RECORDED = Path(__file__).parent / "recorded"
LEAVES_FILES = f"""
echo run >> "$RUNS"
while [ $# -gt 0 ]; do
  case "$1" in
    -f) cp {RECORDED}/report.csv "$2" ;;
    --profile-export-file) cp {RECORDED}/requests.json "$2" ;;
  esac
  shift
done
cat {RECORDED}/stdout.txt
"""


def _load(request_bytes: int = 8, *, tolerance: float = 0.5) -> Load:
    row = {"x": np.zeros(1, np.float32)}
    return Load(
        url="127.0.0.1:8001",
        protocol="grpc",
        model="double",
        version="3",
        concurrency=2,
        batch=2,
        data=InputData(kind="zero", source="zeros", rows=(row, row), batches=True),
        request_bytes=request_bytes,
        interval_ms=100,
        tolerance=tolerance,
    )


class Counters:
    """Statistics that rise by two runs of two rows each time they are asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> ServerStats:
        self.asked += 1
        return ServerStats(
            succeeded=self.asked * 2, inferences=self.asked * 4, executions=self.asked * 2, batches={2: self.asked * 2}
        )


def _client(tmp_path: Path, body: str) -> PerfAnalyzerClient:
    env = {"RUNS": str(tmp_path / "runs")}
    return PerfAnalyzerClient(PerfAnalyzer(path=script(tmp_path / "tool", body), version="2.50.0", env=env))


def test_a_level_is_measured_from_every_request(tmp_path: Path) -> None:
    measured = _client(tmp_path, LEAVES_FILES).measure(_load(), Counters())
    assert measured is not None
    assert (measured.n, measured.raw, measured.stable) == (130, True, True)
    assert measured.latency.mean_ms == pytest.approx(5.465, abs=0.001)
    assert measured.split is not None
    assert measured.split.queue_us == 588
    assert (measured.server.batch_size_mean, measured.server.batches) == (2.0, {2: 2})


def test_large_requests_are_not_exported_and_the_reported_percentiles_are_used(tmp_path: Path) -> None:
    load = _load(RAW_LIMIT_BYTES + 1)
    assert "--profile-export-file" not in command(Path("tool"), load, Files(tmp_path))
    measured = _client(tmp_path, LEAVES_FILES).measure(load, Counters())
    assert measured is not None
    assert (measured.n, measured.raw, measured.latency.p99_ms) == (130, False, 21.577)
    assert measured.n / measured.duration_s == pytest.approx(718.95 / 2)


def test_an_unstable_level_is_tried_again_and_then_recorded_as_such(tmp_path: Path) -> None:
    measured = _client(tmp_path, LEAVES_FILES).measure(_load(tolerance=0.01), Counters())
    assert measured is not None
    assert not measured.stable
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_window_without_an_answer_gives_nothing(tmp_path: Path) -> None:
    body = "echo 'No valid requests recorded within time interval. Please use a larger time window.' >&2; exit 99"
    assert _client(tmp_path, body).measure(_load(), Counters()) is None


def test_a_failed_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="refused a request: no such thing") as caught:
        _client(tmp_path, "echo 'Thread [0] had error: no such thing' >&2; exit 99").measure(_load(), Counters())
    assert "--client builtin" in str(caught.value.hint)


def test_the_command_names_one_level_and_never_lets_it_judge(tmp_path: Path) -> None:
    words = command(Path("tool"), _load(), Files(tmp_path))
    pairs = dict(pairwise(words))
    assert (pairs["-m"], pairs["-x"], pairs["-u"], pairs["-i"]) == ("double", "3", "127.0.0.1:8001", "grpc")
    assert (pairs["--concurrency-range"], pairs["-b"], pairs["--max-trials"]) == ("2", "2", "3")
    assert int(pairs["--stability-percentage"]) > 1000


def test_a_run_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", f"sleep 60 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(MeasurementError, match=r"did not end within 0\.3 s"):
        run_group([str(tool)], dict(os.environ), 0.3)
    child = Path("/proc") / (tmp_path / "child").read_text().strip()
    deadline = time.monotonic() + 5
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_alive(child)


def _is_alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().split()[2] != "Z"
    except OSError:
        return False
