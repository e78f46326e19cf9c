"""Points and runs with values that are easy to recognise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perf.point import Point
from perf.run import Header, Identity, Run

POINT = Point(
    concurrency=1,
    batch=1,
    throughput_qps=200.5,
    throughput_ips=200.5,
    latency_mean_ms=5.25,
    latency_p50_ms=5.0,
    latency_p90_ms=6.0,
    latency_p95_ms=7.0,
    latency_p99_ms=9.5,
    n=700,
    errors=0,
    first_error=None,
    queue_us=600.0,
    compute_input_us=20.0,
    compute_infer_us=4200.0,
    compute_output_us=180.0,
    batch_size_mean=1.5,
    batch_sizes={1: 300, 2: 200},
    stable=True,
    raw=True,
    client="perf_analyzer 2.50.0",
    started="2026-12-01T12:00:00+00:00",
    duration_s=3.6,
    interval_ms=1000,
)

IDENTITY = Identity(
    model="double",
    version="1",
    host="127.0.0.1",
    protocol="grpc",
    client="perf_analyzer",
    client_version="2.50.0",
    batch=1,
    input_kind="samples",
    input_sha256="ab" * 32,
    interval_ms=1000,
    server="triton 2.51.0",
    config_sha256="cd" * 32,
    build=None,
    machine="A processor, 2 cores",
)

HEADER = Header(
    identity=IDENTITY,
    url="127.0.0.1:8001",
    client_why="it runs on this machine",
    input_source="64 rows of examples.double:samples",
    input_shapes=1,
    max_batch_size=8,
    slo_p99_ms=20.0,
    started="2026-12-01T12:00:00+00:00",
    machine={"system": "Linux 6", "python": "3.11.7", "memory_bytes": 2**34, "gpus": []},
    versions={"tritonclient": "2.73.0"},
)


def point(concurrency: int = 1, **changes: Any) -> Point:
    """A point of this concurrency."""
    return replace(POINT, concurrency=concurrency, **changes)


def header(**changes: Any) -> Header:
    """A header; names of the identity's fields change the identity."""
    own = {name: changes.pop(name) for name in list(changes) if name not in Identity.__dataclass_fields__}
    return replace(HEADER, identity=replace(IDENTITY, **changes), **own)


def run(*points: Point, **changes: Any) -> Run:
    """A run with these points."""
    return Run(header=header(**changes), points=points)
