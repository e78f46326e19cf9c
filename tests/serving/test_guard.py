"""The guard, with a shell in the server's place: nothing of it remains, whoever is killed."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from serving import guard

SHARED_MEMORY = guard.SHARED_MEMORY
STUBBORN = "trap '' TERM; sleep 60 & wait; sleep 60"
WITH_CHILD = "sleep 60 & echo $! > {pids}; wait"


@dataclass(frozen=True)
class Guarded:
    """A guard that runs, and what it has to clean up."""

    process: subprocess.Popen[str]
    folder: Path
    region: Path
    pids: Path

    def server(self) -> int:
        """The server's pid, as the guard prints it."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def child(self) -> int:
        """The pid of the server's own child."""
        wait_until(lambda: self.pids.exists() and self.pids.read_text().strip() != "")
        return int(self.pids.read_text())

    def leaves_nothing(self) -> bool:
        """True when folder and shared memory are gone."""
        return not self.folder.exists() and not self.region.exists()


Start = Callable[..., Guarded]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a guard over a shell script."""
    started: list[Guarded] = []

    def begin(script: str, *, grace_s: float = 0.3, parent: int | None = None) -> Guarded:
        prefix = f"tritonsmith-test-{secrets.token_hex(4)}-"
        folder, region, pids = tmp_path / "place", SHARED_MEMORY / f"{prefix}region", tmp_path / "pids"
        folder.mkdir()
        region.touch()
        orders: guard.Orders = {
            "command": ["sh", "-c", script.format(pids=pids)],
            "parent": parent or os.getpid(),
            "grace_s": grace_s,
            "shm_prefix": prefix,
            "regions": str(folder / "regions"),
            "remove": [str(folder)],
        }
        command = [sys.executable, "-I", "-S", guard.__file__, json.dumps(orders)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started.append(Guarded(process, folder, region, pids))
        return started[-1]

    yield begin
    for guarded in started:
        guarded.process.kill()
        guarded.process.communicate()
        guarded.region.unlink(missing_ok=True)


def is_running(pid: int) -> bool:
    """True while the process is there and no zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], timeout_s: float = 5) -> None:
    """Wait for a condition; the test fails when it does not come about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def test_the_exit_code_of_a_server_that_ends_is_the_guards(start: Start) -> None:
    guarded = start("exit 3")

    assert guarded.process.wait(5) == 3
    assert guarded.leaves_nothing()


MAPS_A_REGION = """\
exec {python} -c '
import mmap, pathlib, time
path = pathlib.Path("/dev/shm/{name}")
path.write_bytes(bytes(4096))
with path.open("r+b") as file:
    memory = mmap.mmap(file.fileno(), 4096)
pathlib.Path("{{pids}}").write_text("1")
time.sleep(60)
'
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_regions_that_the_server_mapped_are_removed_whatever_their_prefix(start: Start, number: signal.Signals) -> None:
    region = SHARED_MEMORY / f"triton_onnxruntime_backend_shm_region_{secrets.token_hex(8)}"
    users = SHARED_MEMORY / f"input_of_a_client_{secrets.token_hex(8)}"
    users.touch()
    guarded = start(MAPS_A_REGION.format(python=sys.executable, name=region.name))
    server = guarded.server()
    wait_until((guarded.folder / "regions").exists)

    os.kill(server, number)

    guarded.process.wait(5)
    assert not region.exists()
    assert users.exists()
    users.unlink()


def test_sigterm_stops_the_server_and_its_children(start: Start) -> None:
    guarded = start(WITH_CHILD)
    server, child = guarded.server(), guarded.child()

    guarded.process.terminate()

    assert guarded.process.wait(5) == 128 + signal.SIGTERM
    assert not is_running(server)
    assert not is_running(child)
    assert guarded.leaves_nothing()


def test_a_server_that_ignores_sigterm_is_killed_after_the_grace(start: Start) -> None:
    guarded = start(STUBBORN, grace_s=0.3)
    server = guarded.server()
    time.sleep(0.1)  # for the trap to be set

    guarded.process.terminate()

    assert guarded.process.wait(5) == 128 + signal.SIGKILL
    assert not is_running(server)


def test_sigint_kills_without_a_grace(start: Start) -> None:
    guarded = start(STUBBORN, grace_s=60)
    guarded.server()

    guarded.process.send_signal(signal.SIGINT)

    assert guarded.process.wait(5) == 128 + signal.SIGKILL
    assert guarded.leaves_nothing()


def test_a_server_that_is_killed_takes_its_children_with_it(start: Start) -> None:
    guarded = start(WITH_CHILD)
    server, child = guarded.server(), guarded.child()

    os.kill(server, signal.SIGKILL)

    assert guarded.process.wait(5) == 128 + signal.SIGKILL
    assert not is_running(child)
    assert guarded.leaves_nothing()


def test_a_parent_that_is_gone_ends_the_server(start: Start) -> None:
    guarded = start(WITH_CHILD, parent=1 if os.getppid() != 1 else 2)
    child = guarded.child()

    guarded.process.wait(5)

    assert not is_running(child)
    assert guarded.leaves_nothing()


def test_a_guard_that_is_killed_takes_the_server_with_it(start: Start) -> None:
    guarded = start("exec sleep 60")
    server = guarded.server()

    guarded.process.kill()

    wait_until(lambda: not is_running(server))


def test_a_server_that_cannot_be_started_leaves_nothing(tmp_path: Path) -> None:
    orders: guard.Orders = {
        "command": [str(tmp_path / "no-such-binary")],
        "parent": os.getpid(),
        "grace_s": 1,
        "shm_prefix": "tritonsmith-test-none-",
        "regions": "/nonexistent/regions",
        "remove": [str(tmp_path)],
    }

    with pytest.raises(subprocess.CalledProcessError) as caught:
        subprocess.run(
            [sys.executable, "-I", "-S", guard.__file__, json.dumps(orders)],
            check=True,
            capture_output=True,
            timeout=10,
        )

    assert caught.value.stdout == b""
    assert not tmp_path.exists()
