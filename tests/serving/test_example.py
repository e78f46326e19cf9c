"""The command that `serve` proposes: it has to work when it is pasted into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from serving.client import Metadata, Tensor
from serving.example import example_command, made_up_inputs
from serving.request import fit_inputs, read_inputs
from tests.serving.test_request import SPEC

NOBODY = "127.0.0.1:9"


def write_spec(repository: Path, text: str) -> None:
    """The spec of a model called doubled."""
    (repository / "doubled").mkdir(parents=True)
    (repository / "doubled" / "spec.yaml").write_text(text)


def test_a_spec_with_samples_gives_the_first(tmp_path: Path) -> None:
    write_spec(tmp_path / "my models", SPEC)

    command = example_command("doubled", tmp_path / "my models", "127.0.0.1:8000")

    assert shlex.split(command) == [
        "tritonsmith", "infer", "doubled", "--sample", "0", "--repository", f"{tmp_path}/my models"
    ]  # fmt: skip


@pytest.mark.parametrize("text", [SPEC[: SPEC.index("samples:")], "name: ["])
def test_a_spec_without_samples_gives_inputs_and_another_port_is_named(tmp_path: Path, text: str) -> None:
    write_spec(tmp_path, text)

    command = example_command("doubled", tmp_path, NOBODY)

    assert command == f"tritonsmith infer doubled --input NAME=VALUE --url {NOBODY}"


def test_made_up_inputs_fit_the_model() -> None:
    tensors = (
        Tensor("x", "FP32", (-1, 2)),
        Tensor("ids", "INT64", (-1, -1)),
        Tensor("flag", "BOOL", (-1, 1)),
        Tensor("text", "BYTES", (-1, 1)),
        Tensor("bf", "BF16", (-1, 1)),
    )
    for limit in (8, 0):
        metadata = Metadata(name="m", versions=("1",), inputs=tensors, outputs=(), max_batch_size=limit)

        words = made_up_inputs(metadata)

        assert words[::2] == ["--input"] * 5
        arrays = fit_inputs(metadata, read_inputs(words[1::2]))
        assert [list(array.shape) for array in arrays.values()] == [[1, 2], [1, 1], [1, 1], [1, 1], [1, 1]]


def test_a_large_input_is_a_file_to_make() -> None:
    image = Tensor("a/image", "FP32", (-1, 3, 8, 8))
    metadata = Metadata(name="m", versions=("1",), inputs=(image,), outputs=(), max_batch_size=8)

    assert made_up_inputs(metadata) == ["--input", "a/image=@a_image.npy"]
