"""`build-engine` as a user calls it: by name, from options alone, with wrong input, interrupted, on a full disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders.cli import main
from tests.builders.conftest import MakeModel

OPTIONS = ["--input", "x:float32:batch,3", "--dim", "batch:1:4:8"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tmp_path / "repository"


def new_model(repository: Path, factory: str, *more: str) -> int:
    source = f"tests.builders.models:{factory}"
    return main(["--factory", source, *OPTIONS, "--name", "net", "--repository", str(repository), *more])


def test_a_model_is_built_from_options_alone_and_then_by_name(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_model(repository, "mlp") == 0
    shown = capsys.readouterr()
    assert "net built in" in shown.out
    assert "identical" in shown.out or "SQNR" in shown.out
    assert "parity was checked on random values only" in shown.err
    assert main(["net", "--repository", str(repository)]) == 0
    assert "net unchanged, reused" in capsys.readouterr().out


def test_json_is_the_manifest_and_nothing_else(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_model(repository, "mlp", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads((repository / "net" / "build.json").read_text())
    assert record["outputs"] == {"output": {"dtype": "float32", "shape": ["batch", 2], "range": None}}


def test_json_of_several_models_is_an_array(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_model(repository, "mlp") == 0
    capsys.readouterr()
    assert main(["net", "net", "--json", "--repository", str(repository)]) == 0
    assert [record["model"] for record in json.loads(capsys.readouterr().out)] == ["net", "net"]


def test_a_repository_that_is_a_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert new_model(tmp_path / "file", "mlp") == 1
    assert "there is something else of that name" in capsys.readouterr().err


def test_options_that_differ_from_the_spec_are_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_model(repository, "mlp") == 0
    assert new_model(repository, "named_outputs") == 1
    assert "says something else than the options" in capsys.readouterr().err


WRONG: dict[str, tuple[list[str], int, str]] = {
    "nothing": ([], 2, "name a MODEL"),
    "both": (["net", "--factory", "a:b"], 2, "--factory describes a model without a spec"),
    "no model": (["nope"], 1, "there is no model 'nope'"),
    "a path": (["../net"], 1, "model name '../net'"),
    "a tensor": (["--name", "n", "--factory", "a:b", "--input", "x:float32"], 2, "is no tensor"),
    "a size": (["--name", "n", "--factory", "a:b", "--input", "x:float32:batch,²"], 2, "a size is a number or"),
    "no size": (["--name", "n", "--factory", "a:b", "--input", "x:float32:batch,,3"], 2, "a size is a number or"),
    "twice": (["--name", "n", "--factory", "a:b", *OPTIONS, "--input", "x:int64:batch"], 1, "--input x is given twice"),
    "an opset": (["--name", "n", "--factory", "a:b", *OPTIONS, "--opset", "0"], 2, "0 is not in the range"),
    "a dim": (["--name", "n", "--factory", "a:b", "--input", "x:float32:b", "--dim", "b:1:2"], 2, "is no dim"),
    "no dim": (["--name", "n", "--factory", "a:b", "--input", "x:float32:b"], 1, "dim 'b' is missing from dims"),
    "two sources": (["--name", "n", "--factory", "a:b", "--onnx", "x.onnx", *OPTIONS], 1, "needs exactly one of"),
    "a slash": (["--name", "a/b", "--factory", "a:b", *OPTIONS], 1, "model name 'a/b'"),
    "a module": (["--name", "n", "--factory", "nowhere:load", *OPTIONS], 1, "needs the module 'nowhere'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_leaves_nothing(
    case: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, code, message = WRONG[case]
    assert main([*arguments, "--repository", str(repository)]) == code
    assert message in capsys.readouterr().err
    assert not repository.exists() or list(repository.iterdir()) == []


def test_parity_that_fails_is_exit_3_and_leaves_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_model(repository, "random_noise") == 3
    shown = capsys.readouterr().err
    assert "parity failed: output 'output'" in shown
    assert "Traceback" not in shown
    assert list(repository.iterdir()) == []


def test_a_name_that_differs_from_the_folder_is_refused(
    make_model: MakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_model("mlp", change=("name: small", "name: big"))
    assert main([str(folder.root)]) == 1
    assert "name 'big' differs from the folder 'small'" in capsys.readouterr().err


def test_ctrl_c_ends_the_command_and_leaves_nothing_half_made(make_model: MakeModel) -> None:
    folder = make_model("slow_factory")
    command = [sys.executable, "-m", "builders.cli", str(folder.root)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    _wait_for(lambda: any(folder.root.glob(".staging-*")))
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, shown = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    assert [path.name for path in folder.root.iterdir()] == ["spec.yaml"]


def _wait_for(condition: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _can_mount() -> bool:
    """True for root with mount namespaces, as in CI."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="needs the right to mount a small tmpfs")
def test_a_full_disk_is_one_line_and_leaves_nothing(make_model: MakeModel, tmp_path: Path) -> None:
    folder = make_model("wide", change=("batch, 2", "batch, 2000"))
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        'mount -t tmpfs -o size=16k tmpfs "$1" && mkdir "$1/small" && cp "$2" "$1/small/spec.yaml" && '
        '"$3" -m builders.cli "$1/small"; code=$?; ls -A "$1/small"; exit $code'
    )
    command = ["unshare", "-m", "sh", "-c", script, "sh", str(disk), str(folder.spec), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.split() == ["spec.yaml"]
