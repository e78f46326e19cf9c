from __future__ import annotations

from pathlib import Path

import pytest

from perf.perf_analyzer import VARIABLE, Home, Refusal, find, probe
from tritonsmith.errors import MeasurementError

TOO_NEW = 'echo "$0: /lib/libc.so.6: version \\`GLIBC_2.38\' not found (required by $0)" >&2; exit 1'


def script(path: Path, body: str) -> Path:
    """A fake perf_analyzer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def installed(root: Path, body: str = "echo 'Perf Analyzer Version  (commit unknown)'") -> Home:
    """A home with a fake in it, as perf.install leaves it."""
    place = Home(root)
    script(place.binary, body)
    place.version_file.write_text("2.50.0\n")
    return place


@pytest.fixture(autouse=True)
def _empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "on_path"))
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_one_on_path_comes_before_the_installed_one(tmp_path: Path) -> None:
    on_path = script(tmp_path / "on_path/perf_analyzer", "echo 'Perf Analyzer Version 2.60.1 (commit abc)'")
    found = find(installed(tmp_path / "home"))
    assert (found.path, found.version) == (on_path, "2.60.1")


def test_one_on_path_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    script(tmp_path / "on_path/perf_analyzer", TOO_NEW)
    place = installed(tmp_path / "home")
    found = find(place)
    assert (found.path, found.version) == (place.binary, "2.50.0")
    assert found.environment()["LD_LIBRARY_PATH"].split(":")[0] == str(place.libraries)


def test_the_variable_names_the_only_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(script(tmp_path / "broken", TOO_NEW)))
    with pytest.raises(MeasurementError, match=r"broken: GLIBC_2\.38 not found"):
        find(installed(tmp_path / "home"))


def test_none_at_all_says_where_it_looked_and_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="none on PATH or at") as caught:
        find(Home(tmp_path / "home"))
    assert "python -m perf.install" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (TOO_NEW, "GLIBC_2.38 not found"),
        (
            'echo "$0: error while loading shared libraries: libb64.so.0d: cannot open" >&2; exit 127',
            "libb64.so.0d: cannot open",
        ),
        ("exit 3", "--version exits 3"),
    ],
)
def test_the_reason_is_the_loaders_own(tmp_path: Path, body: str, reason: str) -> None:
    assert probe(script(tmp_path / "tool", body), {}) == Refusal(reason)


def test_a_file_that_is_not_there_or_not_executable_is_a_reason_too(tmp_path: Path) -> None:
    assert probe(tmp_path / "gone", {}) == Refusal("No such file or directory")
    (tmp_path / "plain").write_text("text")
    assert probe(tmp_path / "plain", {}) == Refusal("Permission denied")
