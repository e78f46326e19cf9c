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
from builders.provenance import PACKAGES, FileStamp, combined, is_unchanged, source_hash
from tritonsmith.runtime import package_versions
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
    mtime_ns: int
    seconds: float

    @property
    def stamp(self) -> FileStamp:
        """Its content, to compare with."""
        return FileStamp(sha256=self.sha256, size=self.size, mtime_ns=self.mtime_ns)


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
    opset: int
    ir_version: int
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
    versions = package_versions(PACKAGES)
    return combined({"spec": spec_key(without_serving), "source": source_hash(_ARTIFACT_CODE), **versions})


def serving_key(spec: Spec) -> str:
    """The hash of what the configuration depends on."""
    return combined({"spec": spec_key(spec), "source": source_hash(_CONFIG_CODE)})


_ARTIFACT_CODE = ("builders/*.py", "tritonsmith/random_values.py", "tritonsmith/samples.py", "tritonsmith/spec.py")
_CONFIG_CODE = ("templates/triton/*", "tritonsmith/templates/triton/*", "tritonsmith/pbtxt.py")
"""Our own files that decide what is built; the templates lie elsewhere in a wheel than in a checkout."""


def files_unchanged(manifest: Manifest, root: Path) -> bool:
    """True when every file that the build read is as it was; their paths start at `root`, the model's folder."""
    return all(is_unchanged(root / path, old) for path, old in manifest.files.items())


def artifacts_unchanged(manifest: Manifest, root: Path) -> bool:
    """True when every artifact is there with the content that was proven."""
    return all(is_unchanged(root / artifact.path, artifact.stamp) for artifact in manifest.artifacts)


def dump_manifest(manifest: Manifest) -> str:
    """JSON text; infinities, which JSON lacks, become the strings "inf" (`sqnr_db` of equal outputs) and "-inf"."""
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
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _infinite(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("inf", "-inf", "nan")
    return {key: float(value) if isinstance(value, str) and value in names else value for key, value in row.items()}
