"""Writing files so that nobody ever sees a half-written one: build beside, fsync, rename."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tritonsmith.errors import RepositoryError

_STAGING = ".staging-"


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """A new folder inside `parent`, on the same file system, gone at the end whatever happens.

    Folders left by a process that was killed are removed first. A full disk becomes a RepositoryError.
    """
    with readable_disk_errors(parent):
        is_new = not parent.exists()
        parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(parent)
        stage = Path(tempfile.mkdtemp(prefix=f"{_STAGING}{os.getpid()}-", dir=parent))
        try:
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            if is_new and not any(parent.iterdir()):
                parent.rmdir()


def _remove_stale(parent: Path) -> None:
    for folder in parent.glob(f"{_STAGING}*"):
        pid = folder.name.removeprefix(_STAGING).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def readable_disk_errors(path: Path) -> Iterator[None]:
    """Turn a full or read-only disk and missing permission into a RepositoryError with the fix."""
    fixes = {
        errno.ENOSPC: ("the disk is full", "free some space and run again"),
        errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
        errno.EROFS: ("the file system is read-only", "choose another folder"),
        errno.EACCES: ("permission denied", "choose a folder that you may write to"),
    }
    try:
        yield
    except OSError as error:
        if error.errno not in fixes:
            raise
        problem, fix = fixes[error.errno]
        raise RepositoryError(f"cannot write to {path}: {problem}", hint=fix) from error


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write `path` so that a reader sees the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    with readable_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(name).unlink()
            raise


def fsync_tree(folder: Path) -> None:
    """Flush every file below `folder` to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def replace_folder(new: Path, target: Path) -> None:
    """Put the folder `new` in the place of `target`: the old one is moved aside first and comes back on failure."""
    if not target.exists():
        new.rename(target)
        return
    aside = new.with_name(new.name + ".replaced")  # in the staging folder, so it goes with it
    target.rename(aside)
    try:
        new.rename(target)
    except OSError:
        aside.rename(target)
        raise
