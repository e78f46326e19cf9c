"""Outputs for people, for programs and for a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from serving.response import as_json, as_text, write_npz
from tritonsmith.errors import RepositoryError

TEXTS = np.array([[b"a", b"b"]], dtype=object)


def test_people_see_name_dtype_shape_and_values() -> None:
    text = as_text({"logits": np.array([[0.5, 1.0]], dtype=np.float32), "label": TEXTS})

    assert text.splitlines() == ["logits  float32 [1, 2]", "  [[0.5 1. ]]", "label  string [1, 2]", "  [['a' 'b']]"]


def test_many_values_are_shortened() -> None:
    assert len(as_text({"y": np.arange(100_000, dtype=np.float32).reshape(10, -1)})) < 1000


def test_programs_get_all_values_as_kserve_has_them() -> None:
    answer = as_json("m", {"y": np.arange(100, dtype=np.int32), "label": TEXTS})

    assert json.loads(json.dumps(answer)) == {
        "model_name": "m",
        "outputs": [
            {"name": "y", "datatype": "INT32", "shape": [100], "data": list(range(100))},
            {"name": "label", "datatype": "BYTES", "shape": [1, 2], "data": [["a", "b"]]},
        ],
    }


def test_what_json_has_no_word_for_is_null() -> None:
    rows = as_json("m", {"y": np.array([[1.5, np.nan], [np.inf, -np.inf]], dtype=np.float16)})["outputs"]

    assert json.dumps(rows[0]["data"], allow_nan=False) == "[[1.5, null], [null, null]]"


@pytest.mark.parametrize("name", ["file", "allow_pickle", "self", "args", "kwds", "output:0", "a/b"])
def test_an_output_may_have_any_name_in_a_file(tmp_path: Path, name: str) -> None:
    write_npz(tmp_path / "out.npz", {name: np.ones((2, 2)), "other": np.array([3])})

    with np.load(tmp_path / "out.npz", allow_pickle=False) as read:
        assert (read[name].tolist(), read["other"].tolist()) == ([[1, 1], [1, 1]], [3])


@pytest.mark.parametrize("name", ["file/out.npz", "folder.npz", f"{'x' * 300}.npz"])
def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.npz").mkdir()

    with pytest.raises(RepositoryError, match="cannot write to"):
        write_npz(tmp_path / name, {"y": np.ones(1)})


def test_a_file_holds_every_output_without_pickle(tmp_path: Path) -> None:
    write_npz(tmp_path / "out.npz", {"y": np.ones((2, 2)), "label": TEXTS})

    with np.load(tmp_path / "out.npz", allow_pickle=False) as read:
        assert read["y"].tolist() == [[1, 1], [1, 1]]
        assert read["label"].tolist() == [[b"a", b"b"]]
