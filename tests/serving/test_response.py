"""Outputs for people, for programs and for a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from serving.response import as_json, as_text, write_npz

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


def test_a_file_holds_every_output_without_pickle(tmp_path: Path) -> None:
    write_npz(tmp_path / "out.npz", {"y": np.ones((2, 2)), "label": TEXTS})

    with np.load(tmp_path / "out.npz", allow_pickle=False) as read:
        assert read["y"].tolist() == [[1, 1], [1, 1]]
        assert read["label"].tolist() == [[b"a", b"b"]]
