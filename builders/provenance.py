"""What a build depended on: the user's source files, the data files that their code opened, and package versions.

A build is reused only when all of these are unchanged, so retrained weights at the same path are noticed.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tritonsmith.references import is_user_file

PACKAGES = ("torch", "onnx", "onnxscript", "onnx-ir", "onnxruntime", "numpy", "transformers")
"""Whose versions decide what an export looks like."""
_IGNORED = (
    "/proc/",
    "/dev/",
    "/sys/",
    "/etc/",
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    sys.prefix,
)
_CODE = (".py", ".pyc", ".so", ".pth")
_METADATA = re.compile(r"\.(egg|dist)-info/")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """A file's content (sha256) with the size and mtime that let the next look skip the hashing."""

    sha256: str
    size: int
    mtime_ns: int


def stamp(path: Path) -> FileStamp:
    """The stamp of a file as it is now."""
    stat = path.stat()
    return FileStamp(sha256=sha256(path), size=stat.st_size, mtime_ns=stat.st_mtime_ns)


def sha256(path: Path) -> str:
    """The hex digest of a file's content, read in pieces."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def is_unchanged(path: Path, old: FileStamp) -> bool:
    """True when the file is there with the same content; equal size and mtime are taken as equal content."""
    try:
        stat = path.stat()
    except OSError:
        return False
    if (stat.st_size, stat.st_mtime_ns) == (old.size, old.mtime_ns):
        return True
    return stat.st_size == old.size and sha256(path) == old.sha256


class _OpenedFiles:
    """Which files Python opened for reading while recording; one audit hook per process, as hooks cannot be removed."""

    def __init__(self) -> None:
        self.recording: set[str] | None = None
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self.recording is None or event != "open" or not isinstance(args[0], str):
            return
        if isinstance(args[1], str) and set(args[1]) & set("wax+"):
            return
        self.recording.add(args[0])


@cache
def _opened_files() -> _OpenedFiles:
    return _OpenedFiles()


@contextmanager
def recorded_files(*references: str | None) -> Iterator[set[Path]]:
    """A set that holds, after the block, the user's files that it used: imported modules and opened data.

    `references` are the functions (`package.module:function`) that the block calls: what their modules use counts even
    when it was imported before.
    """
    hook, before, found = _opened_files(), set(sys.modules), set[Path]()
    hook.recording = opened = set[str]()
    try:
        yield found
    finally:
        hook.recording = None
        found.update(path for path in map(Path, opened) if _is_data(path))
        roots = {reference.partition(":")[0] for reference in references if reference}
        found.update(_user_modules(roots | (set(sys.modules) - before)))


def _is_data(path: Path) -> bool:
    absolute = os.path.abspath(path)  # noqa: PTH100  # resolve() would follow links out of the user's tree
    return (
        not (absolute.startswith(_IGNORED) or absolute.endswith(_CODE) or _METADATA.search(absolute)) and path.is_file()
    )


def _user_modules(names: set[str]) -> Iterator[Path]:
    """The files of the user's modules among `names`, and of those that they use, by the objects in their namespaces."""
    pending, seen = list(names), set[str]()
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if name in seen or not file or not is_user_file(file):
            continue
        seen.add(name)
        yield Path(file)
        yield from _package_files(name)
        pending += map(_home, list(vars(module).values()))


def _package_files(name: str) -> Iterator[Path]:
    """The `__init__.py` of each package that a module lies in."""
    while name := name.rpartition(".")[0]:
        if file := getattr(sys.modules.get(name), "__file__", None):
            yield Path(file)


def _home(value: object) -> str:
    """The name of the module that a value is, or comes from."""
    return str(value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", ""))


@cache
def source_hash(patterns: tuple[str, ...]) -> str:
    """The hash of this project's own files that match, so that changed code builds again."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def combined(parts: Mapping[str, str]) -> str:
    """One hash of named strings."""
    text = "\0".join(f"{key}={value}" for key, value in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()
