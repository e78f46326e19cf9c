from __future__ import annotations

import math

import pytest

from perf.cli import parse_shape
from perf.sweep import SweepOptions
from tritonsmith.cli import main
from tritonsmith.errors import MeasurementError, TritonsmithError


def test_a_shape_may_belong_to_a_name_with_a_colon() -> None:
    assert parse_shape("image:3,224,224") == ("image", (3, 224, 224))
    assert parse_shape("input:0:16") == ("input:0", (16,))


@pytest.mark.parametrize("text", ["image", "image:", ":3", "image:3,x", "image:0", "image:-1"])
def test_another_shape_is_refused(text: str) -> None:
    with pytest.raises(MeasurementError, match="NAME:SIZE,SIZE"):
        parse_shape(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 0}, "batch 0"),
        ({"interval_ms": 5}, "interval_ms 5"),
        ({"trials": 0}, "trials 0"),
        ({"tolerance": math.nan}, "tolerance nan must be finite"),
        ({"tolerance": math.inf}, "tolerance inf must be finite"),
        ({"timeout_s": math.nan}, "timeout_s nan must be finite"),
        ({"url": "junk"}, "'junk' is no address of a server"),
        ({"url": ""}, "'' is no address of a server"),
    ],
)
def test_options_are_checked_when_made(change: dict[str, object], said: str) -> None:
    with pytest.raises(TritonsmithError, match=said):
        SweepOptions(model="m", **change)  # type: ignore[arg-type]  # a dict of one option


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["m", "--concurrency", "9:1"], 2, "starts at 9, above its end 1"),
        (["m", "--concurrency", "x"], 2, "'x' is not a whole number"),
        (["m", "--shape", "x"], 2, "NAME:SIZE,SIZE"),
        (["m", "--shape", "x:1", "--shape", "x:2"], 2, "input 'x' is given twice"),
        (["m", "--url", "localhost"], 2, "'localhost' is no address of a server; write HOST:PORT"),
        (["m", "--batch", "0"], 2, "--batch"),
        (["m", "--interval-ms", "5"], 2, "--interval-ms"),
        (["m", "--tolerance", "nan"], 2, "nan is not a finite number"),
        (["m", "--tolerance", "inf"], 2, "inf is not a finite number"),
        (["m", "--timeout", "0"], 2, "--timeout"),
        (["m", "--url", "http://127.0.0.1:1/", "--protocol", "http"], 1, "no Triton answers at 127.0.0.1:1 over http"),
        (["m", "--url", "127.0.0.1:1"], 1, "no Triton answers at 127.0.0.1:1 over grpc"),
        (["m", "--url", "127.0.0.1:1", "--protocol", "http"], 1, "no Triton answers at 127.0.0.1:1 over http"),
        (["gone/spec.yaml"], 1, "there is no spec at gone/spec.yaml"),
        (["m", "--client", "nobody"], 2, "nobody"),
        ([], 2, "Missing argument"),
    ],
)
def test_bad_input_is_one_line_with_the_right_code(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", *words]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
