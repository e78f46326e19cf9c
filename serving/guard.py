"""The process between tritonsmith and tritonserver: whatever happens to either, nothing stays behind.

Run as a script with the standard library alone, it starts the server in a session of its own and prints its pid. It
stops the server on SIGTERM or when its parent is gone (kill -9 included): SIGTERM, a grace, then SIGKILL for the whole
group. SIGINT skips the grace. At the end it reaps the stubs and removes shared memory and temporary folders.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TypedDict

STOP = {signal.SIGTERM, signal.SIGHUP}
SIGNALS = {*STOP, signal.SIGINT, signal.SIGCHLD}
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # where Triton puts its regions; this script imports none of ours
_REGION = re.compile(rf"{SHARED_MEMORY}/(triton_\w+_backend_shm_region_\S+)")
"""How Triton calls the regions of python-based backends, whatever shm-region-prefix-name says."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Orders(TypedDict):
    """What the guard is told, as JSON in its only argument.

    `grace_s` in seconds; `regions` the file that lists the server's shared memory while it runs, for whoever cleans up
    when the guard cannot; `remove` the folders to delete.
    """

    command: list[str]
    parent: int
    grace_s: float
    shm_prefix: str
    regions: str
    remove: list[str]


def main(orders: Orders) -> int:
    """Run the server until it ends or has to; returns its exit code, 128 + the signal when one killed it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # stubs that outlive the server become ours to reap
    regions = Regions(Path(orders["regions"]))
    try:
        server = _start(orders["command"], libc)
        try:
            print(server.pid, flush=True)  # noqa: T201  # the parent reads it
            _watch(server, orders, regions)
        finally:
            regions.note(_group(server.pid))
            _kill_group(server)
    finally:
        regions.remove()
        _clean(orders)
    return server.returncode if server.returncode >= 0 else 128 - server.returncode


class Regions:
    """The shared memory regions that the server's processes have mapped so far, kept in a file as well."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._names: set[str] = set()

    def note(self, pids: list[int]) -> None:
        """Add the regions of these processes."""
        mapped = {name for pid in pids for name in _REGION.findall(_maps(pid))}
        if mapped - self._names:
            self._names |= mapped
            with contextlib.suppress(OSError):  # a full disk must not end the server
                self._file.write_text("\n".join(sorted(self._names)))

    def remove(self) -> None:
        """Delete them all."""
        for name in self._names:
            (SHARED_MEMORY / name).unlink(missing_ok=True)


def _maps(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "maps").read_text()
    except OSError:
        return ""


def _group(leader: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(folder.name)) == leader:
                found.append(int(folder.name))
    return found


def _start(command: list[str], libc: ctypes.CDLL) -> subprocess.Popen[bytes]:
    """The server, its stdout and stderr in the log, which is our stderr."""

    def in_server() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # dies with this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=in_server,  # noqa: PLW1509  # safe: this process has one thread
        start_new_session=True,
    )


def _watch(server: subprocess.Popen[bytes], orders: Orders, regions: Regions) -> None:
    """Until the server ends; on a signal, or when the parent is gone, make it end."""
    asked_at = None
    while server.poll() is None:
        received = signal.sigtimedwait(SIGNALS, 0.5)
        regions.note([server.pid])
        number = received.si_signo if received is not None else None
        if number == signal.SIGINT or (asked_at is not None and time.monotonic() - asked_at > orders["grace_s"]):
            server.kill()
            server.wait()
        elif asked_at is None and (number in STOP or os.getppid() != orders["parent"]):
            asked_at = time.monotonic()
            server.terminate()


def _kill_group(server: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the server's whole group, and reap all of it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    deadline = time.monotonic() + 5
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)


def _clean(orders: Orders) -> None:
    for region in SHARED_MEMORY.glob(f"{orders['shm_prefix']}*"):
        region.unlink(missing_ok=True)
    for folder in orders["remove"]:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
