"""Nobody sees a half-written file: staging, atomic writes, replaced folders, full disks."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from tritonsmith import files
from tritonsmith.errors import RepositoryError
from tritonsmith.files import readable_disk_errors, replace_folder, staging_folder, write_atomic


def test_an_atomic_write_leaves_only_the_new_content(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "config.pbtxt"
    write_atomic(target, "old")
    write_atomic(target, "new")
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_staging_is_gone_even_when_the_work_is_interrupted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), staging_folder(tmp_path) as stage:
        (stage / "half").write_text("x")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_that_of_a_living_one_kept(tmp_path: Path) -> None:
    dead, living = tmp_path / ".staging-999999999-a", tmp_path / f".staging-{os.getpid()}-b"
    dead.mkdir()
    living.mkdir()
    with staging_folder(tmp_path):
        assert not dead.exists()
        assert living.exists()


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    new, target = tmp_path / "new", tmp_path / "1"
    for folder, name in ((new, "b"), (target, "a")):
        folder.mkdir()
        (folder / name).write_text(name)
    replace_folder(new, target)
    assert [path.name for path in target.iterdir()] == ["b"]


def test_without_an_atomic_exchange_the_old_folder_comes_back_on_an_interrupt(tmp_path: Path) -> None:
    target = tmp_path / "1"
    target.mkdir()
    (target / "a").write_text("a")

    class Interrupting(type(tmp_path)):  # type: ignore[misc]  # the concrete path class of this system
        def rename(self, target: object) -> Path:  # noqa: ARG002  # it never gets there
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files._swap(Interrupting(tmp_path / "new"), target)
    assert (target / "a").read_text() == "a"
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_ctrl_c_waits_for_steps_that_belong_together() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), files.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        done.append("second step")
    assert done == ["second step"]


def test_a_folder_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "1"
    target.mkdir()
    (target / "a").write_text("a")
    with pytest.raises(FileNotFoundError):
        replace_folder(tmp_path / "missing", target)
    assert (target / "a").read_text() == "a"


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG]
)
def test_disk_trouble_is_one_line_with_a_fix(code: int, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught, readable_disk_errors(tmp_path):
        raise OSError(code, os.strerror(code))
    assert str(tmp_path) in caught.value.message
    assert caught.value.hint


def test_other_errors_pass_through(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), readable_disk_errors(tmp_path):
        raise BlockingIOError(errno.EAGAIN, "try again")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_a_really_full_device_is_reported(tmp_path: Path) -> None:
    with (
        pytest.raises(RepositoryError, match="the disk is full"),
        readable_disk_errors(tmp_path),
        Path("/dev/full").open("w") as file,
    ):
        file.write("x" * 100_000)
        file.flush()
