"""Finding a perf_analyzer that runs here; what it is told is `perf_analyzer_run`, what it says `perf_analyzer_output`.

Searched: the variable TRITONSMITH_PERF_ANALYZER, PATH, then what `python -m perf.install` put beside this Python. A
binary counts only when it answers `--version`: the newest ones want a newer glibc than many systems have.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tritonsmith.errors import MeasurementError

VARIABLE = "TRITONSMITH_PERF_ANALYZER"
INSTALL_HINT = "python -m perf.install brings one that runs on older systems, without root"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfAnalyzer:
    """A perf_analyzer that runs here; `env` holds the variables that it needs beyond the caller's own."""

    path: Path
    version: str
    env: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """The whole environment for its process."""
        return {**os.environ, **self.env}


@dataclass(frozen=True, slots=True)
class Home:
    """Where `perf.install` puts the binary, its libraries and its version."""

    root: Path

    @property
    def binary(self) -> Path:
        """The program."""
        return self.root / "bin" / "perf_analyzer"

    @property
    def libraries(self) -> Path:
        """Links to the shared libraries that the system may lack."""
        return self.root / "lib"

    @property
    def version_file(self) -> Path:
        """The version of the wheel it came from: the binary itself does not know."""
        return self.root / "VERSION"

    def env(self) -> dict[str, str]:
        """The loader's search path with our links first."""
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        return {"LD_LIBRARY_PATH": os.pathsep.join(part for part in (str(self.libraries), inherited) if part)}


def home() -> Home:
    """The place beside this Python: `<sys.prefix>/perf_analyzer`."""
    return Home(Path(sys.prefix) / "perf_analyzer")


def find(place: Home | None = None) -> PerfAnalyzer:
    """The first perf_analyzer that runs; MeasurementError says for each candidate why it does not."""
    refused = []
    for path, env, version in _candidates(place or home()):
        said = probe(path, env)
        if isinstance(said, Refusal):
            refused.append(f"{path}: {said.reason}")
            continue
        return PerfAnalyzer(path=path, version=version or said or "of unknown version", env=env)
    reason = "; ".join(refused) or f"none on PATH or at {(place or home()).binary}"
    raise MeasurementError(f"no perf_analyzer runs here ({reason})", hint=INSTALL_HINT)


def _candidates(place: Home) -> list[tuple[Path, dict[str, str], str | None]]:
    """(path, variables, known version) of each candidate; a path that the user names is the only one."""
    named = os.environ.get(VARIABLE)
    if named:
        return [(Path(named), {}, None)]
    on_path = shutil.which("perf_analyzer")
    candidates: list[tuple[Path, dict[str, str], str | None]] = [(Path(on_path), {}, None)] if on_path else []
    if place.binary.is_file():
        version = place.version_file.read_text().strip() if place.version_file.is_file() else None
        candidates.append((place.binary, place.env(), version))
    return candidates


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a binary does not run here."""

    reason: str


def probe(path: Path, env: Mapping[str, str]) -> str | Refusal:
    """The version that `path --version` prints ("" when it prints none), or why it does not run."""
    command = [str(path), "--version"]
    try:
        done = subprocess.run(
            command, env={**os.environ, **env}, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Refusal(getattr(error, "strerror", None) or str(error))
    if done.returncode != 0:
        return Refusal(_loader_reason(done.stderr, path) or f"--version exits {done.returncode}")
    version = re.search(r"Version (\d[\w.]*)", done.stdout)
    return version.group(1) if version else ""


def _loader_reason(stderr: str, path: Path) -> str | None:
    """The dynamic loader's complaint, without the program's own name in front."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    glibc = re.search(r"`(GLIBC\w*_[\d.]+)' not found", stderr)
    if glibc:
        return f"{glibc.group(1)} not found"
    return lines[0].removeprefix(f"{path}: ").removeprefix("error while loading shared libraries: ") if lines else None
