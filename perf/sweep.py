"""A sweep: one model at rising concurrency, each point on the disk before the next is measured.

It measures and records; tables and reports are made of the record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from perf.client import Choice, Chosen, choose_client
from perf.input_data import InputData
from perf.input_source import Wanted, load_input_data
from perf.load import Load
from perf.point import Point, make_point
from perf.progress import Silent, Watcher
from perf.records import Records
from perf.run import Header, Identity, Run
from perf.target import DEFAULT_URLS, ModelFacts, Protocol, Target
from tritonsmith.errors import MeasurementError, RepositoryError
from tritonsmith.repository import DEFAULT_REPOSITORY, ModelFolder, find_model
from tritonsmith.runtime import machine, package_versions
from tritonsmith.spec import Spec
from tritonsmith.spec_file import read_spec

_PACKAGES = ("tritonsmith", "tritonclient", "nvidia-pytriton", "onnxruntime", "numpy", "grpcio")
_LONGEST_INTERVAL_MS = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What to measure and how; `model` is a name on the server, a model folder or a spec.yaml."""

    model: str
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    batch: int = 1
    protocol: Protocol = "grpc"
    url: str | None = None
    model_version: str = ""
    client: Choice = "auto"
    input_data: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    repository: Path = DEFAULT_REPOSITORY
    out: Path | None = None
    fresh: bool = False
    interval_ms: int = 1000
    tolerance: float = 0.15
    trials: int = 2

    def __post_init__(self) -> None:
        least = {"batch": 1, "interval_ms": 100, "trials": 1, "tolerance": 0.001}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise MeasurementError(f"{name} {getattr(self, name)} must be at least {smallest}")

    @property
    def address(self) -> str:
        """HOST:PORT, the protocol's usual one unless given."""
        return self.url or DEFAULT_URLS[self.protocol]


def run_sweep(options: SweepOptions, *, watcher: Watcher | None = None) -> Run:
    """Measure every level that the record does not have yet; returns the run with the levels asked for.

    Raises MeasurementError when the server or the model is not there, when the record is of something else, or when a
    level cannot be measured; the points so far are kept, and the same command goes on from there.
    """
    watcher = watcher or Silent()
    folder, spec = _find_spec(options)
    name = folder.name if folder else options.model
    records = Records(options.out or Path("reports") / name)
    with _open(options, name) as target:
        facts = target.facts()
        _check(facts, options)
        chosen = choose_client(options.client)
        wanted = Wanted(facts=facts, spec=spec, shapes=options.shapes)
        data = load_input_data(options.input_data, wanted).for_batch(options.batch)
        load = _load(options, facts, data, target)
        header = _header(options, facts, chosen, data, folder, spec)
        run = resume(records, header, fresh=options.fresh)
        missing = [level for level in options.levels if level not in {point.concurrency for point in run.points}]
        watcher.begin(header, missing=missing, kept=len(options.levels) - len(missing))
        for level in missing:
            point = _measure(replace(load, concurrency=level), chosen, target, records)
            records.append(point)
            watcher.measured(point)
            run = run.with_point(point)
    return run.only(options.levels)


def _find_spec(options: SweepOptions) -> tuple[ModelFolder | None, Spec | None]:
    """The model's folder and spec; (None, None) for a model that is only on the server."""
    try:
        folder = find_model(options.model, options.repository)
    except RepositoryError:
        if "/" in options.model or options.model.endswith((".yaml", ".yml")):
            raise
        return None, None
    return folder, read_spec(folder.spec)


def _open(options: SweepOptions, name: str) -> Target:
    return Target(url=options.address, protocol=options.protocol, model=name, version=options.model_version)


def _check(facts: ModelFacts, options: SweepOptions) -> None:
    if facts.decoupled:
        raise MeasurementError(
            f"{facts.name} is decoupled: it may answer a request any number of times",
            hint="sweep measures models that answer once",
        )
    largest = max(1, facts.max_batch_size)
    if options.batch > largest:
        raise MeasurementError(
            f"--batch {options.batch} is more than the {largest} that {facts.name} takes (max_batch_size)",
            hint="choose a smaller one, or raise the model's max_batch_size",
        )
    unknown = options.shapes.keys() - {tensor.name for tensor in facts.inputs}
    if unknown:
        there = ", ".join(tensor.name for tensor in facts.inputs)
        raise MeasurementError(f"--shape {sorted(unknown)[0]}: {facts.name} has no such input", hint=f"there: {there}")


def _load(options: SweepOptions, facts: ModelFacts, data: InputData, target: Target) -> Load:
    """The load of the first level, after one request was tried."""
    request_bytes = target.try_once(data.requests(options.batch)[0])
    return Load(
        url=options.address,
        protocol=options.protocol,
        model=facts.name,
        version=options.model_version,
        concurrency=options.levels[0],
        batch=options.batch,
        data=data,
        request_bytes=request_bytes,
        interval_ms=options.interval_ms,
        tolerance=options.tolerance,
        trials=options.trials,
    )


def _measure(load: Load, chosen: Chosen, target: Target, records: Records) -> Point:
    """One point; windows without an answer are made longer. When the server died, the error says what is kept."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    client = f"{chosen.client.kind} {chosen.client.version}"
    try:
        while load.interval_ms <= _LONGEST_INTERVAL_MS:
            measured = chosen.client.measure(load, target.statistics)
            if measured is not None:
                return make_point(load, measured, client=client, started=started)
            load = replace(load, interval_ms=load.interval_ms * 4)
    except MeasurementError as error:
        if target.is_live():
            raise
        raise MeasurementError(
            f"the server at {load.url} stopped answering at concurrency {load.concurrency}",
            hint=f"points so far are in {records.path}; start the server and run the same command to go on",
        ) from error
    raise MeasurementError(f"no request was answered within {load.interval_ms / 4000:g} s", hint="see the server's log")


def _header(
    options: SweepOptions,
    facts: ModelFacts,
    chosen: Chosen,
    data: InputData,
    folder: ModelFolder | None,
    spec: Spec | None,
) -> Header:
    here = machine()
    identity = Identity(
        model=facts.name,
        version=facts.version,
        url=options.address,
        protocol=options.protocol,
        client=chosen.client.kind,
        client_version=chosen.client.version,
        batch=options.batch,
        input_kind=data.kind,
        input_sha256=data.sha256,
        interval_ms=options.interval_ms,
        server=facts.server,
        config_sha256=facts.config_sha256,
        build=build_hash(folder.manifest) if folder else None,
        machine=f"{here.processor}, {here.cpus} cores",
    )
    slo = spec.serving.slo if spec else None
    return Header(
        identity=identity,
        client_why=chosen.why,
        input_source=data.source,
        input_shapes=data.shapes,
        max_batch_size=facts.max_batch_size,
        slo_p99_ms=slo.latency_p99_ms if slo else None,
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=asdict(here),
        versions=package_versions(_PACKAGES),
    )


def build_hash(manifest: Path) -> str | None:
    """A hash of the artifacts that build.json lists, or of the whole file where it lists none; None without a file."""
    try:
        content = manifest.read_bytes()
        listed = sorted((item["path"], item["sha256"]) for item in json.loads(content)["artifacts"])
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    except OSError:
        return None
    except (ValueError, KeyError, TypeError):
        return hashlib.sha256(content).hexdigest()


def resume(records: Records, header: Header, *, fresh: bool) -> Run:
    """The run to go on with: the recorded one when it is of the same, else a new one where that is wanted."""
    if fresh:
        return records.start(header)
    recorded = records.read()
    if recorded is None:
        return records.start(header)
    differences = recorded.header.identity.differences(header.identity)
    if differences:
        raise MeasurementError(
            f"{records.path} was measured on something else ({'; '.join(differences)})",
            hint="--fresh measures anew and keeps the old file beside; --out names another folder",
        )
    return recorded
