"""Finding a Triton: `tritonserver` on PATH (NVIDIA's container), else the one in the nvidia-pytriton wheel.

What the wheel's server needs around it is collected here: the stub of its Python backend takes site-packages from the
first `python3` on PATH, links against libpython, and is built for one minor version of Python each.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tritonsmith.errors import ServerError
from tritonsmith.runtime import package_version

BUNDLED_VERSION = {"0.7.0": "2.51.0"}
"""Which Triton each nvidia-pytriton wheel bundles; the running server tells its own version."""

GET_TRITON = "pip install 'tritonsmith[local]', or run inside NVIDIA's tritonserver container"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A Triton that can be started: its files, and what must come first in PATH and in the loader's search path."""

    origin: Literal["path", "wheel"]
    binary: Path
    backends: Path
    caches: Path
    version: str | None = None
    stub: Path | None = None
    path_first: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = field(default=())

    def environment(self, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The environment for the server: the inherited one with our folders in front."""
        return {
            **inherited,
            **_in_front("PATH", self.path_first, inherited),
            **_in_front("LD_LIBRARY_PATH", self.libraries, inherited),
        }

    @property
    def described(self) -> str:
        """For people: version and where it comes from."""
        where = "the nvidia-pytriton wheel" if self.origin == "wheel" else str(self.binary)
        return f"Triton {self.version or 'of unknown version'} from {where}"


def _in_front(variable: str, folders: Iterable[Path], inherited: Mapping[str, str]) -> dict[str, str]:
    parts = [*map(str, folders), inherited.get(variable, "")]
    value = os.pathsep.join(part for part in parts if part)
    return {variable: value} if value else {}


def find_triton(environ: Mapping[str, str] = os.environ) -> Installation:
    """The Triton to use here; ServerError with the way to get one when there is none, or what the wheel's one lacks."""
    on_path = shutil.which("tritonserver", path=environ.get("PATH", ""))
    if on_path is not None:
        return from_container(Path(on_path).resolve(), environ)
    package = importlib.util.find_spec("pytriton")
    if package is None or not package.submodule_search_locations:
        raise ServerError("there is no Triton on this machine", hint=GET_TRITON)
    return from_wheel(Path(package.submodule_search_locations[0]))


def from_container(binary: Path, environ: Mapping[str, str]) -> Installation:
    """The Triton of NVIDIA's image: its own Python and backends, nothing to add."""
    root = binary.parent.parent
    return Installation(
        origin="path",
        binary=binary,
        backends=root / "backends",
        caches=root / "caches",
        version=environ.get("TRITON_SERVER_VERSION"),
    )


def from_wheel(package: Path) -> Installation:
    """The Triton inside the installed `pytriton` package, with what its Python stub needs, or a ServerError."""
    root = package / "tritonserver"
    binary = root / "bin" / "tritonserver"
    if not binary.is_file():
        raise ServerError(f"the nvidia-pytriton wheel has no server at {binary}", hint=GET_TRITON)
    python = Path(sys.executable).parent
    if not (python / "python3").exists():
        raise ServerError(
            f"there is no python3 in {python}, and Triton's stub takes its packages from there",
            hint="run from a virtual environment: python3 -m venv .venv",
        )
    release = package_version("nvidia-pytriton")
    return Installation(
        origin="wheel",
        binary=binary,
        backends=root / "backends",
        caches=root / "caches",
        version=BUNDLED_VERSION.get(release or ""),
        stub=_stub(root / "python_backend_stubs"),
        path_first=(python,),
        libraries=(find_libpython(libpython_folders()).parent, package.parent / "nvidia_pytriton.libs"),
    )


def _stub(stubs: Path) -> Path:
    """The stub for this minor version of Python."""
    stub = stubs / python_version() / "triton_python_backend_stub"
    if not stub.is_file():
        known = sorted((path.name for path in stubs.glob("3.*")), key=lambda name: int(name.split(".")[1]))
        raise ServerError(
            f"the bundled Triton has no stub for Python {python_version()}",
            hint=f"use one of Python {', '.join(known) or '3.10 to 3.12'}",
        )
    return stub


def python_version() -> str:
    """The minor version of this Python, as in 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def libpython_folders() -> list[Path]:
    """Where a shared libpython of this Python may lie, the most specific first."""
    named = [sysconfig.get_config_var("LIBDIR"), str(Path(sys.base_prefix) / "lib")]
    multiarch = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    system = [f"/usr/lib/{multiarch}", f"/lib/{multiarch}", "/usr/lib64", "/usr/local/lib", "/usr/lib"]
    return [Path(folder) for folder in [*named, *system] if folder]


def find_libpython(folders: Iterable[Path]) -> Path:
    """The shared library of this Python that Triton's stub is linked against; ServerError says how to get it."""
    name = f"libpython{python_version()}.so.1.0"
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise ServerError(
        f"Triton's Python backend needs {name}, which is not on this machine",
        hint=f"apt-get install libpython{python_version()}; with pyenv: "
        f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {python_version()}",
    )
