"""Measuring one level with the real perf_analyzer: one process, its own process group, gone on any way out.

It is asked for three windows and never to judge them: an unstable level would leave no file. Stability is judged here,
by the same rule as for the built-in client.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perf.load import Load, Measured
from perf.perf_analyzer import PerfAnalyzer
from perf.perf_analyzer_output import (
    Summary,
    explain,
    found_no_requests,
    latency_of,
    parse_csv,
    parse_export,
    parse_passes,
    parse_request_count,
)
from perf.server_stats import ServerStats
from perf.statistics import is_stable, latency
from tritonsmith.errors import MeasurementError
from tritonsmith.files import readable_disk_errors
from tritonsmith.runtime import cpu_count

_NEVER_REFUSE = "100000"  # percent


@dataclass(frozen=True, slots=True)
class Files:
    """What one run reads and leaves."""

    folder: Path

    @property
    def data(self) -> Path:
        """The input data."""
        return self.folder / "input.json"

    @property
    def csv(self) -> Path:
        """The report."""
        return self.folder / "report.csv"

    @property
    def export(self) -> Path:
        """Every request; perf_analyzer refuses a file that is there already."""
        return self.folder / "requests.json"


@dataclass(frozen=True, slots=True)
class PerfAnalyzerClient:
    """The load client that runs perf_analyzer."""

    tool: PerfAnalyzer

    @property
    def kind(self) -> str:
        """The client's name in records."""
        return "perf_analyzer"

    @property
    def version(self) -> str:
        """The version of the binary."""
        return self.tool.version

    def measure(self, load: Load, statistics: Callable[[], ServerStats]) -> Measured | None:
        """Run it until three windows agree, at most `load.trials` times; the last run is the result."""
        measured = None
        for _ in range(load.trials):
            with tempfile.TemporaryDirectory(prefix="perf_analyzer-") as folder:
                measured = self._run(load, Files(Path(folder)), statistics)
            if measured is None or measured.stable:
                break
        return measured

    def _run(self, load: Load, files: Files, statistics: Callable[[], ServerStats]) -> Measured | None:
        with readable_disk_errors(files.data):
            files.data.write_text(load.data.to_perf_analyzer())
        before = statistics()
        done = run_group(command(self.tool.path, load, files), self.tool.environment(), _timeout_s(load))
        if found_no_requests(done.stdout + done.stderr):
            return None
        if done.returncode != 0:
            raise explain(done.stdout, done.stderr, done.returncode)
        server = statistics().since(before)
        summary = parse_csv(files.csv.read_text())
        make = _from_samples if load.wants_raw else _from_summary
        return make(load, files, summary, done.stdout, server)


def command(binary: Path, load: Load, files: Files) -> list[str]:
    """The command line: one level, three windows, the report, and every request where they are small.

    Half of the cores send, whatever the level: left alone it takes a thread for each concurrent request, which on a
    machine that it shares with the server tears batches apart (seen: 560 instead of 709 requests/s).
    """
    export = ["--profile-export-file", str(files.export)] if load.wants_raw else []
    version = ["-x", load.version] if load.version else []
    return [
        str(binary), "-v", "-m", load.model, *version, "-u", load.url, "-i", load.protocol, "--async",
        "--max-threads", str(max(1, cpu_count() // 2)),
        "--concurrency-range", str(load.concurrency), "-b", str(load.batch), "--input-data", str(files.data),
        "--measurement-interval", str(load.interval_ms), "--max-trials", "3",
        "--stability-percentage", _NEVER_REFUSE, "-f", str(files.csv), "--verbose-csv", *export,
    ]  # fmt: skip


def _timeout_s(load: Load) -> float:
    """Three windows take 1.2 intervals each, and the requests under way are waited for; the rest is grace."""
    return 60 + 6 * load.interval_ms / 1000


def run_group(command: list[str], env: dict[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a program in a process group of its own; whatever ends the wait, Ctrl-C too, ends the whole group."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(
                f"perf_analyzer did not end within {timeout_s:g} s", hint="is the server still answering? see its log"
            ) from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _from_samples(load: Load, files: Files, summary: Summary, _stdout: str, server: ServerStats) -> Measured:
    samples = parse_export(files.export.read_text())
    return Measured(
        duration_s=samples.duration_s,
        n=len(samples.latencies_ms),
        errors=server.failed,
        first_error=None,
        latency=latency(samples.latencies_ms),
        stable=is_stable(samples.windows(), load.tolerance),
        raw=True,
        split=summary.split,
        server=server,
    )


def _from_summary(load: Load, _files: Files, summary: Summary, stdout: str, server: ServerStats) -> Measured:
    n = parse_request_count(stdout)
    return Measured(
        duration_s=n * load.batch / summary.inferences_per_s,
        n=n,
        errors=server.failed,
        first_error=None,
        latency=latency_of(summary, n),
        stable=is_stable(parse_passes(stdout, load.batch), load.tolerance),
        raw=False,
        split=summary.split,
        server=server,
    )
