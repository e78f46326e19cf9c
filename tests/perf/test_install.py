from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from perf.install import VERSION, bundled_libraries, extract, install, link_libraries
from perf.perf_analyzer import VARIABLE, Home, find
from tests.perf.test_perf_analyzer import installed
from tritonsmith.errors import MeasurementError

MEMBER = f"tritonclient-{VERSION}.data/data/bin/perf_analyzer"


def wheel(path: Path, member: str = MEMBER) -> Path:
    """A wheel with a fake perf_analyzer in it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "#!/bin/sh\necho 'Perf Analyzer Version'\n")
    return path


def test_the_binary_is_taken_out_of_the_wheel_with_its_version(tmp_path: Path) -> None:
    place = Home(tmp_path / "home")
    extract(wheel(tmp_path / "a.whl"), place)
    assert "Perf Analyzer" in place.binary.read_text()
    assert place.version_file.read_text() == "2.50.0\n"


def test_a_wheel_without_the_binary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="has no perf_analyzer"):
        extract(wheel(tmp_path / "a.whl", member="other"), Home(tmp_path / "home"))


def test_libraries_are_linked_under_the_names_that_are_asked_for(tmp_path: Path) -> None:
    bundle = tmp_path / "nvidia_pytriton.libs"
    bundle.mkdir()
    (bundle / "libb64-98cb6333.so.0d").touch()
    place = Home(tmp_path / "home")
    link_libraries(place, bundle)
    assert {path.name: path.resolve().name for path in place.libraries.iterdir()} == {
        "libb64.so.0d": "libb64-98cb6333.so.0d"
    }


def test_nothing_is_fetched_when_one_runs_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    place = installed(tmp_path / "home")
    before = place.binary.stat().st_mtime_ns
    assert install(place).path == place.binary
    assert place.binary.stat().st_mtime_ns == before


def test_a_binary_that_lacks_a_library_says_which_and_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    body = 'echo "$0: error while loading shared libraries: libb64.so.0d: cannot open" >&2; exit 127'
    with pytest.raises(MeasurementError, match=r"does not run here: libb64\.so\.0d: cannot open") as caught:
        install(installed(tmp_path / "home", body))
    assert "apt-get install libb64-0d" in str(caught.value.hint)


def test_without_an_index_the_reason_is_pips_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(MeasurementError, match=f"pip could not fetch tritonclient=={VERSION}: ") as caught:
        install(Home(tmp_path / "home"))
    assert "built-in client" in str(caught.value.hint)
    assert not (tmp_path / "home").exists()


@pytest.mark.skipif(not bundled_libraries().is_dir(), reason="the nvidia-pytriton wheel is not installed")
def test_the_real_one_runs_on_the_machine_of_the_tests() -> None:
    assert find().version
