"""The wheel: everything is in it, nothing else is, and it works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGES = ("builders", "perf", "python_backend", "serving", "tritonsmith")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the checkout so that nothing is left in it."""
    target = tmp_path_factory.mktemp("wheel")
    source = target / "source"
    source.mkdir()
    for path in ("pyproject.toml", "README.md", "templates", *PACKAGES):
        subprocess.run(["cp", "-r", "--", path, f"{source}/"], check=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(target.glob("*.whl"))


def test_every_module_and_template_is_in_the_wheel(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {str(path) for package in PACKAGES for path in Path(package).rglob("*.py")}
    templates = {f"tritonsmith/{path}" for path in Path("templates").rglob("*.j2")}
    assert packed == modules | templates


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(installed), str(wheel)]
    subprocess.run(command, check=True)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "spec.yaml").write_text(
        'name: m\nsource: {factory: "a:b"}\ninputs: {x: {dtype: float32, shape: [3]}}\n'
    )
    code = (
        "import sys, tritonsmith, tritonsmith.cli as cli; print(tritonsmith.__file__);"
        "sys.exit(cli.main(['config', 'render', './m']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))
    assert 'name: "m"' in done.stdout
