"""points.jsonl: a header line, then a line for each point, on the disk as soon as it is measured.

A line that was cut off by a crash is dropped when the file is read, and overwritten by the next point. One sweep at a
time writes: it holds a lock, which ends with its process.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.point import Point, point_from_json
from perf.run import Header, Run, header_from_json
from tritonsmith.errors import MeasurementError
from tritonsmith.files import readable_disk_errors, write_atomic

FILE_NAME = "points.jsonl"
PREVIOUS_NAME = "points.previous.jsonl"
LOCK_NAME = ".points.lock"


@dataclass(frozen=True, slots=True)
class Records:
    """The record file of one sweep, in the folder of its report."""

    folder: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE_NAME

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps out; MeasurementError when one is at work. The lock file stays: removing it would race."""
        path = self.folder / LOCK_NAME
        with readable_disk_errors(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise MeasurementError(
                    f"another sweep is writing to {self.folder}",
                    hint="wait for its end, or name another folder with --out",
                ) from error
            yield

    def read(self) -> Run | None:
        """The run so far, or None when there is none; MeasurementError names the line that is broken."""
        if not self.path.is_file():
            return None
        run: Run | None = None
        for number, line in enumerate(self._whole_lines(), start=1):
            try:
                record = _parse(line)
                run = run.with_point(point_from_json(record)) if run else Run(header=header_from_json(record))
            except (MeasurementError, ValueError) as error:
                raise MeasurementError(
                    f"{self.path}:{number}: {error}", hint="measure anew with --fresh; the old file is kept beside"
                ) from error
        return run

    def start(self, header: Header) -> Run:
        """Begin a new file with this header; an old one is kept as points.previous.jsonl."""
        with readable_disk_errors(self.path):
            if self.path.is_file():
                self.path.replace(self.folder / PREVIOUS_NAME)
            write_atomic(self.path, _line(header.to_json()))
        return Run(header=header)

    def append(self, point: Point) -> None:
        """Add a point and wait until it is on the disk."""
        kept = sum(len(line) + 1 for line in self._whole_lines())
        with readable_disk_errors(self.path), self.path.open("r+b") as file:
            file.truncate(kept)
            file.seek(0, os.SEEK_END)
            file.write(_line(point.to_json()).encode())
            file.flush()
            os.fsync(file.fileno())

    def _whole_lines(self) -> list[bytes]:
        """The lines that end with a newline."""
        try:
            *whole, _cut_off = self.path.read_bytes().split(b"\n")
        except OSError as error:
            raise MeasurementError(
                f"cannot read {self.path}: {error.strerror}", hint="name another folder with --out"
            ) from error
        return whole


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False) + "\n"


def _parse(line: bytes) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise MeasurementError("not a JSON object")
    return record
