"""What counts as an input of a build, and when it counts as unchanged."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.provenance import is_unchanged, recorded_files, stamp


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A user's package of three modules, of which `load` uses two, on sys.path."""
    folder = tmp_path / "userpkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "layers.py").write_text("def layer():\n    return 1\n")
    (folder / "unused.py").write_text("")
    (folder / "model.py").write_text(
        "from pathlib import Path\nfrom userpkg.layers import layer\n"
        "def load():\n    return layer(), Path('weights.bin').read_bytes()\n"
    )
    before = Path.cwd()
    sys.path.insert(0, str(tmp_path))
    os.chdir(tmp_path)
    yield folder
    os.chdir(before)
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("userpkg")]:
        del sys.modules[name]


@pytest.mark.parametrize("imported_before", [False, True])
def test_modules_and_data_that_the_users_code_used_are_recorded(package: Path, imported_before: bool) -> None:
    (package.parent / "weights.bin").write_bytes(b"w")
    if imported_before:
        importlib.import_module("userpkg.model")
        importlib.import_module("userpkg.unused")
    with recorded_files("userpkg.model:load") as files:
        importlib.import_module("userpkg.model").load()
    names = {path.name for path in files}
    assert {"model.py", "layers.py", "__init__.py", "weights.bin"} <= names
    assert "unused.py" not in names
    assert not any("site-packages" in str(path) for path in files)


def test_what_is_written_or_read_outside_the_block_is_not_recorded(package: Path) -> None:
    with recorded_files() as files:
        (package / "written.bin").write_bytes(b"x")
    (package / "written.bin").read_bytes()
    assert files == set()


def test_a_file_is_unchanged_by_content_not_by_time(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"abc")
    old = stamp(path)
    os.utime(path, ns=(1, 1))
    assert is_unchanged(path, old)
    path.write_bytes(b"abd")
    assert not is_unchanged(path, old)
    path.unlink()
    assert not is_unchanged(path, old)
