"""The backend directory that a local server is started with: Triton's own backends, and the portable one.

A Triton that has the native `onnxruntime` backend, as NVIDIA's container does, keeps its own directory as it is: there
the portable one is to be had from docker-compose.yml alone, which mounts it beside the native one.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from serving.installation import Installation
from tritonsmith.errors import ServerError

NATIVE = "onnxruntime"
PORTABLE_NAMES = (NATIVE, "onnxruntime_portable")
"""Where there is no native one, the portable backend has both names: that, and what docker-compose.yml calls it."""


def portable_backend() -> Path:
    """The folder of the portable backend: beside the sources, in an editable install or in site-packages."""
    package = importlib.util.find_spec("python_backend")
    for location in (package.submodule_search_locations if package else None) or ():
        folder = Path(location) / "onnxruntime"
        if folder.is_dir():
            return folder
    raise ServerError(
        "the portable backend is not installed", hint="install tritonsmith again: pip install tritonsmith"
    )


def has_native_backend(installation: Installation) -> bool:
    """True where Triton brings its own ONNX Runtime backend."""
    return (installation.backends / NATIVE).is_dir()


def lay_backends(installation: Installation, target: Path, *, portable: Path | None = None) -> Path:
    """Fill the new folder `target` and return the directory that --backend-directory should name.

    `portable` is the folder of the backend that stands in for ONNX Runtime; by default ours.
    """
    if has_native_backend(installation):
        return installation.backends
    target.mkdir(parents=True)
    for backend in sorted(installation.backends.iterdir()):
        _copy_files(backend, target / backend.name)
    if installation.stub is not None:
        _copy(installation.stub, target / "python" / installation.stub.name)
    for name in PORTABLE_NAMES:
        (target / name).symlink_to((portable or portable_backend()).resolve(), target_is_directory=True)
    return target


def _copy_files(source: Path, target: Path) -> None:
    """A real folder of real files: Triton refuses a library that a link leads out of the backend directory."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.is_file():
            _copy(entry, target / entry.name)


def _copy(source: Path, target: Path) -> None:
    """A hard link where the file system can, else a copy."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)
