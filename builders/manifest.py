"""build.json: what was built from what, with which versions, and how far it is from PyTorch.

Its key is made of inputs only. Reading an old or foreign manifest never fails a build: it just is no cache hit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from builders.parity import OutputParity
from builders.provenance import FileStamp, builder_hash, combined, is_unchanged, package_versions
from tritonsmith.spec import Serving, Spec
from tritonsmith.spec_file import spec_key

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One built file, by its path in the model's folder; sizes in bytes, seconds of wall time."""

    path: str
    precision: str
    sha256: str
    size: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """The task metric of the reference and of the artifact; higher is better."""

    name: str
    reference: float
    artifact: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The record of a build; `artifact_key` covers what the artifact depends on, `serving_key` the configuration."""

    model: str
    artifact_key: str
    serving_key: str
    source: str
    reference: str
    artifacts: tuple[Artifact, ...]
    outputs: Mapping[str, Any]
    parity: tuple[OutputParity, ...]
    metric: MetricResult | None
    samples: int
    files: Mapping[str, FileStamp]
    packages: Mapping[str, str]
    machine: Mapping[str, Any]
    seconds: Mapping[str, float]
    built: str
    warnings: tuple[str, ...] = ()
    schema: int = SCHEMA
    cached: bool = field(default=False, compare=False)


def artifact_key(spec: Spec) -> str:
    """The hash of everything but files that decides the artifact: the spec without `serving`, versions, the builder."""
    without_serving = replace(spec, serving=Serving())
    return combined({"spec": spec_key(without_serving), "builder": builder_hash(), **package_versions()})


def serving_key(spec: Spec) -> str:
    """The hash of the part of the spec that only the configuration depends on."""
    return combined({"serving": spec_key(spec), "builder": builder_hash()})


def files_unchanged(manifest: Manifest, root: Path) -> bool:
    """True when every file that the build read is as it was; their paths start at `root`, the model's folder."""
    return all(is_unchanged(root / path, old) for path, old in manifest.files.items())


def artifacts_present(manifest: Manifest, root: Path) -> bool:
    """True when every artifact is there with its size."""
    paths = [(root / artifact.path, artifact.size) for artifact in manifest.artifacts]
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


def dump_manifest(manifest: Manifest) -> str:
    """JSON text; infinities, which JSON lacks, become null (`sqnr_db: null` says identical)."""
    return json.dumps(_finite(asdict(manifest)), indent=2) + "\n"


def read_manifest(path: Path) -> Manifest | None:
    """The manifest of the last build, or None when there is none that this version understands."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _from_json(data) if data.get("schema") == SCHEMA else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _from_json(data: dict[str, Any]) -> Manifest:
    parity = (OutputParity(**{**row, "shape": tuple(row["shape"])}) for row in map(_infinite, data["parity"]))
    return Manifest(
        **{
            **data,
            "artifacts": tuple(Artifact(**row) for row in data["artifacts"]),
            "parity": tuple(parity),
            "metric": MetricResult(**data["metric"]) if data["metric"] else None,
            "files": {path: FileStamp(**row) for path, row in data["files"].items()},
            "warnings": tuple(data["warnings"]),
        }
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _infinite(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: math.inf if value is None and key != "problem" else value for key, value in row.items()}
