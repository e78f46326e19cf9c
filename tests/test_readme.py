"""README proves itself: every command of its shell blocks is run, as written and in order, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


def commands() -> list[str]:
    """The lines of all shell blocks of README."""
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


class Reader:
    """Someone who types what README says, in a copy of the tree that shares this environment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def type(self, command: str) -> str:
        """Run a command to its end; returns what it printed."""
        done = subprocess.run(
            command.split(),
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, command: str) -> str:
        """Start the server and wait until it is ready."""
        self.server = subprocess.Popen(
            command.split(),
            cwd=self.home,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + 60
        while not _is_ready():
            assert self.server.poll() is None, self.server.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.2)
        return ""

    def stop(self) -> int | None:
        """Ctrl-C at the server; returns its exit code."""
        if self.server is None:
            return None
        self.server.send_signal(signal.SIGINT)
        self.server.communicate(timeout=60)
        return self.server.returncode


def _is_ready() -> bool:
    try:
        with urllib.request.urlopen("http://127.0.0.1:8000/v2/health/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    home = tmp_path / "tritonsmith"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, home / name)
    (home / ".venv").symlink_to(BIN.parent, target_is_directory=True)
    person = Reader(home)
    yield person
    person.stop()


def _is_the_test_target(_: Reader, command: str) -> str:
    """This very suite: only that the target exists and runs pytest."""
    return subprocess.run(
        ["make", "-n", *command.split()[1:]], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


Typed = Callable[[Reader, str], str]
EXPECTED: dict[str, tuple[Typed, tuple[str, ...]]] = {
    "make demo": (Reader.type, ("1.000000", "reports/demo/index.html", "tritonsmith sweep digits")),
    "make test": (_is_the_test_target, ("-m pytest",)),
    ". .venv/bin/activate": (lambda _, __: "", ()),
    "tritonsmith doctor": (Reader.type, ("Triton", "2.51")),
    "build-engine --name mynet": (Reader.type, ("mynet built in", "SQNR")),
    "tritonsmith serve": (Reader.start, ()),
    "tritonsmith infer": (Reader.type, ("output", "float32 [1, 10]")),
    "tritonsmith sweep": (Reader.type, ("mynet", "QPS")),
}


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_command_of_readme_does_what_it_says(reader: Reader) -> None:
    shown = commands()
    assert shown[:2] == ["make demo", "make test"]
    for command in shown:
        key = next((known for known in EXPECTED if command.startswith(known)), None)
        assert key is not None, f"README has a command that no test knows: {command}"
        run, words = EXPECTED[key]
        printed = run(reader, command)
        assert all(word in printed for word in words), f"{command}\n{printed}"
    assert (reader.home / "reports" / "demo" / "index.html").stat().st_size > 1_000_000
    assert (reader.home / "reports" / "mynet" / "points.jsonl").read_text().count('"kind": "point"') == 4
    assert reader.stop() == 0


def test_every_file_that_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
