"""`tritonsmith serve`, `infer` and `doctor`: options in, calls out. Everything heavy is imported inside the command."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonsmith.address import Protocol, parse_address
from tritonsmith.option_types import FiniteRange, Parsed
from tritonsmith.repository import DEFAULT_REPOSITORY
from tritonsmith.signals import signals_as_interrupt

if TYPE_CHECKING:
    from serving.request import Given

_PORT = click.IntRange(0, 65535)
_LOOPBACK = ("127.", "localhost", "::1")
_FOLDER = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("repository", type=_FOLDER, default=DEFAULT_REPOSITORY)
@click.option("--model", "models", multiple=True, metavar="NAME", help="Serve this model only; may be repeated.")
@click.option("--http-port", type=_PORT, default=8000, show_default=True, help="0 chooses a free one.")
@click.option("--grpc-port", type=_PORT, default=8001, show_default=True)
@click.option("--metrics-port", type=_PORT, default=8002, show_default=True)
@click.option("--free-ports", is_flag=True, help="Choose three free ports.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 is everywhere.")
@click.option("--host", type=click.Choice(["cpu", "gpu"]), help="Serve configs/HOST.pbtxt; by default what is here.")
@click.option("--log", type=_FILE, help="Keep Triton's log in this file.")
@click.option("--ready-timeout", type=FiniteRange(min=1), default=300, show_default=True, help="Seconds.")
@click.option(
    "--exit-timeout", type=click.IntRange(1), default=30, show_default=True, help="Seconds for open requests."
)
def serve(
    *,
    repository: Path,
    models: tuple[str, ...],
    http_port: int,
    grpc_port: int,
    metrics_port: int,
    free_ports: bool,
    address: str,
    host: str | None,
    log: Path | None,
    ready_timeout: float,
    exit_timeout: int,
) -> None:
    """Serve a model REPOSITORY with a real Triton until Ctrl-C."""
    from serving.server import TritonServer
    from serving.terminal import remark, show_progress, show_ready

    _remarks(repository, models, address)
    ports = (0, 0, 0) if free_ports else (http_port, grpc_port, metrics_port)
    with signals_as_interrupt(), show_progress() as on_progress:
        server = TritonServer.start(
            repository,
            models=models,
            http_port=ports[0],
            grpc_port=ports[1],
            metrics_port=ports[2],
            address=address,
            config_name=host,
            log_path=log,
            ready_timeout_s=ready_timeout,
            exit_timeout_s=exit_timeout,
            on_progress=on_progress,
        )
    with signals_as_interrupt(), server:
        with suppress(KeyboardInterrupt):  # the way to stop it
            show_ready(server, repository)
            server.wait()
        remark("stopping; Ctrl-C again to kill it")


def _remarks(repository: Path, models: tuple[str, ...], address: str) -> None:
    """What a person should know before the start."""
    from serving.preflight import check_shared_memory, loadable_models
    from serving.terminal import remark

    for name in loadable_models(repository, models).not_built:
        remark(f"{name} is not built, so it is left out: build-engine {name}")
    if not address.startswith(_LOOPBACK):
        remark(f"listening on {address}: whoever reaches this machine can send requests, and there is no password")
    tight = check_shared_memory()
    if tight:
        remark(tight)


@click.command()
@click.argument("model")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="JSON ('ids=[1, 2]'), NAME=@FILE.npy, @REQUEST.json or @ARRAYS.npz; may be repeated.",
)
@click.option("--sample", type=click.IntRange(0), metavar="N", help="Send sample N of the model's spec.")
@click.option("--repository", type=_FOLDER, default=DEFAULT_REPOSITORY, show_default=True, help="For --sample.")
@click.option(
    "--url",
    type=Parsed(parse_address, "HOST:PORT"),
    metavar="HOST:PORT",
    help="By default 127.0.0.1:8000 (http) or 127.0.0.1:8001 (grpc).",
)
@click.option("--protocol", type=click.Choice(["http", "grpc"]), default="http", show_default=True)
@click.option("--timeout", type=FiniteRange(min=0.1), default=60, show_default=True, help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print all values as JSON; NaN and infinity as null.")
@click.option("--output", type=_FILE, metavar="FILE.npz", help="Write the outputs into a file.")
def infer(
    *,
    model: str,
    inputs: tuple[str, ...],
    sample: int | None,
    repository: Path,
    url: str | None,
    protocol: Protocol,
    timeout: float,
    as_json: bool,
    output: Path | None,
) -> None:
    """Send one request to MODEL and print the outputs.

    A missing batch dim is added. Where a row is a single number, values [n] are n rows.
    """
    if output is not None and output.suffix != ".npz":
        raise click.BadParameter(f"{output} must end in .npz", param_hint="--output")
    given = _given(model, inputs, sample, repository)

    from serving import response
    from serving.client import Client
    from serving.request import fit_inputs

    with Client(url, protocol=protocol, timeout_s=timeout) as client:
        metadata = client.metadata(model)
        arrays = fit_inputs(metadata, given)
        began = time.perf_counter()
        outputs = client.infer(model, arrays, datatypes={tensor.name: tensor.datatype for tensor in metadata.inputs})
        seconds = time.perf_counter() - began
    if output is not None:
        response.write_npz(output, outputs)
    click.echo(json.dumps(response.as_json(model, outputs), allow_nan=False) if as_json else response.as_text(outputs))
    click.echo(f"{seconds * 1e3:.1f} ms over {protocol}", err=True)


def _given(model: str, inputs: tuple[str, ...], sample: int | None, repository: Path) -> Given:
    """What the options give; exactly one of --input and --sample."""
    if bool(inputs) == (sample is not None):
        raise click.UsageError(f"give --input NAME=VALUE for each input of {model!r}, or --sample N from its spec")
    from serving.request import read_inputs, read_sample

    if sample is not None:
        return read_sample(model, repository, sample)
    try:
        return read_inputs(inputs)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--input") from error


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@click.option("--quick", is_flag=True, help="Look only; do not start a server.")
def doctor(as_json: bool, quick: bool) -> int:
    """Check this machine: what runs here, what is missing, how to get it."""
    from serving.doctor import as_rows, check_all, is_able
    from serving.terminal import show_checks

    checks = check_all(start_server=not quick)
    if as_json:
        click.echo(json.dumps({"able": is_able(checks), "checks": as_rows(checks)}, indent=2))
    else:
        show_checks(checks)
    return 0 if is_able(checks) else 1
