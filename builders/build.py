"""The build of one model: load, export, check, parity, metric, configure, publish; or a cache hit.

Everything is made in a staging folder beside the model's and moved in at the end, so a build that fails or is
interrupted leaves the last good one untouched.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders import manifest as records
from builders.manifest import Artifact, Manifest, MetricResult
from builders.provenance import PACKAGES, recorded_files, stamp
from tritonsmith.errors import BuildError, ExportError, GateError
from tritonsmith.files import staging_folder, write_atomic
from tritonsmith.pbtxt import BACKENDS, render_config
from tritonsmith.references import load_reference, run_user_code
from tritonsmith.repository import CONFIG, CONFIGS, MANIFEST, ModelFolder
from tritonsmith.runtime import machine, package_versions
from tritonsmith.samples import Predict, Sample, load_samples
from tritonsmith.spec import Spec, TensorSpec

if TYPE_CHECKING:
    from builders.parity import OutputParity

MAX_SAMPLES = 512
"""Samples that a build looks at; an endless generator is fine."""
METRIC_TOLERANCE = 0.01
"""The task metric of an artifact may be lower than the reference's by this fraction."""

Report = Callable[[str], None]


@dataclass(slots=True)
class Stages:
    """Tells the user what is going on and measures how long each stage took (seconds)."""

    report: Report = lambda _text: None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage under `name`."""
        self.report(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)

    def parity_case(self, name: str) -> None:
        """Say which case parity is busy with."""
        self.report(f"parity: {name}")


def build(folder: ModelFolder, spec: Spec, *, force: bool = False, report: Report = lambda _text: None) -> Manifest:
    """Build the model of `folder` unless nothing changed, and return the record.

    Raises the errors of its stages; then nothing was published. ParityError and GateError mean that the artifact was
    made but is not good enough.
    """
    _check_buildable(spec)
    last = None if force else records.read_manifest(folder.manifest)
    if last is not None and _artifact_is_current(last, spec, folder):
        return _refresh_configs(last, spec, folder)
    with staging_folder(folder.root) as stage:
        manifest = _build_into(stage, folder, spec, Stages(report))
        report("publish")
        folder.publish(stage)
    return manifest


def _check_buildable(spec: Spec) -> None:
    """What has no builder is refused before anything is loaded or replaced."""
    backend = spec.serving.backend
    if backend != "onnxruntime":
        raise BuildError(
            f"serving.backend {backend!r}: build-engine makes models for the onnxruntime backend",
            hint=f"put your own {BACKENDS[backend].filename} into {spec.name}/1 and write config.pbtxt with "
            f"`tritonsmith config render {spec.name}`",
        )


def _artifact_is_current(last: Manifest, spec: Spec, folder: ModelFolder) -> bool:
    return (
        last.artifact_key == records.artifact_key(spec)
        and records.artifacts_unchanged(last, folder.root)
        and records.files_unchanged(last, folder.root)
    )


def _refresh_configs(last: Manifest, spec: Spec, folder: ModelFolder) -> Manifest:
    """A cache hit; when only `serving` changed, or a config is gone, the configs are written again."""
    key = records.serving_key(spec)
    configs = [folder.config, folder.named_config("cpu"), folder.named_config("gpu")]
    if last.serving_key != key or not all(path.is_file() for path in configs):
        last = replace(last, serving_key=key)
        with staging_folder(folder.root) as stage:
            _write_configs(stage, _with_outputs(spec, last.outputs))
            write_atomic(stage / MANIFEST, records.dump_manifest(last))
            folder.publish(stage)
    return replace(last, cached=True)


def _with_outputs(spec: Spec, outputs: Mapping[str, Any]) -> Spec:
    shapes = {name: TensorSpec(**{**row, "shape": tuple(row["shape"])}) for name, row in outputs.items()}
    return spec if spec.outputs else replace(spec, outputs=shapes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What the stages made: the spec with its outputs known, and what the record says of the way there."""

    spec: Spec
    source: str
    reference: str
    samples: int
    parity: list[OutputParity]
    metric: MetricResult | None
    files: set[Path]
    opset: int
    ir_version: int
    warnings: tuple[str, ...]


def _build_into(stage: Path, folder: ModelFolder, spec: Spec, stages: Stages) -> Manifest:
    started = datetime.now(timezone.utc)
    path = stage / "1" / BACKENDS["onnxruntime"].filename
    path.parent.mkdir()
    made = _make_artifact(path, folder, spec, stages)
    _write_configs(stage, made.spec)
    manifest = Manifest(
        model=spec.name,
        artifact_key=records.artifact_key(spec),
        serving_key=records.serving_key(spec),
        opset=made.opset,
        ir_version=made.ir_version,
        source=made.source,
        reference=made.reference,
        artifacts=_artifacts(stage, stages.seconds["export"]),
        outputs={name: asdict(tensor) for name, tensor in made.spec.outputs.items()},
        parity=tuple(made.parity),
        metric=made.metric,
        samples=made.samples,
        files={os.path.relpath(file.resolve(), folder.root.resolve()): stamp(file) for file in sorted(made.files)},
        packages=package_versions(PACKAGES),
        machine=asdict(machine()),
        seconds=stages.seconds,
        built=started.isoformat(timespec="seconds"),
        warnings=made.warnings,
    )
    write_atomic(stage / MANIFEST, records.dump_manifest(manifest))
    return manifest


def _make_artifact(path: Path, folder: ModelFolder, spec: Spec, stages: Stages) -> _Made:
    from builders.export import export_onnx
    from builders.graph import check_ends, versions_of
    from builders.session import OnnxModel
    from builders.sources import load_model, source_files
    from builders.verify import require_parity, verify

    with stages.stage("load"), recorded_files(spec.source.factory, spec.samples) as files:
        samples = load_samples(spec, limit=MAX_SAMPLES)
        loaded = load_model(spec, folder.root)
        outputs = list(spec.outputs) or _discover_outputs(spec, loaded.predict, samples)
    with stages.stage("export"):
        export_onnx(loaded, spec, outputs, samples, path)
        spec = _with_graph_outputs(spec, check_ends(path, spec))
    with stages.stage("parity"):
        candidate = OnnxModel(path)
        results = verify(spec, loaded.predict, candidate, samples, on_case=stages.parity_case)
        require_parity(results)
    with stages.stage("metric"), recorded_files(spec.metric) as metric_files:
        metric = _measure_metric(spec, loaded.predict, candidate)
    return _Made(
        spec=spec,
        source=loaded.kind,
        reference=loaded.reference,
        samples=len(samples),
        parity=results,
        metric=metric,
        files=files | metric_files | source_files(spec, folder.root),
        **versions_of(path),
        warnings=_warnings(spec, samples),
    )


def _with_graph_outputs(spec: Spec, outputs: Mapping[str, TensorSpec]) -> Spec:
    """The spec with the outputs that the graph has; they must obey the rules of a spec too."""
    try:
        return replace(spec, outputs=outputs)
    except ValueError as error:
        raise ExportError(f"the model's {error}", hint="describe the outputs in the spec, or rename the dim") from error


def _discover_outputs(spec: Spec, predict: Predict, samples: Sequence[Sample]) -> list[str]:
    """The names that the model itself gives its outputs, from one forward pass."""
    from builders.synthetic import make_inputs, trace_sizes

    return list(predict(make_inputs(spec, trace_sizes(spec), samples)))


def _measure_metric(spec: Spec, reference: Predict, artifact: Predict) -> MetricResult | None:
    """The spec's task metric on both; GateError when the artifact falls behind by more than the tolerance."""
    if spec.metric is None:
        return None
    score = load_reference(spec.metric, role="metric")
    what = f"metric {spec.metric!r}"
    values = [run_user_code(lambda: float(score(predict)), what=what) for predict in (reference, artifact)]  # noqa: B023  # called at once
    result = MetricResult(name=spec.metric, reference=values[0], artifact=values[1])
    least = result.reference - METRIC_TOLERANCE * abs(result.reference)
    if not result.artifact >= least:  # NaN, too, is no pass
        raise GateError(
            f"metric {spec.metric!r} falls from {result.reference:.4f} to {result.artifact:.4f}, more than "
            f"{METRIC_TOLERANCE:.0%}",
            hint="nothing was published",
        )
    return result


def _write_configs(stage: Path, spec: Spec) -> None:
    write_atomic(stage / CONFIG, render_config(spec))
    for host in ("cpu", "gpu"):
        write_atomic(stage / CONFIGS / f"{host}.pbtxt", render_config(spec, host=host))


def _artifacts(stage: Path, seconds: float) -> tuple[Artifact, ...]:
    paths = sorted(path for path in (stage / "1").rglob("*") if path.is_file())
    return tuple(
        Artifact(
            path=str(path.relative_to(stage)),
            precision="fp32",
            seconds=seconds,
            **asdict(stamp(path)),
        )
        for path in paths
    )


def _warnings(spec: Spec, samples: Sequence[Sample]) -> tuple[str, ...]:
    from builders.synthetic import distinct_rows

    if not samples:
        return ("no samples: parity was checked on random values only; give `samples:` in the spec",)
    if spec.batches and distinct_rows(spec, samples) < 2:
        return ("all rows of the samples are equal: whether rows influence each other was tried on random values",)
    return ()
