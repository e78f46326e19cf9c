"""A log that grows while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.log_file import LogFile
from tritonsmith.errors import ServerError


def grow(log: LogFile, content: bytes) -> None:
    """What a server does to its log."""
    with log.path.open("ab") as file:
        file.write(content)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogFile]:
    """An empty log in which /links is called models."""
    made = LogFile(tmp_path / "triton.log", alias="/links", name="models")
    yield made
    made.close()


def test_characters_and_names_that_are_cut_by_a_read_come_out_whole(log: LogFile) -> None:
    content = "first grüß /links/a\nsecond /links/b\n".encode()
    for index in range(len(content)):
        grow(log, content[index : index + 1])
        log.text()

    assert log.text() == "first grüß models/a\nsecond models/b\n"


def test_a_line_that_is_not_whole_is_seen_already(log: LogFile) -> None:
    grow(log, b"whole\nnot who")

    assert log.text() == "whole\nnot who"


def test_nothing_new_gives_the_same_object(log: LogFile) -> None:
    grow(log, b"one\n")
    first = log.text()

    assert log.text() is first


def test_what_was_logged_since_a_mark_can_be_read(log: LogFile) -> None:
    grow(log, "grüß /links/a\n".encode())
    mark = log.mark()
    grow(log, b"two\n")

    assert log.text(mark) == "two\n"


def test_what_was_read_stays_after_the_end(log: LogFile) -> None:
    grow(log, b"one\n")
    log.close()
    log.path.unlink()
    log.close()

    assert log.text() == "one\n"


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="cannot write the log"):
        LogFile(tmp_path, alias="a", name="b")
