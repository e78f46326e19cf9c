"""The temporary things of one running server, named after their owner, so that a crash's leftovers can be told."""

from __future__ import annotations

import errno
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tritonsmith.errors import ServerError
from tritonsmith.repository import ModelFolder

_NAME = "tritonsmith"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # where Triton puts its regions


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder for links and the log, and the prefix of the server's shared-memory regions."""

    root: Path
    shm_prefix: str

    @property
    def backends(self) -> Path:
        """Where the backend directory is laid."""
        return self.root / "backends"

    @property
    def log(self) -> Path:
        """Where the log goes when nobody asks for it elsewhere."""
        return self.root / "triton.log"

    @property
    def regions(self) -> Path:
        """Where the guard lists the server's shared memory regions, one name a line."""
        return self.root / "regions"

    def lay_models(self, models: Iterable[ModelFolder]) -> Path:
        """A repository of links to just these models: the server then sees no half-built neighbours."""
        folder = self.root / "models"
        folder.mkdir()
        for model in models:
            (folder / model.root.name).symlink_to(model.root.resolve(), target_is_directory=True)
        return folder

    def remove(self) -> None:
        """Delete all of it; harmless when it is gone already."""
        _remove_listed_regions(self.regions)
        shutil.rmtree(self.root, ignore_errors=True)
        for region in SHARED_MEMORY.glob(f"{self.shm_prefix}*"):
            region.unlink(missing_ok=True)


def _remove_listed_regions(listed: Path) -> None:
    try:
        names = listed.read_text().split()
    except OSError:
        return
    for name in names:
        (SHARED_MEMORY / Path(name).name).unlink(missing_ok=True)


def new_workplace(pid: int) -> Workplace:
    """A workplace that belongs to the process `pid`; those of processes that are gone are removed first."""
    parent = Path(tempfile.gettempdir())
    remove_stale(parent, SHARED_MEMORY)
    with readable_temporary_errors():
        root = Path(tempfile.mkdtemp(prefix=f"{_owner(pid)}-", dir=parent))
    return Workplace(root, f"{_owner(pid)}-{secrets.token_hex(4)}-")


@contextmanager
def readable_temporary_errors() -> Iterator[None]:
    """Turn a full or read-only temporary folder into a ServerError with the fix."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}:
            raise
        raise ServerError(
            f"cannot write to the temporary folder {tempfile.gettempdir()}: {error.strerror}",
            hint="free some space there, or set TMPDIR to another folder",
        ) from error


def _owner(pid: int) -> str:
    """Prefix of all that `pid` owns; with the pid namespace, as containers may share /dev/shm and /tmp."""
    return f"{_NAME}-{_pid_namespace()}-{pid}"


def _pid_namespace() -> str:
    try:
        return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink())) or "0"
    except OSError:
        return "0"


def remove_stale(*folders: Path) -> list[Path]:
    """Remove what processes of this namespace left that no longer run; returns what was removed."""
    removed = []
    for folder in folders:
        for path in folder.glob(f"{_NAME}-{_pid_namespace()}-*"):
            pid = path.name.split("-")[2]
            if pid.isdigit() and not Path("/proc", pid).exists():
                _remove_listed_regions(path / "regions")
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
                removed.append(path)
    return removed
