"""The portable backend stands alone: what runs inside Triton imports nothing of the project and little else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

BACKEND = Path(__file__).parents[2] / "python_backend" / "onnxruntime"
ONLY_IN = {"onnxruntime": {"session.py"}, "triton_python_backend_utils": {"backend.py"}}
ALLOWED = {*sys.stdlib_module_names, "numpy", "portable", *ONLY_IN}


def imported(source: Path) -> Iterator[str]:
    """Yield the top-level packages that a file imports at run time, its own package aside."""
    tree = ast.parse(source.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_backend_imports_the_standard_library_numpy_and_two_more_each_in_one_file() -> None:
    found = {source.name: set(imported(source)) for source in BACKEND.rglob("*.py")}

    assert {name for names in found.values() for name in names} <= ALLOWED
    for module, files in ONLY_IN.items():
        assert {source for source, names in found.items() if module in names} == files


def test_no_file_of_the_backend_shadows_a_package_that_it_imports() -> None:
    # The folder itself is called onnxruntime: without __init__.py it loses against the installed package.
    assert not (BACKEND / "__init__.py").exists()
    assert not {source.stem for source in BACKEND.rglob("*.py")} & {"numpy", "onnxruntime", "onnx"}
