"""Temporary things and what crashes left of them."""

from __future__ import annotations

import errno
import os
import secrets
import subprocess
from pathlib import Path

import pytest

from serving.workplace import SHARED_MEMORY, Workplace, new_workplace, readable_temporary_errors, remove_stale
from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, write_model
from tritonsmith.errors import ServerError
from tritonsmith.repository import ModelFolder


def dead_pid() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def owned_by(pid: int, place: Workplace) -> str:
    """The name of something that `pid` would own, in the namespace of `place`."""
    namespace = place.shm_prefix.split("-")[1]
    return f"tritonsmith-{namespace}-{pid}-x"


def test_models_are_linked_and_their_neighbours_are_not(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "place", "p-")
    place.root.mkdir()
    for name in ("one", "two"):
        write_model(tmp_path / "models" / name, DOUBLE_CONFIG, {"1/model.py": DOUBLE_CODE})

    laid = place.lay_models([ModelFolder(tmp_path / "models" / "one")])

    assert [path.name for path in laid.iterdir()] == ["one"]
    assert (laid / "one" / "1" / "model.py").read_text() == DOUBLE_CODE


def test_two_servers_of_one_process_have_different_prefixes() -> None:
    first, second = new_workplace(os.getpid()), new_workplace(os.getpid())
    try:
        assert first.shm_prefix != second.shm_prefix
        assert first.root != second.root
    finally:
        first.remove()
        second.remove()


def test_what_a_dead_process_left_is_removed_and_no_more(tmp_path: Path) -> None:
    place = new_workplace(os.getpid())
    place.remove()
    stale, live = tmp_path / owned_by(dead_pid(), place), tmp_path / owned_by(os.getpid(), place)
    stale_region = tmp_path / owned_by(dead_pid(), place).replace("-x", "-region")
    foreign = tmp_path / "tritonsmith-1-999999-x"
    for folder in (stale, live, foreign):
        folder.mkdir()
    stale_region.touch()

    removed = remove_stale(tmp_path)

    assert set(removed) == {stale, stale_region}
    assert live.exists()
    assert foreign.exists()


def test_removing_twice_is_harmless(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "place", f"tritonsmith-test-{os.getpid()}-")
    place.root.mkdir()

    place.remove()
    place.remove()

    assert not place.root.exists()


def test_a_full_temporary_folder_is_an_error_with_the_fix() -> None:
    with pytest.raises(ServerError, match="No space left on device") as caught, readable_temporary_errors():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert caught.value.hint is not None
    assert "TMPDIR" in caught.value.hint


def test_the_regions_that_a_killed_guard_listed_are_removed() -> None:
    place = new_workplace(os.getpid())
    region = SHARED_MEMORY / f"triton_onnxruntime_backend_shm_region_{secrets.token_hex(8)}"
    region.touch()
    place.regions.write_text(f"{region.name}\n../../etc/passwd\n")

    place.remove()

    assert not region.exists()
    assert Path("/etc/passwd").exists()
