"""--help answers at once because nothing heavy is imported for it; what is imported is what can be held by a test."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tritonsmith.cli import COMMANDS

HEAVY = {"torch", "onnx", "onnxruntime", "onnxscript", "plotly", "psutil", "scipy", "transformers", "tritonclient"}
PROGRAM = """
import json, sys
from {module} import main
code = main({words!r})
print(json.dumps([code, sorted({{name.partition(".")[0] for name in sys.modules}})]), file=sys.stderr)
"""


def _imported(module: str, *words: str) -> set[str]:
    """The top-level modules of a process that answered a --help."""
    command = [sys.executable, "-c", PROGRAM.format(module=module, words=list(words))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    code, names = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert done.stdout.startswith("Usage: ")
    return set(names)


def test_the_first_help_needs_nothing_but_click() -> None:
    assert _imported("tritonsmith.cli", "--help") & {*HEAVY, "numpy", "yaml", "pydantic", "rich"} == set()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_sub_command_imports_nothing_heavy(command: str) -> None:
    assert _imported("tritonsmith.cli", command, "--help") & HEAVY == set()


def test_the_help_of_the_build_imports_nothing_heavy() -> None:
    assert _imported("builders.cli", "--help") & HEAVY == set()
