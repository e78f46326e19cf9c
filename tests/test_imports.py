"""Imports go one way: builders, serving and perf use tritonsmith; python_backend uses none of us."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ALLOWED = {
    "tritonsmith": {"tritonsmith"},
    "builders": {"builders", "tritonsmith"},
    "serving": {"serving", "tritonsmith"},
    "perf": {"perf", "tritonsmith"},
    "python_backend": {"python_backend"},
}
OURS = {*ALLOWED, "examples", "benchmarks", "tests"}
ONE_MODULE_EACH: dict[str, dict[str, set[str]]] = {
    "builders": {"onnxruntime": {"session"}, "torch": {"torch_model", "sources", "export"}},
    "tritonsmith": {"torch": set(), "onnx": set(), "onnxruntime": set()},
}


BY_NAME = {("serving/machine_checks.py", "perf.perf_analyzer")}
"""The doctor's check of perf_analyzer: the one import across packages, by name like the table of sub-commands."""


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"importlib.import_module", "import_module"}:
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    files = sorted(Path(package).rglob("*.py"))
    assert files
    wrong = {
        f"{path}: {name}"
        for path in files
        for name in _imports(path)
        if name.partition(".")[0] in OURS - ALLOWED[package] and (path.as_posix(), name) not in BY_NAME
    }
    assert wrong == set()


@pytest.mark.parametrize("package", ONE_MODULE_EACH)
def test_a_heavy_library_is_imported_in_the_modules_that_are_for_it(package: str) -> None:
    for library, modules in ONE_MODULE_EACH[package].items():
        users = {
            path.stem
            for path in Path(package).rglob("*.py")
            for name in _imports(path)
            if name.split(".")[0] == library
        }
        assert users <= modules, library


def test_no_module_hides_a_package_that_the_project_imports() -> None:
    imported = {
        name.partition(".")[0] for package in ALLOWED for path in Path(package).rglob("*.py") for name in _imports(path)
    }
    names = {path.stem for package in ALLOWED for path in Path(package).rglob("*.py")} - {"__init__"}
    assert (names & imported) - OURS == set()
