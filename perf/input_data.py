"""What the load is made of: rows of the spec's real samples, a file's, random ones or zeros, the same for every client.

A row is one inference without its batch dim. Both clients send the very same rows, and their hash stands in the record.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from tritonsmith.samples import Array, Sample

Row = Mapping[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputData:
    """Rows and where they come from; `kind` is samples, file, random or zero. `batches`: the model has a batch dim."""

    kind: str
    source: str
    rows: tuple[Row, ...]
    batches: bool

    @property
    def sha256(self) -> str:
        """The hash of names, types, shapes and values."""
        digest = hashlib.sha256()
        for row in self.rows:
            for name, array in sorted(row.items()):
                digest.update(f"{name} {array.dtype} {array.shape}".encode())
                digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
        return digest.hexdigest()

    @property
    def shapes(self) -> int:
        """How many different shapes the rows have: Triton's dynamic batcher joins only requests of equal shapes."""
        return len(_by_shape(self.rows))

    def for_batch(self, batch: int) -> InputData:
        """The rows that requests of `batch` rows can be made of, a multiple of it: those of the most frequent shape.

        Rows of different shapes fit in no batch, and perf_analyzer refuses a file that has both.
        """
        if batch == 1:
            return self
        groups = _by_shape(self.rows)
        chosen = max(groups, key=len)
        rows = tuple(islice(cycle(chosen), -(-len(chosen) // batch) * batch))
        note = f", of which the {len(chosen)} of the most frequent shape" if len(groups) > 1 else ""
        return replace(self, rows=rows, source=self.source + note)

    def requests(self, batch: int) -> list[Sample]:
        """One request per `batch` neighbouring rows, with the batch dim where the model has one."""
        if not self.batches:
            return [dict(row) for row in self.rows]
        blocks = [self.rows[start : start + batch] for start in range(0, len(self.rows), batch)]
        return [{name: np.stack([row[name] for row in block]) for name in block[0]} for block in blocks]

    def to_perf_analyzer(self) -> str:
        """The JSON for --input-data; perf_analyzer makes a batch of the next entries, round and round."""
        return json.dumps({"data": [{name: _entry(array) for name, array in row.items()} for row in self.rows]})


def _by_shape(rows: Sequence[Row]) -> list[list[Row]]:
    groups: dict[tuple[tuple[str, tuple[int, ...]], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple((name, array.shape) for name, array in row.items()), []).append(row)
    return list(groups.values())


def _entry(array: Array) -> dict[str, Any]:
    """Base64 of the bytes, so that no bit is lost in decimal; strings as they are."""
    shape = {"shape": list(array.shape)}
    if array.dtype == object:
        return {"content": [_text(value) for value in array.flat], **shape}
    return {"b64": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(), **shape}


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def rows_of_samples(samples: Sequence[Sample], *, batches: bool, limit: int) -> tuple[Row, ...]:
    """The first `limit` rows of the samples; without a batch dim a sample is a row."""
    if not batches:
        return tuple(samples[:limit])
    rows = (
        {name: array[index] for name, array in sample.items()}
        for sample in samples
        for index in range(len(next(iter(sample.values()))))
    )
    return tuple({name: np.asarray(value) for name, value in row.items()} for row in islice(rows, limit))
