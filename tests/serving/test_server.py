"""A real Triton: started, asked, changed, broken and stopped."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from serving.client import Client
from serving.server import Progress, TritonServer
from serving.workplace import SHARED_MEMORY
from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, PROTOCOLS, LiveTriton, write_model
from tests.python_backend import onnx_models
from tritonsmith.errors import RepositoryError, RequestError, ServerError

pytestmark = pytest.mark.server

X = np.array([[1, 2, 3]], dtype=np.float32)
IN_INITIALIZE = """
import os, signal, time

class TritonPythonModel:
    def initialize(self, args):
        {body}

    def execute(self, requests):
        return []
"""


@pytest.fixture(autouse=True)
def leaves_nothing() -> Iterator[None]:
    """After each test no process, no shared memory and no folder of ours is there that was not before."""
    before = traces()
    yield
    assert traces() - before == set()


def traces() -> set[Path]:
    """Temporary folders and shared memory of this process, and the regions whose names do not tell whose they are."""
    mine, anyones = f"tritonsmith-*-{os.getpid()}-*", "triton_*_backend_shm_region_*"
    temporary = Path(tempfile.gettempdir())
    return {*SHARED_MEMORY.glob(mine), *SHARED_MEMORY.glob(anyones), *temporary.glob(mine)}


def write_double(repository: Path, name: str = "double") -> None:
    """A model that doubles."""
    write_model(repository / name, DOUBLE_CONFIG, {"1/model.py": DOUBLE_CODE})


def write_broken(repository: Path, body: str, name: str = "broken") -> None:
    """A model that does something when it is loaded."""
    write_model(repository / name, DOUBLE_CONFIG, {"1/model.py": IN_INITIALIZE.format(body=body)})


def is_running(pid: int) -> bool:
    """True while the process is there."""
    return Path(f"/proc/{pid}").exists()


def test_a_server_answers_over_both_protocols_and_leaves_nothing(tmp_path: Path) -> None:
    write_double(tmp_path)
    (tmp_path / "not_built").mkdir()
    progress: list[Progress] = []

    with TritonServer.start(tmp_path, on_progress=progress.append) as server:
        for protocol, url in (("http", server.http_url), ("grpc", server.grpc_url)):
            with Client(url, protocol=protocol, timeout_s=20) as client:  # type: ignore[arg-type]  # a literal above
                assert client.infer("double", {"x": X})["y"].tolist() == [[2, 4, 6]]
        with urllib.request.urlopen(server.metrics_url, timeout=5) as metrics:  # noqa: S310  # our own server
            assert b'nv_inference_request_success{model="double"' in metrics.read()
        assert server.version.startswith("2.")
        assert server.is_alive()

    assert not server.is_alive()
    assert not is_running(server.pid)
    assert not server.log_path.exists()
    assert "double" in progress[-1].loaded + progress[-1].loading


def test_the_hosts_config_is_served_and_config_pbtxt_where_there_is_none(tmp_path: Path) -> None:
    write_double(tmp_path, "plain")
    write_double(tmp_path, "hosted")
    small = DOUBLE_CONFIG.replace("max_batch_size: 4", "max_batch_size: 2")
    (tmp_path / "hosted" / "configs").mkdir()
    (tmp_path / "hosted" / "configs" / "cpu.pbtxt").write_text(small)

    with TritonServer.start(tmp_path, config_name="cpu") as server, Client(server.http_url) as client:
        assert client.metadata("hosted").max_batch_size == 2
        assert client.metadata("plain").max_batch_size == 4


def test_one_model_of_several_can_be_served(tmp_path: Path) -> None:
    write_double(tmp_path, "good")
    write_broken(tmp_path, "raise ValueError('no weights here')")

    with TritonServer.start(tmp_path, models=("good", "good")) as server:
        assert [row["name"] for row in server.control.models()] == ["good"]

    with pytest.raises(ServerError) as caught:
        TritonServer.start(tmp_path)

    assert caught.value.message == "model 'broken' did not load: ValueError: no weights here (model.py:6)"
    assert caught.value.hint == "the others alone: --model good"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(3)", "model 'broken' did not load: Stub process 'broken_0_0' is not healthy"),
        ("os.kill(os.getppid(), signal.SIGKILL)", "Triton was killed by SIGKILL .* while loading 'broken'"),
    ],
)
def test_a_death_while_loading_is_noticed_at_once(tmp_path: Path, body: str, said: str) -> None:
    write_broken(tmp_path, body)
    began = time.monotonic()

    with pytest.raises(ServerError, match=said):
        TritonServer.start(tmp_path, ready_timeout_s=60)

    assert time.monotonic() - began < 20


def test_a_model_that_never_ends_loading_is_named_when_the_time_is_up(tmp_path: Path) -> None:
    write_broken(tmp_path, "time.sleep(600)")

    with pytest.raises(ServerError, match=r"not ready after 3 s: still loading 'broken'"):
        TritonServer.start(tmp_path, ready_timeout_s=3)


def test_ctrl_c_while_loading_stops_everything(tmp_path: Path) -> None:
    write_broken(tmp_path, "time.sleep(600)")

    def interrupt(progress: Progress) -> None:
        if progress.loading:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TritonServer.start(tmp_path, on_progress=interrupt)


def test_an_unknown_option_is_named(tmp_path: Path) -> None:
    write_double(tmp_path)

    with pytest.raises(ServerError, match="does not know the option --zork"):
        TritonServer.start(tmp_path, extra_args=("--zork=1",))


def test_an_idle_connection_holds_the_exit_up_for_its_timeout_only(tmp_path: Path) -> None:
    client = None
    with TritonServer.start(tmp_path, model_control="explicit", exit_timeout_s=1) as server:
        client = Client(server.http_url)
        client.models()
        began = time.monotonic()
    client.close()

    assert time.monotonic() - began < 10
    assert not is_running(server.pid)


def write_both(repository: Path) -> None:
    """A Python model and one of the portable backend, whose shared memory is called otherwise."""
    write_double(repository)
    write_model(repository / "onnx", 'backend: "onnxruntime"', {"1/model.onnx": onnx_models.affine()})


def test_a_server_that_is_killed_is_noticed_and_cleaned_up(tmp_path: Path) -> None:
    write_both(tmp_path)
    with TritonServer.start(tmp_path, log_path=tmp_path / "triton.log") as server:
        os.kill(server.pid, signal.SIGKILL)

        with pytest.raises(ServerError, match="was killed by SIGKILL"):
            server.wait()

        assert not server.is_alive()

    assert "successfully loaded 'double'" in (tmp_path / "triton.log").read_text()


def test_a_guard_that_is_killed_takes_the_server_with_it(tmp_path: Path) -> None:
    write_both(tmp_path)
    with TritonServer.start(tmp_path) as server:
        guard = int(Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guard, signal.SIGKILL)

        with pytest.raises(ServerError, match="was killed by SIGKILL"):
            server.wait()


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="cannot write the log"):
        TritonServer.start(tmp_path, model_control="explicit", log_path=tmp_path / "none" / "triton.log")


def test_a_model_is_loaded_changed_and_unloaded(triton: LiveTriton) -> None:
    triton.add_python_model("changing", DOUBLE_CONFIG, DOUBLE_CODE)
    assert triton.infer("changing", {"x": X})["y"].tolist() == [[2, 4, 6]]

    triton.add_python_model("changing", DOUBLE_CONFIG, DOUBLE_CODE.replace("array * 2", "array * 3"))
    for protocol in PROTOCOLS:
        assert triton.infer("changing", {"x": X}, protocol)["y"].tolist() == [[3, 6, 9]]

    triton.server.unload("changing")
    with pytest.raises(RequestError, match="changing"):
        triton.infer("changing", {"x": X})


@pytest.mark.parametrize(
    ("config", "code", "said"),
    [
        ("nonsense: 3" + DOUBLE_CONFIG, DOUBLE_CODE, r'config\.pbtxt:1:9: .*no field named "nonsense"'),
        ('name: "other"' + DOUBLE_CONFIG, DOUBLE_CODE, "unexpected directory name 'refused' for model 'other'"),
        (DOUBLE_CONFIG, "import no_such_module", r"No module named 'no_such_module' \(model.py:1\)"),
        (DOUBLE_CONFIG, "class Nothing: pass", "no attribute 'TritonPythonModel'"),
        (DOUBLE_CONFIG.replace("KIND_CPU", "KIND_GPU"), DOUBLE_CODE, "no GPUs are available"),
        (DOUBLE_CONFIG.replace('"python"', '"zork"'), DOUBLE_CODE, "unable to find backend library"),
    ],
)
def test_a_refused_model_comes_with_the_logs_reason(triton: LiveTriton, config: str, code: str, said: str) -> None:
    with pytest.raises(ServerError, match=said) as caught:
        triton.add_python_model("refused", config, code)

    assert caught.value.message.startswith("model 'refused' did not load: ")
    shutil.rmtree(triton.repository / "refused")


def test_a_missing_model_py_is_refused_where_triton_would_hang(triton: LiveTriton) -> None:
    with pytest.raises(RepositoryError, match="Triton would wait for it for ever"):
        triton.add_model("hangs", DOUBLE_CONFIG, {})

    shutil.rmtree(triton.repository / "hangs")
    assert triton.server.is_alive()


def test_a_model_that_is_not_there_cannot_be_loaded(triton: LiveTriton) -> None:
    with pytest.raises(ServerError, match="model 'nowhere' did not load"):
        triton.server.load("nowhere")
