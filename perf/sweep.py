"""A sweep: one model at rising concurrency, each point on the disk before the next is measured.

It measures and records; tables and reports are made of the record.
"""

from __future__ import annotations

import hashlib
import json
import math
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
from perf.target import TIMEOUT_S, ModelFacts, Target
from tritonsmith.address import DEFAULT_URLS, Protocol, host_of, parse_address
from tritonsmith.errors import MeasurementError, RepositoryError
from tritonsmith.repository import DEFAULT_REPOSITORY, ModelFolder, find_model
from tritonsmith.runtime import machine, package_versions
from tritonsmith.spec import Spec
from tritonsmith.spec_file import read_spec

_PACKAGES = ("tritonsmith", "tritonclient", "nvidia-pytriton", "onnxruntime", "numpy", "grpcio")
_LONGEST_INTERVAL_MS = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What to measure and how; `model` is a name on the server, a model folder or a spec.yaml.

    `timeout_s` is how long the server may take to answer a question and the first request. Raises MeasurementError for
    a number that makes no sense and RequestError for a url that is none.
    """

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
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        least = {"batch": 1, "interval_ms": 100, "trials": 1, "tolerance": 0.001, "timeout_s": 0.1}
        for name, smallest in least.items():
            value = getattr(self, name)
            if not smallest <= value < math.inf:
                raise MeasurementError(f"{name} {value} must be finite and at least {smallest}")
        if self.url is not None:
            parse_address(self.url)

    @property
    def address(self) -> str:
        """HOST:PORT, the protocol's usual one unless given."""
        return DEFAULT_URLS[self.protocol] if self.url is None else parse_address(self.url)


def run_sweep(options: SweepOptions, *, watcher: Watcher | None = None) -> Run:
    """Measure every level that the record does not have yet; returns the run with the levels asked for.

    Raises MeasurementError when the server or the model is not there, when the record is of something else or another
    sweep is writing it, or when a level cannot be measured; the points so far are kept, and the same command goes on
    from there.
    """
    folder, spec = _find_spec(options)
    name = folder.name if folder else options.model
    with _open(options, name) as target:
        facts = target.facts()
        _check(facts, options)
        records = Records(options.out or Path("reports") / name)
        with records.locked():
            setting = Setting(options=options, target=target, facts=facts, folder=folder, spec=spec)
            run = _measure_missing(setting, records, watcher or Silent())
    return run.only(options.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a sweep works with: the options, the connection, what the server says of the model, and its spec if any."""

    options: SweepOptions
    target: Target
    facts: ModelFacts
    folder: ModelFolder | None
    spec: Spec | None


def _measure_missing(setting: Setting, records: Records, watcher: Watcher) -> Run:
    """Measure the levels that the record lacks; returns all of the record."""
    options = setting.options
    chosen = choose_client(options.client)
    wanted = Wanted(facts=setting.facts, spec=setting.spec, shapes=options.shapes)
    data = load_input_data(options.input_data, wanted).for_batch(options.batch)
    load = _load(setting, data)
    header = _header(setting, chosen, data)
    run = resume(records, header, fresh=options.fresh)
    missing = [level for level in options.levels if level not in {point.concurrency for point in run.points}]
    watcher.begin(header, missing=missing, kept=len(options.levels) - len(missing))
    for level in missing:
        point = measure_level(replace(load, concurrency=level), chosen, setting.target, records)
        records.append(point)
        watcher.measured(point)
        run = run.with_point(point)
    return run


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
    return Target(
        url=options.address,
        protocol=options.protocol,
        model=name,
        version=options.model_version,
        timeout_s=options.timeout_s,
    )


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


def _load(setting: Setting, data: InputData) -> Load:
    """The load of the first level, after one request was tried."""
    options = setting.options
    request_bytes = setting.target.try_once(data.requests(options.batch)[0])
    return Load(
        url=options.address,
        protocol=options.protocol,
        model=setting.facts.name,
        version=options.model_version,
        concurrency=options.levels[0],
        batch=options.batch,
        data=data,
        request_bytes=request_bytes,
        interval_ms=options.interval_ms,
        tolerance=options.tolerance,
        trials=options.trials,
    )


def measure_level(load: Load, chosen: Chosen, target: Target, records: Records) -> Point:
    """One point; windows without an answer are made longer. When the server died, the error says what is kept."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    client = f"{chosen.client.kind} {chosen.client.version}"
    try:
        while (measured := chosen.client.measure(load, target.statistics)) is None:
            longer = min(load.interval_ms * 4, _LONGEST_INTERVAL_MS)
            if longer <= load.interval_ms:
                raise no_answer(load)
            load = replace(load, interval_ms=longer)
    except MeasurementError as error:
        if target.is_live():
            raise
        raise MeasurementError(
            f"the server at {load.url} stopped answering at concurrency {load.concurrency}",
            hint=f"points so far are in {records.path}; start the server and run the same command to go on",
        ) from error
    return make_point(load, measured, client=client, started=started)


def no_answer(load: Load) -> MeasurementError:
    """The error for a level at which even the longest windows pass without an answer."""
    return MeasurementError(
        f"no request was answered within {load.interval_ms / 1000:g} s at concurrency {load.concurrency}",
        hint="see the server's log",
    )


def _header(setting: Setting, chosen: Chosen, data: InputData) -> Header:
    here, options, facts = machine(), setting.options, setting.facts
    identity = Identity(
        model=facts.name,
        version=facts.version,
        host=host_of(options.address),
        protocol=options.protocol,
        client=chosen.client.kind,
        client_version=chosen.client.version,
        batch=options.batch,
        input_kind=data.kind,
        input_sha256=data.sha256,
        interval_ms=options.interval_ms,
        server=facts.server,
        config_sha256=facts.config_sha256,
        build=build_hash(setting.folder.manifest) if setting.folder else None,
        machine=f"{here.processor}, {here.cpus} cores",
    )
    slo = setting.spec.serving.slo if setting.spec else None
    return Header(
        identity=identity,
        url=options.address,
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
