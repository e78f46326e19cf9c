"""The command line: quick help, one boundary for errors, the right exit codes."""

from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest

from tritonsmith import __version__
from tritonsmith.cli import COMMANDS, main, run
from tritonsmith.errors import ParityError, SpecError


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tritonsmith, version {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)


@pytest.mark.parametrize("module", ["tritonsmith.cli", "builders.cli"])
def test_help_needs_no_heavy_package(module: str) -> None:
    code = (
        f"import sys; from {module} import main; main(['--help']);"
        "print(sorted({'torch', 'onnx', 'onnxruntime', 'tritonclient', 'plotly'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["srve"]) == 2
    assert "No such command 'srve'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError("dim 'x' is missing", hint="add it", details=("model.py:3 in load: boom",)), 1),
        (ParityError("parity failed", hint="nothing was published"), 3),
    ],
)
def test_a_known_error_is_one_line_and_a_hint(
    error: SpecError | ParityError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    assert run(failing, [], name="failing") == code
    shown = capsys.readouterr().err.splitlines()
    assert shown == [f"error: {error.message}", *(f"  {line}" for line in error.details), f"hint: {error.hint}"]


def test_an_interrupt_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run(interrupted, [], name="interrupted") == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_an_unknown_error_keeps_its_traceback() -> None:
    @click.command()
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken, [], name="broken")


def test_config_render_prints_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "render", "minilm", "--host", "gpu"]) == 0
    assert "kind: KIND_GPU" in capsys.readouterr().out


def test_a_missing_extra_names_its_pip_line(capsys: pytest.CaptureFixture[str]) -> None:
    from tritonsmith.extras import require

    @click.command()
    def needs() -> None:
        require("surely_not_installed", extra="perf")

    assert run(needs, [], name="needs") == 1
    assert capsys.readouterr().err.splitlines()[-1] == "hint: pip install 'tritonsmith[perf]'"
