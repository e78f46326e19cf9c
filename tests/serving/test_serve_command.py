"""`tritonsmith serve` as people use it: started, interrupted, killed, and with things that are wrong."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from serving.workplace import SHARED_MEMORY
from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, write_model
from tritonsmith.cli import main

TRITONSMITH = [sys.executable, "-m", "tritonsmith.cli"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one good model."""
    write_model(tmp_path / "models" / "double", DOUBLE_CONFIG, {"1/model.py": DOUBLE_CODE})
    return tmp_path / "models"


class Serving:
    """A `tritonsmith serve` in another process."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*TRITONSMITH, "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200"},
        )
        self.output = ""

    def read_until(self, text: str) -> None:
        """Read lines until one holds `text`; the test fails when the output ends before."""
        assert self.process.stdout is not None
        while text not in self.output:
            line = self.process.stdout.readline()
            assert line, f"ended without {text!r}: {self.output}"
            self.output += line

    def server_pid(self) -> int:
        """The pid that is printed."""
        match = re.search(r"\(pid (\d+)\)", self.output)
        assert match is not None, self.output
        return int(match[1])

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        self.output += self.process.communicate(timeout=30)[0]
        return self.process.returncode

    def traces(self) -> list[Path]:
        """Shared memory and folders of that process that are still there."""
        mine = f"tritonsmith-*-{self.process.pid}-*"
        return [*SHARED_MEMORY.glob(mine), *Path(os.environ.get("TMPDIR", "/tmp")).glob(mine)]  # noqa: S108  # looked at only


Serve = Callable[..., Serving]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start `tritonsmith serve`; whatever still runs at the end is ended."""
    started: list[Serving] = []

    def begin(*arguments: str) -> Serving:
        started.append(Serving(*arguments))
        return started[-1]

    yield begin
    for serving in started:
        serving.process.kill()
        serving.process.communicate(timeout=10)


def wait_until(condition: Callable[[], bool], timeout_s: float = 15) -> None:
    """Wait for a condition; the test fails when it does not come about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """True while the process is there."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.server
def test_it_tells_where_it_is_and_stops_on_ctrl_c(serve: Serve, repository: Path) -> None:
    (repository / "digits").mkdir()
    (repository / "digits" / "spec.yaml").write_text("name: digits")
    serving = serve(str(repository), "--free-ports")
    serving.read_until("Press Ctrl-C to stop")

    assert re.search(r"HTTP +http://127\.0\.0\.1:\d+", serving.output)
    assert re.search(r"double .* READY", serving.output)
    assert "digits is not built, so it is left out: build-engine digits" in serving.output
    assert "ask it: tritonsmith infer double --input 'x=[0.0]' --url 127.0.0.1:" in serving.output
    assert serving.end(signal.SIGINT) == 0
    assert not is_running(serving.server_pid())
    assert serving.traces() == []


@pytest.mark.server
def test_it_stops_on_sigterm_and_its_ports_are_taken_until_then(serve: Serve, repository: Path) -> None:
    serving = serve(str(repository), "--free-ports")
    serving.read_until("Press Ctrl-C to stop")
    port = re.findall(r"127\.0\.0\.1:(\d+)", serving.output)[0]

    second = serve(str(repository), "--http-port", port, "--grpc-port", "0", "--metrics-port", "0")
    assert second.process.wait(20) == 1
    assert second.process.stdout is not None
    assert f"error: port {port} is in use by tritonserver (pid {serving.server_pid()})" in second.process.stdout.read()

    assert serving.end(signal.SIGTERM) == 0
    assert serving.traces() == []


@pytest.mark.server
def test_a_command_that_is_killed_takes_the_server_with_it(serve: Serve, repository: Path) -> None:
    serving = serve(str(repository), "--free-ports")
    serving.read_until("Press Ctrl-C to stop")

    serving.end(signal.SIGKILL)

    wait_until(lambda: not is_running(serving.server_pid()))
    wait_until(lambda: serving.traces() == [])


@pytest.mark.server
def test_a_server_that_is_killed_ends_the_command_with_an_error(serve: Serve, repository: Path) -> None:
    serving = serve(str(repository), "--free-ports")
    serving.read_until("Press Ctrl-C to stop")

    os.kill(serving.server_pid(), signal.SIGKILL)

    assert serving.process.wait(20) == 1
    serving.read_until("error: Triton was killed by SIGKILL")
    assert "Traceback" not in serving.output
    assert serving.traces() == []


@pytest.mark.server
def test_ctrl_c_while_it_loads_leaves_nothing(serve: Serve, tmp_path: Path) -> None:
    code = DOUBLE_CODE + "    def initialize(self, args):\n        import time; time.sleep(600)\n"
    write_model(tmp_path / "slow", DOUBLE_CONFIG, {"1/model.py": code})
    serving = serve(str(tmp_path), "--free-ports")
    wait_until(lambda: any("tritonsmith" in path.name for path in serving.traces() if path.parent == SHARED_MEMORY))

    assert serving.end(signal.SIGINT) == 130
    assert serving.output.strip().endswith("interrupted")
    assert serving.traces() == []


@pytest.mark.server
def test_a_damaged_onnx_file_is_named_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = DOUBLE_CONFIG.replace('"python"', '"onnxruntime"')
    write_model(tmp_path / "damaged", config, {"1/model.onnx": b"no protobuf"})

    code = main(["serve", str(tmp_path), "--free-ports"])
    said = capsys.readouterr().err.strip().splitlines()

    assert code == 1
    assert said[0] == (
        f"error: model 'damaged' did not load: onnx runtime error 7: Load model from {tmp_path}/damaged/1/model.onnx "
        "failed:Protobuf parsing failed."
    )
    assert said[1] == "hint: the ONNX file is damaged; build it again: build-engine damaged"
    assert len(said) == 2


def run_serve(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a serve that does not come to starting anything."""
    code = main(["serve", *arguments])
    return code, capsys.readouterr().err


def test_a_repository_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = run_serve(capsys, str(tmp_path / "none"))

    assert code == 1
    assert said.startswith(f"error: there is no model repository at {tmp_path}/none\nhint: ")


def test_an_empty_repository_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = run_serve(capsys, str(tmp_path))

    assert code == 1
    assert f"error: {tmp_path} holds no model that is built\n" in said


def test_a_missing_model_py_is_one_line(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    (repository / "double" / "1" / "model.py").unlink()

    code, said = run_serve(capsys, str(repository), "--free-ports")

    assert code == 1
    assert said.startswith("error: model 'double' has no 1/model.py: Triton would wait for it for ever\nhint: ")


def test_an_unknown_model_is_one_line(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    assert run_serve(capsys, str(repository), "--model", "dubble") == (
        1,
        f"error: there is no model 'dubble' in {repository}\nhint: there: double\n",
    )


def test_an_unreadable_config_is_one_line(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    (repository / "double" / "config.pbtxt").write_text("backend: [")

    code, said = run_serve(capsys, str(repository), "--free-ports")

    assert code == 1
    assert said.startswith(f"error: {repository}/double/config.pbtxt:1:")


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = run_serve(capsys, str(repository), "--http-port", str(port), "--grpc-port", "0")

    assert code == 1
    assert said.startswith(f"error: port {port} is in use by ")
    assert "--free-ports" in said


def test_an_open_address_is_remarked_on(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    code, said = run_serve(capsys, str(repository), "--address", "192.0.2.1")

    assert code == 1
    assert "whoever reaches this machine can send requests" in said
    assert "error: cannot listen on '192.0.2.1': it is no address of this machine" in said


def test_a_port_that_cannot_be_is_wrong_usage(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    assert run_serve(capsys, str(repository), "--http-port", "99999")[0] == 2


def test_numpy_2_is_found_before_the_start(tmp_path: Path, repository: Path) -> None:
    """A distribution that says it is numpy 2 comes first on sys.path."""
    metadata = tmp_path / "path" / "numpy-2.1.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.1.0\n")

    ended = subprocess.run(
        [*TRITONSMITH, "serve", str(repository), "--free-ports"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "path")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("error: numpy 2.1.0 makes this Triton send empty outputs")
    assert "hint: pip install 'numpy<2'" in ended.stderr
