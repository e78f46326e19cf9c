"""The whole line on two real models: build, serve with a real Triton, compare with PyTorch, measure, report.

Run it with `make demo`. It needs no GPU and no Docker, binds loopback only, and stops what it started.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from builders.build import build
from builders.parity import compare_output
from builders.summary import print_summary
from perf.progress import Terminal
from perf.report import write_report
from perf.run import Run
from perf.sweep import SweepOptions, run_sweep
from perf.table import render_run
from serving.client import Client
from serving.server import TritonServer
from tritonsmith.cli import leave, run
from tritonsmith.console import log, out
from tritonsmith.errors import ParityError
from tritonsmith.repository import DEFAULT_REPOSITORY, find_model
from tritonsmith.samples import load_samples
from tritonsmith.spec import Spec, Tolerance
from tritonsmith.spec_file import read_spec

MODELS = ("minilm", "digits")
REPORT = Path("reports/demo/index.html")
REQUESTS = 5
GATE = Tolerance(atol=1e-4, rtol=1e-3)

Reference = Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]


@click.command()
def demo() -> None:
    """Build, serve, check and measure the two example models."""
    _headline("1. build: PyTorch to ONNX, proven against PyTorch")
    specs = [_build(name) for name in MODELS]
    _headline("2. serve: a real Triton on this machine")
    with log.status("starting Triton"):
        server = TritonServer.start(DEFAULT_REPOSITORY, models=MODELS)
    with server:
        out.print(f"Triton {server.version} serves {', '.join(MODELS)} at {server.http_url} and {server.grpc_url}")
        _headline("3. check: served values against PyTorch")
        _check(server, specs)
        _headline("4. measure: throughput and latency")
        runs = [_measure(server, spec) for spec in specs]
    write_report(REPORT, runs, title="tritonsmith demo")
    _headline("done: the server is stopped")
    _what_next()


def _headline(text: str) -> None:
    out.print(f"\n[bold cyan]{text}[/]")


def _build(name: str) -> Spec:
    folder = find_model(name)
    spec = read_spec(folder.spec)
    with log.status(name) as status:
        manifest = build(folder, spec, report=lambda text: status.update(f"{name}: {text}"))
    print_summary(folder, manifest)
    return spec


def _check(server: TritonServer, specs: list[Spec]) -> None:
    """Send real samples over both protocols and compare every value; ParityError for the first that is off."""
    table = Table("model", "protocol", "requests", "values", "max abs", "cosine")
    for spec in specs:
        with log.status(f"{spec.name}: computing the answers of PyTorch"):
            samples = load_samples(spec, limit=REQUESTS)
            expected = [_reference(spec.name)(sample) for sample in samples]
        for protocol, url in (("http", server.http_url), ("grpc", server.grpc_url)):
            with Client(url, protocol=protocol) as client:  # type: ignore[arg-type]  # the loop's literals
                answers = [client.infer(spec.name, sample) for sample in samples]
            table.add_row(spec.name, protocol, str(len(samples)), *_compare(spec, answers, expected))
    out.print(table)


def _reference(name: str) -> Reference:
    from examples import digits, minilm

    return {"minilm": minilm.reference, "digits": digits.reference}[name]


def _compare(spec: Spec, answers: list[dict[str, NDArray[Any]]], expected: list[NDArray[Any]]) -> tuple[str, ...]:
    output = next(iter(spec.outputs))
    rows = [
        compare_output("served", output, answer.get(output), reference, GATE)
        for answer, reference in zip(answers, expected, strict=True)
    ]
    for row in rows:
        if row.problem:
            raise ParityError(f"{spec.name}: served output {output!r} {row.problem}")
    values = sum(int(np.prod(row.shape)) for row in rows)
    return str(values), f"{max(row.max_abs for row in rows):.1e}", f"{min(row.cosine for row in rows):.6f}"


def _measure(server: TritonServer, spec: Spec) -> Run:
    folder = REPORT.parent / spec.name
    shutil.rmtree(folder, ignore_errors=True)  # a demo measures each time
    options = SweepOptions(model=spec.name, levels=(1, 2, 4, 8), url=server.grpc_url, out=folder)
    with Terminal() as terminal:
        measured = run_sweep(options, watcher=terminal)
    out.print(render_run(measured))
    return measured


def _what_next() -> None:
    out.print(f"report: {REPORT}")
    out.print("try next:")
    for command, why in (
        (".venv/bin/tritonsmith serve", "serve both models until Ctrl-C"),
        (".venv/bin/tritonsmith infer digits --sample 3", "in another terminal: ask one of them"),
        (".venv/bin/tritonsmith sweep digits --concurrency 1:32", "and measure it"),
    ):
        out.print(f"  {command:<55} [dim]# {why}[/]")


if __name__ == "__main__":
    leave(run(demo, None, name="demo"))
