"""`build-engine`: build models by name, by spec, or from options alone. Parses and calls, no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from builders.command_line import parse_dim, parse_tensor, spec_from_options
from builders.manifest import Manifest, dump_manifest
from tritonsmith import __version__
from tritonsmith.cli import leave, run
from tritonsmith.errors import SpecError
from tritonsmith.files import write_atomic
from tritonsmith.option_types import Parsed
from tritonsmith.repository import DEFAULT_REPOSITORY, ModelFolder, find_model
from tritonsmith.signals import signals_as_interrupt
from tritonsmith.spec import NEWEST_OPSET, OLDEST_OPSET, SOURCES, Spec
from tritonsmith.spec_file import dump_spec, read_spec

_TENSOR, _DIM = Parsed(parse_tensor, "tensor"), Parsed(parse_dim, "dim")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--repository", type=click.Path(path_type=Path), default=DEFAULT_REPOSITORY, show_default=True)
@click.option("--force", is_flag=True, help="Build even if nothing changed.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON; an array for several models.")
@click.option("--name", help="Build without a spec file: the model's name; spec.yaml is written for you.")
@click.option("--factory", help="Source: a function that returns a torch.nn.Module, as pkg.mod:load.")
@click.option("--hf", help="Source: a Hugging Face model directory.")
@click.option("--exported", help="Source: a torch.export program, X.pt2.")
@click.option("--torchscript", help="Source: a TorchScript file, X.pt.")
@click.option("--onnx", help="Source: an ONNX file.")
@click.option("--state-dict", help="Weights that are loaded into the factory's module.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    type=_TENSOR,
    metavar="TENSOR",
    help="NAME:DTYPE:SIZE,SIZE,… as in x:float32:batch,3,224,224.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    type=_TENSOR,
    metavar="TENSOR",
    help="Same form; left out, outputs are taken from the model.",
)
@click.option("--dim", "dims", multiple=True, type=_DIM, metavar="DIM", help="NAME:MIN:OPT:MAX as in batch:1:8:32.")
@click.option("--samples", help="A function that yields {input: array}, as pkg.mod:samples.")
@click.option("--metric", help="A function that scores a predictor, as pkg.mod:score.")
@click.option("--opset", type=click.IntRange(OLDEST_OPSET, NEWEST_OPSET), help="ONNX opset, 20 unless told otherwise.")
@click.version_option(__version__, prog_name="build-engine")
def build_engine(models: tuple[str, ...], repository: Path, force: bool, as_json: bool, **options: Any) -> None:
    """Export PyTorch models to ONNX, prove that they compute the same, and publish them to a model repository.

    MODEL is a name in the repository, a model folder, or a spec.yaml. Without MODEL, describe the model with --name, a
    source and --input.
    """
    if models and any(options.values()):
        given = next(f"--{key.replace('_', '-')}" for key, value in options.items() if value)
        raise click.UsageError(f"{given} describes a model without a spec; MODEL has one. Use either.")
    built = []
    for target in [_known_model(model, repository) for model in models] or [_new_model(repository, options)]:
        built.append(_build_one(target, force=force))
        if not as_json:
            _print_summary(target.folder, built[-1])
    if as_json:
        click.echo(dump_manifest(built[0]) if len(built) == 1 else _array(built), nl=False)


def _array(manifests: Sequence[Manifest]) -> str:
    return "[\n" + ",\n".join(dump_manifest(manifest).rstrip("\n") for manifest in manifests) + "\n]\n"


@dataclass(frozen=True, slots=True)
class _Target:
    """A model to build; `spec_text` is the spec.yaml that is written once the build went well, if any."""

    folder: ModelFolder
    spec: Spec
    spec_text: str | None = None


def _known_model(model: str, repository: Path) -> _Target:
    folder = find_model(model, repository)
    spec = read_spec(folder.spec)
    if spec.name != folder.name:
        raise SpecError(
            f"{folder.spec}: name {spec.name!r} differs from the folder {folder.name!r}",
            hint="Triton requires them to be equal: rename one",
        )
    return _Target(folder, spec)


def _new_model(repository: Path, options: dict[str, Any]) -> _Target:
    """The model that the options describe; a spec.yaml that says something else is left alone."""
    if not options["name"]:
        raise click.UsageError("name a MODEL, or describe one with --name, a source and --input.")
    spec = spec_from_options(
        name=options["name"],
        source={key: _absolute(key, options[key]) for key in (*SOURCES, "state_dict") if options[key]},
        inputs=options["inputs"],
        outputs=options["outputs"],
        dims=options["dims"],
        extra={key: options[key] for key in ("samples", "metric", "opset") if options[key] is not None},
    )
    folder = ModelFolder(repository / spec.name)
    if folder.spec.is_file() and read_spec(folder.spec) != spec:
        raise SpecError(
            f"{folder.spec} says something else than the options",
            hint=f"build it with `build-engine {spec.name}`, or remove it or choose another --name",
        )
    return _Target(folder, spec, dump_spec(spec))


def _absolute(key: str, value: str) -> str:
    """Paths on the command line start at the working directory, those in a spec at its folder."""
    return value if key == "factory" else os.path.abspath(value)  # noqa: PTH100  # resolve() would lose the suffix of a link


def _build_one(target: _Target, *, force: bool) -> Manifest:
    from rich.console import Console

    from builders.build import build

    name = target.spec.name
    console = Console(file=sys.stderr)  # held, as the export silences what torch prints to sys.stderr
    with signals_as_interrupt(), console.status(f"{name}: looking for an earlier build") as status:
        manifest = build(target.folder, target.spec, force=force, report=lambda text: status.update(f"{name}: {text}"))
    if target.spec_text is not None and not target.folder.spec.is_file():
        write_atomic(target.folder.spec, target.spec_text)
    return manifest


def _print_summary(folder: ModelFolder, manifest: Manifest) -> None:
    from builders.summary import print_summary

    print_summary(folder, manifest)


def main(argv: Sequence[str] | None = None) -> int:
    """The `build-engine` command; returns the exit code."""
    return run(build_engine, argv, name="build-engine")


def command() -> NoReturn:
    """The `build-engine` command as the shell runs it."""
    leave(main())


if __name__ == "__main__":
    command()
