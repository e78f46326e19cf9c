from __future__ import annotations

import pytest

from perf.cli import parse_shape
from perf.sweep import SweepOptions
from tritonsmith.cli import main
from tritonsmith.errors import MeasurementError


def test_a_shape_may_belong_to_a_name_with_a_colon() -> None:
    assert parse_shape("image:3,224,224") == ("image", (3, 224, 224))
    assert parse_shape("input:0:16") == ("input:0", (16,))


@pytest.mark.parametrize("text", ["image", "image:", ":3", "image:3,x", "image:0", "image:-1"])
def test_another_shape_is_refused(text: str) -> None:
    with pytest.raises(MeasurementError, match="NAME:SIZE,SIZE"):
        parse_shape(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"batch": 0}, "batch 0"), ({"interval_ms": 5}, "interval_ms 5"), ({"trials": 0}, "trials 0")],
)
def test_options_are_checked_when_made(change: dict[str, int], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        SweepOptions(model="m", **change)  # type: ignore[arg-type]  # a dict of one option


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["m", "--concurrency", "9:1"], 1, "starts at 9, above its end 1"),
        (["m", "--shape", "x"], 1, "NAME:SIZE,SIZE"),
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
