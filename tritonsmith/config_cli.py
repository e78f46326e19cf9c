"""`tritonsmith config`: print the config.pbtxt that a spec gives, without building anything."""

from __future__ import annotations

from pathlib import Path

import click

from tritonsmith.pbtxt import BACKENDS, HOSTS, Host, render_config
from tritonsmith.repository import DEFAULT_REPOSITORY, find_model
from tritonsmith.spec import Backend
from tritonsmith.spec_file import read_spec


@click.group()
def config() -> None:
    """Look at the configuration that a spec gives."""


@config.command("render")
@click.argument("model")
@click.option("--host", type=click.Choice(HOSTS), default="auto", show_default=True, help="What the server runs on.")
@click.option("--backend", type=click.Choice(list(BACKENDS)), help="Another backend than the spec's.")
@click.option("--repository", type=click.Path(path_type=Path), default=DEFAULT_REPOSITORY, show_default=True)
def render_command(model: str, host: Host, backend: Backend | None, repository: Path) -> None:
    """Print the config.pbtxt of MODEL (a name, a folder, or a spec.yaml)."""
    spec = read_spec(find_model(model, repository).spec)
    click.echo(render_config(spec, host=host, backend=backend), nl=False)
