"""`tritonsmith infer` against the real server."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, PROTOCOLS, LiveTriton
from tests.perf.served import COUNTER_CODE, COUNTER_CONFIG, write_counter_spec
from tests.serving.test_request import SPEC
from tritonsmith.address import Protocol
from tritonsmith.cli import main


@pytest.fixture(scope="module")
def double(triton: LiveTriton) -> LiveTriton:
    """The server with a model that doubles."""
    triton.add_python_model("double", DOUBLE_CONFIG, DOUBLE_CODE)
    return triton


def asked(double: LiveTriton, *arguments: str, protocol: Protocol = "http") -> int:
    """The exit code of an infer at that server."""
    return main(["infer", "double", "--url", double.url(protocol), "--protocol", protocol, *arguments])


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_outputs_are_printed(double: LiveTriton, protocol: Protocol, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(double, "--input", "x=[1, 2, 3]", protocol=protocol) == 0

    captured = capsys.readouterr()
    assert captured.out == "y  float32 [1, 3]\n  [[2. 4. 6.]]\n"
    assert captured.err.endswith(f" ms over {protocol}\n")


@pytest.mark.server
def test_json_holds_all_values(double: LiveTriton, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(double, "--input", "x=[[1], [2]]", "--json") == 0

    assert json.loads(capsys.readouterr().out)["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [2, 1], "data": [[2.0], [4.0]]}
    ]


@pytest.mark.server
def test_files_go_in_and_out(double: LiveTriton, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2]], dtype=np.float32))

    assert asked(double, "--input", f"x=@{tmp_path}/x.npy", "--output", str(tmp_path / "y.npz")) == 0

    with np.load(tmp_path / "y.npz") as read:
        assert read["y"].tolist() == [[2, 4]]


@pytest.mark.server
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--input", "z=1"), "error: model 'double' has no input 'z'\nhint: its inputs: x\n"),
        (("--input", "x=[[1],[2],[3],[4],[5]]"), "error: inference request batch-size must be <= 4 for 'double'\n"),
        (("--input", 'x="a"'), "error: input 'x' holds values that are no float32: a\nhint: "),
    ],
)
def test_what_does_not_fit_is_one_line(
    double: LiveTriton, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert asked(double, *arguments) == 1

    assert capsys.readouterr().err.startswith(said)


@pytest.mark.server
def test_an_unknown_model_lists_those_that_are_served(double: LiveTriton, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "dubble", "--input", "x=1", "--url", double.url("http")]) == 1

    said = capsys.readouterr().err
    assert "has no model 'dubble'" in said
    assert "double" in said.splitlines()[1]


def test_a_server_that_does_not_run_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "double", "--input", "x=1", "--url", "127.0.0.1:9"]) == 1

    assert capsys.readouterr().err == (
        "error: no Triton answers at 127.0.0.1:9 over http\n"
        "hint: start one: tritonsmith serve; or name another with --url\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--input", "x"),
        ("--input", "x=1", "--sample", "0"),
        ("--input", "x=1", "--output", "y.txt"),
        ("--input", "x=1", "--input", "x=2"),
        ("--input", "x=1", "--url", "junk"),
        ("--input", "x=1", "--timeout", "nan"),
    ],
)
def test_wrong_usage_is_exit_2(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main(["infer", "double", *arguments]) == 2


@pytest.mark.server
def test_a_sample_of_the_spec_can_be_sent(
    double: LiveTriton, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "spec.yaml").write_text(SPEC.replace("doubled", "double"))

    assert asked(double, "--sample", "1", "--repository", str(tmp_path)) == 0

    assert capsys.readouterr().out == "y  float32 [1, 3]\n  [[4. 4. 4.]]\n"


@pytest.mark.server
def test_a_sample_whose_rows_are_scalars_can_be_sent(
    triton: LiveTriton, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    triton.add_python_model("counter", COUNTER_CONFIG, COUNTER_CODE)
    write_counter_spec(tmp_path)
    asks = ["infer", "counter", "--url", f"http://{triton.url('http')}", "--repository", str(tmp_path)]

    assert main([*asks, "--sample", "0"]) == 0
    assert main([*asks, "--input", "n=[5, 6, 7]"]) == 0

    assert (
        capsys.readouterr().out == "more  int64 [2, 1]\n  [[4]\n   [5]]\nmore  int64 [3, 1]\n  [[6]\n   [7]\n   [8]]\n"
    )
