"""Against a real Triton, with the real perf_analyzer. Nothing here judges how fast anything is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from perf.client import choose_client
from perf.perf_analyzer import VARIABLE
from perf.point import Point
from perf.progress import Silent
from perf.records import Records
from perf.run import Header, Run
from perf.summary import summarise
from perf.sweep import SweepOptions, run_sweep
from serving.server import TritonServer
from tests.live_triton import LiveTriton
from tests.perf.served import COUNTER_CODE, COUNTER_CONFIG, write_counter_spec, write_repository
from tests.perf.test_perf_analyzer import TOO_NEW, script
from tritonsmith.cli import main
from tritonsmith.errors import MeasurementError

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def server(triton: LiveTriton, repository: Path) -> Iterator[TritonServer]:
    """The session's server, with both models loaded."""
    names = ("napper", "mute")
    for name in names:
        texts = {file: (repository / name / file).read_text() for file in ("config.pbtxt", "1/model.py")}
        triton.add_python_model(name, texts["config.pbtxt"], texts["1/model.py"])
    yield triton.server
    for name in names:
        triton.remove(name)


def _options(server: TritonServer, repository: Path, out: Path, **changes: Any) -> SweepOptions:
    url = server.http_url if changes.get("protocol") == "http" else server.grpc_url
    given = {"model": "napper", "levels": (1, 4), "url": url, "repository": repository, "out": out, "interval_ms": 200}
    return SweepOptions(**{**given, **changes})


def _check(run: Run, levels: Sequence[int]) -> None:
    """What must hold of any measured run of `napper`, whoever measured it and however fast the machine is."""
    assert [point.concurrency for point in run.points] == list(levels)
    for point in run.points:
        assert point.errors == 0
        assert point.n > 10
        assert point.latency_mean_ms >= 4
        assert point.compute_infer_us is not None
        assert point.compute_infer_us >= 4000
        assert point.batch_size_mean is not None
        assert 1 <= point.batch_size_mean <= 8
        # requests that run across a bound count on one side only
        rows = sum(size * count for size, count in point.batch_sizes.items())
        assert rows >= point.batch * (point.n - point.concurrency)
        # Little's law: requests under way = rate x time
        in_flight = point.throughput_qps * point.latency_mean_ms / 1000
        assert in_flight == pytest.approx(point.concurrency, rel=0.5)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("client", ["perf_analyzer", "builtin"])
def test_both_clients_measure_over_both_protocols(
    server: TritonServer, repository: Path, tmp_path: Path, client: str, protocol: str
) -> None:
    run = run_sweep(_options(server, repository, tmp_path, client=client, protocol=protocol))
    _check(run, (1, 4))
    assert run.header.identity.client == client
    assert run.header.identity.input_kind == "samples"
    assert run.header.input_source == "4 rows of tests.perf.served:samples"
    assert run.points[0].client.startswith(client)
    slo = summarise(run).slo
    assert slo is not None
    assert slo.limit_ms == 10000


def test_the_clients_agree_roughly(server: TritonServer, repository: Path, tmp_path: Path) -> None:
    theirs, ours = (
        run_sweep(_options(server, repository, tmp_path / client, client=client, levels=(1,))).points[0]
        for client in ("perf_analyzer", "builtin")
    )
    assert 0.25 < theirs.throughput_qps / ours.throughput_qps < 4
    assert 0.25 < theirs.latency_mean_ms / ours.latency_mean_ms < 4


def test_a_model_without_a_spec_is_measured_with_random_rows_of_a_given_shape(
    server: TritonServer, tmp_path: Path
) -> None:
    options = _options(server, tmp_path / "no repository", tmp_path, shapes={"x": (5,)}, levels=(2,), batch=4)
    run = run_sweep(options)
    _check(run, (2,))
    assert run.points[0].throughput_ips == run.points[0].throughput_qps * 4
    assert "8 random rows" in summarise(run).warnings[0]


def test_batches_of_samples_of_different_shapes_are_measured(
    server: TritonServer, repository: Path, tmp_path: Path
) -> None:
    run = run_sweep(_options(server, repository, tmp_path, levels=(2,), batch=3))
    assert run.header.input_source.endswith("of which the 2 of the most frequent shape")
    assert run.points[0].batch_size_mean is not None
    assert run.points[0].batch_size_mean >= 3


def _data(path: Path, *values: float) -> str:
    path.write_text(json.dumps({"data": [{"x": {"content": [value], "shape": [1]}} for value in values]}))
    return str(path)


def test_refused_requests_are_counted_by_the_builtin_client_and_end_perf_analyzer(
    server: TritonServer, repository: Path, tmp_path: Path
) -> None:
    data = _data(tmp_path / "half_bad.json", 1.0, -2000.0)
    options = _options(server, repository, tmp_path / "ours", client="builtin", input_data=data, levels=(2,))
    run = run_sweep(options)
    point = run.points[0]
    assert point.n > 0
    assert point.errors > 0
    assert "refused on purpose" in summarise(run).warnings[0]
    with pytest.raises(MeasurementError, match=r"refused a request: .*refused on purpose"):
        run_sweep(_options(server, repository, tmp_path / "theirs", input_data=data, levels=(2,)))


@pytest.mark.parametrize("client", ["perf_analyzer", "builtin"])
def test_windows_that_are_too_short_are_made_longer(
    server: TritonServer, repository: Path, tmp_path: Path, client: str
) -> None:
    data = _data(tmp_path / "slow.json", 1000.0)
    options = _options(
        server, repository, tmp_path, client=client, input_data=data, levels=(1,), interval_ms=100, trials=1
    )
    point = run_sweep(options).points[0]
    assert point.interval_ms >= 400
    assert point.latency_mean_ms >= 300
    assert point.latency_p99_ms is None


def test_an_empty_answer_is_not_measured(server: TritonServer, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="empty output 'y'") as caught:
        run_sweep(_options(server, repository, tmp_path, model="mute", shapes={"x": (4,)}))
    assert "numpy<2" in str(caught.value.hint)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_model_that_is_not_there_lists_those_that_are(
    server: TritonServer, repository: Path, tmp_path: Path, protocol: str
) -> None:
    with pytest.raises(MeasurementError, match="no model 'nope'") as caught:
        run_sweep(_options(server, repository, tmp_path, model="nope", protocol=protocol))
    assert str(caught.value.hint).startswith("ready there: ")
    assert "mute, napper" in str(caught.value.hint)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_the_wrong_port_says_how_to_start_a_server(
    server: TritonServer, repository: Path, tmp_path: Path, protocol: str
) -> None:
    wrong = server.grpc_url if protocol == "http" else server.http_url
    with pytest.raises(MeasurementError, match=f"no Triton answers at {wrong} over {protocol}") as caught:
        run_sweep(_options(server, repository, tmp_path, protocol=protocol, url=wrong))
    assert "tritonsmith serve" in str(caught.value.hint)


@pytest.mark.parametrize("client", ["perf_analyzer", "builtin"])
def test_rows_that_are_scalars_are_measured(triton: LiveTriton, repository: Path, tmp_path: Path, client: str) -> None:
    triton.add_python_model("counter", COUNTER_CONFIG, COUNTER_CODE)
    write_counter_spec(repository)
    options = _options(triton.server, repository, tmp_path, model="counter", levels=(2,), client=client, batch=2)
    run = run_sweep(options)
    assert run.points[0].n > 0
    assert run.points[0].errors == 0
    assert run.header.identity.input_kind == "samples"


def test_a_scheme_in_front_of_the_address_is_left_out(server: TritonServer, repository: Path, tmp_path: Path) -> None:
    url = f"http://{server.http_url}"
    run = run_sweep(_options(server, repository, tmp_path, protocol="http", url=url, levels=(1,)))
    assert (run.header.url, run.header.identity.host) == (server.http_url, "127.0.0.1")


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_model_that_takes_too_long_says_so(
    server: TritonServer, repository: Path, tmp_path: Path, protocol: str
) -> None:
    data = _data(tmp_path / "slow.json", 1000.0)
    options = _options(server, repository, tmp_path, protocol=protocol, input_data=data, timeout_s=0.1)
    with pytest.raises(MeasurementError, match=r"napper did not answer the first request within 0\.1 s"):
        run_sweep(options)


def test_a_second_sweep_into_the_same_folder_is_refused(server: TritonServer, repository: Path, tmp_path: Path) -> None:
    with Records(tmp_path).locked(), pytest.raises(MeasurementError, match="another sweep is writing to"):
        run_sweep(_options(server, repository, tmp_path, fresh=True))
    assert not (tmp_path / "points.jsonl").exists()


def test_a_batch_above_the_models_is_refused(server: TritonServer, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="--batch 9 is more than the 8"):
        run_sweep(_options(server, repository, tmp_path, batch=9))


def test_without_a_perf_analyzer_that_runs_the_builtin_client_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(script(tmp_path / "perf_analyzer", TOO_NEW)))
    chosen = choose_client("auto")
    assert chosen.client.kind == "builtin"
    assert "GLIBC_2.38 not found" in chosen.why
    with pytest.raises(MeasurementError, match=r"GLIBC_2\.38"):
        choose_client("perf_analyzer")


class Kills(Silent):
    """A watcher that kills the server after the first point."""

    def __init__(self, server: TritonServer) -> None:
        self._server = server

    def measured(self, point: Point) -> None:  # noqa: ARG002  # the watcher's signature
        """Kill it."""
        os.kill(self._server.pid, signal.SIGKILL)


class Notes(Silent):
    """A watcher that notes what it is told."""

    def __init__(self) -> None:
        self.missing: list[int] = []

    def begin(self, header: Header, *, missing: Sequence[int], kept: int) -> None:  # noqa: ARG002  # as above
        """Note what is left to measure."""
        self.missing = list(missing)


def test_a_server_that_dies_in_mid_sweep_leaves_the_points_so_far(repository: Path, tmp_path: Path) -> None:
    with TritonServer.start(repository, models=("napper",), exit_timeout_s=2) as dying:
        options = _options(dying, repository, tmp_path, levels=(1, 2, 4))
        with pytest.raises(MeasurementError, match="stopped answering at concurrency 2") as caught:
            run_sweep(options, watcher=Kills(dying))
    assert str(tmp_path / "points.jsonl") in str(caught.value.hint)
    kept = Records(tmp_path).read()
    assert kept is not None
    assert [point.concurrency for point in kept.points] == [1]


def _wait_for_lines(path: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while not path.is_file() or len(path.read_text().splitlines()) < count:
        assert time.monotonic() < deadline, "the sweep wrote nothing"
        time.sleep(0.02)


def _running_loads(url: str) -> list[str]:
    """The command lines of perf_analyzer processes that drive `url`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "perf_analyzer" in words[0] and url in words:
            found.append(" ".join(words))
    return found


@pytest.mark.parametrize(
    ("number", "client"),
    [(signal.SIGINT, "perf_analyzer"), (signal.SIGTERM, "perf_analyzer"), (signal.SIGTERM, "builtin")],
)
def test_an_interrupted_sweep_leaves_nothing_behind_and_goes_on(
    server: TritonServer, repository: Path, tmp_path: Path, number: signal.Signals, client: str
) -> None:
    words = ["sweep", "napper", "--url", server.grpc_url, "--repository", str(repository), "--out", str(tmp_path)]
    words += ["--interval-ms", "200", "--client", client, "--concurrency"]
    command = [sys.executable, "-m", "tritonsmith.cli", *words, "1:16"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    _wait_for_lines(tmp_path / "points.jsonl", 2)
    time.sleep(0.3)  # so that a perf_analyzer is under way
    process.send_signal(number)
    assert process.wait(20) == 130
    assert process.stderr is not None
    assert process.stderr.read().endswith("interrupted\n")
    process.stderr.close()
    assert _running_loads(server.grpc_url) == []
    before = Records(tmp_path).read()
    assert before is not None
    done = [point.concurrency for point in before.points]
    notes = Notes()
    after = run_sweep(_options(server, repository, tmp_path, levels=(1, 2), client=client), watcher=notes)
    assert notes.missing == [level for level in (1, 2) if level not in done]
    assert after.points[0] == before.points[0]
    _check(after, (1, 2))


def test_the_command_writes_record_and_report_and_prints_the_table(
    server: TritonServer, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "napper", "--url", server.grpc_url, "--repository", str(repository), "--out", str(tmp_path)]
    words += ["--interval-ms", "200", "--concurrency", "2"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "best throughput" in printed
    assert "within the SLO of p99 10000 ms" in printed
    assert (tmp_path / "index.html").stat().st_size > 1_000_000
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    recorded = Records(tmp_path).read()
    assert recorded is not None
    assert record == recorded.to_json()
    assert main([*words, "--batch", "2"]) == 1
    assert "was measured on something else (batch: 1, now 2" in capsys.readouterr().err
