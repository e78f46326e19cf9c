"""One sweep as a record: what was measured on what (the header), and its points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from perf.point import SCHEMA, Point
from tritonsmith.errors import MeasurementError


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes points comparable: a sweep goes on only where all of this is the same.

    Of the address the host alone: the same server is the same on another port.
    """

    model: str
    version: str
    host: str
    protocol: str
    client: str
    client_version: str
    batch: int
    input_kind: str
    input_sha256: str
    interval_ms: int
    server: str
    config_sha256: str
    build: str | None
    machine: str

    def differences(self, other: Identity) -> list[str]:
        """`field: theirs, now ours` for each field that differs, `self` being what is there."""
        mine, theirs = asdict(self), asdict(other)
        return [
            f"{name}: {_short(mine[name])}, now {_short(theirs[name])}" for name in mine if mine[name] != theirs[name]
        ]


def _short(value: object) -> str:
    return f"{value}"[:40] if value is not None else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a record: the identity, and what a reader of the report wants to know besides.

    `url` is where the server listened when the record began.
    """

    identity: Identity
    url: str
    client_why: str
    input_source: str
    input_shapes: int
    max_batch_size: int
    slo_p99_ms: float | None
    started: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data."""
        return {"kind": "run", "schema": SCHEMA, **asdict(self)}


def header_from_json(record: Mapping[str, Any]) -> Header:
    """The header of a record; MeasurementError for another schema or missing fields."""
    if record.get("kind") != "run" or record.get("schema") != SCHEMA:
        raise MeasurementError(f"no header of schema {SCHEMA} in its first line")
    values = {name: record[name] for name in (item.name for item in fields(Header)) if name in record}
    try:
        return Header(**{**values, "identity": Identity(**record["identity"])})
    except (TypeError, KeyError) as error:
        raise MeasurementError(f"a header that is not complete: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A sweep: its header and its points, ascending by concurrency."""

    header: Header
    points: tuple[Point, ...] = ()

    @property
    def model(self) -> str:
        """The model's name."""
        return self.header.identity.model

    def with_point(self, point: Point) -> Run:
        """The run with one more point; a point of the same concurrency is replaced."""
        others = [old for old in self.points if old.concurrency != point.concurrency]
        return Run(header=self.header, points=tuple(sorted([*others, point], key=lambda item: item.concurrency)))

    def only(self, levels: tuple[int, ...]) -> Run:
        """The run with the points of these concurrencies."""
        return Run(header=self.header, points=tuple(point for point in self.points if point.concurrency in levels))

    def to_json(self) -> dict[str, Any]:
        """The whole run as plain data."""
        return {**self.header.to_json(), "points": [point.to_json() for point in self.points]}
