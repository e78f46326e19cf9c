"""Writing files so that nobody ever sees a half-written one: build beside, fsync, rename."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import tempfile
import threading
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
    """Turn a full or read-only disk, missing permission or a taken name into a RepositoryError with the fix."""
    not_a_place = ("there is something else of that name", "choose another name or folder")
    fixes = {
        errno.ENOTDIR: not_a_place,
        errno.EEXIST: not_a_place,
        errno.EISDIR: not_a_place,
        errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
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
            Path(name).chmod(0o666 & ~_umask())
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


def fsync_folder(folder: Path) -> None:
    """Flush the names in `folder` to the disk, after renames."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_folder(new: Path, target: Path) -> None:
    """Put the folder `new` in the place of `target`; what was there is then at `new`.

    One atomic exchange where the system has it (Linux); elsewhere the old one is moved aside and comes back on failure.
    """
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        _swap(new, target)


def _exchange(one: Path, other: Path) -> bool:
    """renameat2(RENAME_EXCHANGE); False where the system or the file system has no such thing."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    at_fdcwd, rename_exchange = -100, 2
    return bool(call(at_fdcwd, os.fsencode(one), at_fdcwd, os.fsencode(other), rename_exchange) == 0)


def _swap(new: Path, target: Path) -> None:
    aside = target.with_name(f".{target.name}.replaced-{os.getpid()}")
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    aside.rename(new)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for a few quick steps that belong together; it comes through at their end.

    Python delivers signals to the main thread only; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def _umask() -> int:
    mask = os.umask(0o022)  # there is no way to ask without setting
    os.umask(mask)
    return mask
