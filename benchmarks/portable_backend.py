"""The portable backend against ONNX Runtime called in-process, in one run: throughput ratios and the cost of a request.

`python -m benchmarks.portable_backend` (or `make bench`), with both models built. Each model is served with one
instance and one intra-op thread; in-process means one session with one thread that runs batches as large as the
concurrency, back to back: the most that one such instance could serve. Server and in-process alternate.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from builders.session import OnnxModel
from builders.synthetic import make_inputs
from perf.point import Point
from perf.sweep import SweepOptions, run_sweep
from serving.server import TritonServer
from tritonsmith.cli import leave, run
from tritonsmith.console import log, out
from tritonsmith.errors import BuildError
from tritonsmith.pbtxt import render_config
from tritonsmith.repository import find_model
from tritonsmith.runtime import machine, package_versions
from tritonsmith.samples import load_samples
from tritonsmith.spec import BATCH, Instances, Spec
from tritonsmith.spec_file import dump_spec, read_spec

MODELS = ("minilm", "digits")
SEQUENCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternation:
    """One pair of measurements; rows per second, microseconds of the server's compute stages, rows per execution."""

    model: str
    concurrency: int
    served_ips: float
    in_process_ips: float
    compute_us: float
    rows_per_execution: float
    run_us: float
    client: str

    @property
    def ratio(self) -> float:
        """Served throughput / in-process throughput at a batch of the concurrency."""
        return self.served_ips / self.in_process_ips

    @property
    def cost_us(self) -> float:
        """The backend's own time per request = (compute stages - run of such a batch in-process) / rows per run."""
        return (self.compute_us - self.run_us) / self.rows_per_execution


def minilm_requests() -> Iterator[dict[str, NDArray[np.generic]]]:
    """Sentences of the example, brought to 64 tokens each."""
    spec = read_spec(find_model("minilm").spec)
    samples = load_samples(spec, limit=64)
    for seed in range(32):
        yield make_inputs(spec, {BATCH: 1, "sequence": SEQUENCE}, samples, seed=seed)


def lay_repository(target: Path) -> dict[str, Spec]:
    """A repository with both artifacts, one instance and one thread each."""
    specs = {}
    for name in MODELS:
        folder = find_model(name)
        if not folder.manifest.is_file():
            raise BuildError(f"{name} is not built", hint=f"build-engine {' '.join(MODELS)}")
        spec = read_spec(folder.spec)
        serving = replace(spec.serving, instances=Instances(count=1, threads=1))
        spec = replace(spec, serving=serving)
        if name == "minilm":
            spec = replace(spec, samples="benchmarks.portable_backend:minilm_requests")
        (target / name / "1").mkdir(parents=True)
        (target / name / "1" / "model.onnx").symlink_to((folder.version() / "model.onnx").resolve())
        (target / name / "config.pbtxt").write_text(render_config(spec, host="cpu"))
        (target / name / "spec.yaml").write_text(dump_spec(spec))
        specs[name] = spec
    return specs


def in_process(spec: Spec, model: OnnxModel, batch: int, *, seconds: float) -> float:
    """Seconds that one run of a batch takes, the median of as many as fit into `seconds`."""
    samples = load_samples(spec, limit=32)
    sizes = {name: dim.opt for name, dim in spec.dims.items()} | {BATCH: batch, "sequence": SEQUENCE}
    inputs = make_inputs(spec, {name: sizes[name] for name in spec.dims}, samples)
    times: list[float] = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        model(inputs)
        times.append(time.perf_counter() - before)
    return statistics.median(times[len(times) // 10 :])


def measure(server: TritonServer, spec: Spec, repository: Path, concurrency: int, seconds: float) -> Alternation:
    """Serve, then run in-process."""
    options = SweepOptions(
        model=spec.name,
        repository=repository,
        levels=(concurrency,),
        url=server.grpc_url,
        out=repository.parent / "points" / spec.name,
        fresh=True,
        interval_ms=int(seconds * 1000 / 3),
    )
    point = run_sweep(options).points[0]
    model = OnnxModel(repository / spec.name / "1" / "model.onnx", threads=1)
    rows = max(1, round(point.batch_size_mean or 1))
    return Alternation(
        model=spec.name,
        concurrency=concurrency,
        served_ips=point.throughput_ips,
        in_process_ips=concurrency / in_process(spec, model, concurrency, seconds=seconds),
        compute_us=_compute_us(point),
        rows_per_execution=point.batch_size_mean or 1,
        run_us=in_process(spec, model, rows, seconds=seconds / 2) * 1e6,
        client=point.client,
    )


def _compute_us(point: Point) -> float:
    return sum(getattr(point, f"compute_{stage}_us") or 0.0 for stage in ("input", "infer", "output"))


def show(rows: list[Alternation]) -> None:
    """A row per model and concurrency: medians over the alternations, and the range of the ratio."""
    table = Table("model", "load", "served", "inside", "ratio", "range", "batch", "cost µs")
    for key in dict.fromkeys((row.model, row.concurrency) for row in rows):
        group = [row for row in rows if (row.model, row.concurrency) == key]
        ratios = sorted(row.ratio for row in group)
        served, inside, mean_rows, cost = (
            statistics.median(getattr(row, name) for row in group)
            for name in ("served_ips", "in_process_ips", "rows_per_execution", "cost_us")
        )
        cells = (f"{served:.0f}", f"{inside:.0f}", f"{statistics.median(ratios):.2f}")
        table.add_row(
            key[0], str(key[1]), *cells, f"{ratios[0]:.2f}-{ratios[-1]:.2f}", f"{mean_rows:.1f}", f"{cost:.0f}"
        )
    out.print(table)
    out.print(
        f"client {rows[0].client}; medians of {len(group)} alternations; served and inside in rows/s; "
        "cost: the backend's own time per request, without the run"
    )


@click.command()
@click.option("--alternations", default=3, show_default=True)
@click.option("--seconds", default=3.0, show_default=True, help="Of each measurement.")
@click.option("--concurrency", default="1,4,16", show_default=True)
@click.option("--model", "models", multiple=True, type=click.Choice(MODELS), help="Only this model.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every alternation here.")
def portable_backend(
    alternations: int, seconds: float, concurrency: str, models: tuple[str, ...], json_path: Path | None
) -> None:
    """Measure the portable backend against ONNX Runtime in-process."""
    levels = [int(level) for level in concurrency.split(",")]
    rows: list[Alternation] = []
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch) / "repository"
        specs = lay_repository(repository)
        with TritonServer.start(repository) as server, log.status("measuring") as status:
            for turn in range(alternations):
                for name in models or MODELS:
                    for level in levels:
                        status.update(f"alternation {turn + 1} of {alternations}: {name} at concurrency {level}")
                        rows.append(measure(server, specs[name], repository, level, seconds))
    show(rows)
    if json_path is not None:
        record: dict[str, Any] = {"machine": asdict(machine()), "versions": package_versions(("onnxruntime", "numpy"))}
        json_path.write_text(json.dumps({**record, "alternations": [asdict(row) for row in rows]}, indent=2))


if __name__ == "__main__":
    leave(run(portable_backend, None, name="portable_backend"))
