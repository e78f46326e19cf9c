"""The command line: a table of sub-commands that are imported when used, and the one boundary for errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from tritonsmith import __version__
from tritonsmith.errors import TritonsmithError

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it: 128 + SIGINT."""

COMMANDS: dict[str, tuple[str, str]] = {
    "config": ("tritonsmith.config_cli:config", "Render a model's config.pbtxt for a backend and a host."),
    "doctor": ("serving.cli:doctor", "Check this machine: what runs here, what is missing, how to get it."),
    "infer": ("serving.cli:infer", "Send one request and print the outputs."),
    "serve": ("serving.cli:serve", "Serve a model repository with a real Triton."),
    "sweep": ("perf.cli:sweep", "Measure throughput and latency over a range of concurrencies."),
}


class LazyGroup(click.Group):
    """A group whose sub-commands are imported only when they run, so that --help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature has it
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        """Import the module that holds the sub-command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        """The table of sub-commands, from the one-line helps above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tritonsmith")
def tritonsmith() -> None:
    """PyTorch model to a fast, measured deployment on NVIDIA Triton Inference Server.

    Build a model with `build-engine MODEL`, then serve it, ask it and measure it with the commands below.
    """


def run(command: click.Command, argv: Sequence[str] | None, *, name: str) -> int:
    """Run a command and return its exit code: 0 fine, 1 known error, 2 wrong usage, 3 gate not met, 130 interrupted."""
    try:
        result = command.main(args=argv, prog_name=name, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except TritonsmithError as error:
        _show(error)
        return error.exit_code
    except BrokenPipeError:
        return 1
    return result if isinstance(result, int) else 0


def _show(error: TritonsmithError) -> None:
    lines = [
        f"{click.style('error', fg='red')}: {error.message}",
        *(f"  {line}" for line in error.details),
    ]
    if error.hint:
        lines.append(f"{click.style('hint', fg='cyan')}: {error.hint}")
    click.echo("\n".join(lines), err=True)


def leave(code: int) -> NoReturn:
    """End the process. After an interrupt at once: a library cut off in its import may abort in its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    if code == INTERRUPTED:
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """The `tritonsmith` command; returns the exit code."""
    return run(tritonsmith, argv, name="tritonsmith")


def command() -> NoReturn:
    """The `tritonsmith` command as the shell runs it."""
    leave(main())


if __name__ == "__main__":
    command()
