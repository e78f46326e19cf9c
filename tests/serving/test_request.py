"""What a person writes, made into what the server expects."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from serving.client import Metadata, Tensor
from serving.request import fit_inputs, read_inputs, read_sample
from tritonsmith.errors import RequestError
from tritonsmith.samples import Array


def metadata(*tensors: Tensor, max_batch_size: int = 8) -> Metadata:
    """A model with these inputs."""
    return Metadata(name="m", versions=("1",), inputs=tensors, outputs=(), max_batch_size=max_batch_size)


IDS = Tensor("input_ids", "INT64", (-1, -1))
MASK = Tensor("attention_mask", "INT64", (-1, -1))
IMAGE = Tensor("image", "FP32", (-1, 1, 2, 2))
SPEC = """\
name: doubled
source: {factory: "tests.builders.models:mlp"}
inputs:
  x: {dtype: float32, shape: [batch, 3]}
dims:
  batch: {opt: 4, max: 8}
samples: "tests.serving.test_request:two_samples"
"""


def two_samples() -> list[dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]]:
    """What SPEC names as its samples."""
    return [{"x": np.full((1, 3), value, dtype=np.float32)} for value in (1, 2)]


def npy(array: Array) -> bytes:
    """The content of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(array: Array) -> bytes:
    """The content of a .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, x=array)
    return buffer.getvalue()


def test_values_and_files_are_told_apart(tmp_path: Path) -> None:
    np.save(tmp_path / "mask.npy", np.ones((1, 3), dtype=np.int64))

    given = read_inputs(["input_ids=[1, 2, 3]", f"attention_mask=@{tmp_path}/mask.npy"])

    assert given["input_ids"] == "[1, 2, 3]"
    assert given["attention_mask"].tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("item", ["noequals", "=1"])
def test_another_form_is_wrong_usage(item: str) -> None:
    with pytest.raises(ValueError, match="is not name=VALUE"):
        read_inputs([item])


def test_the_batch_dim_is_added_to_a_single_row() -> None:
    arrays = fit_inputs(metadata(IDS, MASK), {"input_ids": "[1, 2, 3]", "attention_mask": [[1, 1, 0]]})

    assert arrays["input_ids"].tolist() == [[1, 2, 3]]
    assert arrays["input_ids"].dtype == np.int64
    assert arrays["attention_mask"].shape == (1, 3)


@pytest.mark.parametrize("value", ["[5, 6]", np.array([5, 6]), [5, 6], "[[5], [6]]"])
def test_numbers_are_a_row_each_where_the_servers_row_is_one_number(value: object) -> None:
    assert fit_inputs(metadata(Tensor("n", "INT64", (-1, 1))), {"n": value})["n"].tolist() == [[5], [6]]


def test_texts_are_a_row_each_too() -> None:
    assert fit_inputs(metadata(Tensor("t", "BYTES", (-1, 1))), {"t": '["a", "b"]'})["t"].tolist() == [["a"], ["b"]]


def test_a_model_that_does_not_batch_has_no_rows() -> None:
    with pytest.raises(RequestError, match=r"shape \[2\], the server expects \[-1, 1\]"):
        fit_inputs(metadata(Tensor("n", "INT64", (-1, 1)), max_batch_size=0), {"n": "[5, 6]"})


def test_an_input_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"x": [1]}')
    for items in (["x=1", "x=2"], ["x=1", f"@{tmp_path}/x.json"]):
        with pytest.raises(ValueError, match="input 'x' is given twice"):
            read_inputs(items)


@pytest.mark.parametrize(
    "content",
    ['{"x": [1], "x": [2]}', '{"inputs": [{"name": "x", "data": [1]}, {"name": "x", "data": [2]}]}'],
)
def test_an_input_that_a_file_gives_twice_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(RequestError, match="'x' is given twice"):
        read_inputs([f"@{tmp_path}/x.json"])


def test_no_batch_dim_is_added_to_a_model_that_does_not_batch() -> None:
    with pytest.raises(RequestError, match=r"shape \[3\], the server expects \[-1, -1\]"):
        fit_inputs(metadata(IDS, max_batch_size=0), {"input_ids": "[1, 2, 3]"})


def test_a_single_number_fills_a_tensor_of_one_element() -> None:
    assert fit_inputs(metadata(Tensor("x", "FP32", (-1, 1))), {"x": "5"})["x"].tolist() == [[5.0]]


def test_arrays_come_in_the_models_order() -> None:
    arrays = fit_inputs(metadata(IDS, MASK), {"attention_mask": "[1]", "input_ids": "[1]"})

    assert list(arrays) == ["input_ids", "attention_mask"]


def test_an_unknown_input_names_the_nearest() -> None:
    with pytest.raises(RequestError, match="no input 'input_id'") as caught:
        fit_inputs(metadata(IDS), {"input_id": "[1]"})

    assert caught.value.hint == "did you mean 'input_ids'?"


def test_a_missing_input_is_described() -> None:
    with pytest.raises(RequestError, match=r"also needs attention_mask \(int64 \[-1, -1\]\)") as caught:
        fit_inputs(metadata(IDS, MASK), {"input_ids": "[1]"})

    assert caught.value.hint == "add --input attention_mask=…"


def test_a_wrong_shape_says_what_a_row_is() -> None:
    with pytest.raises(RequestError, match=r"shape \[1, 3\], the server expects \[-1, 1, 2, 2\]") as caught:
        fit_inputs(metadata(IMAGE), {"image": "[[1, 2, 3]]"})

    assert caught.value.hint == "one row is [1, 2, 2]; the batch dim is added"


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        ("INT64", "1.5"),
        ("UINT8", "300"),
        ("UINT8", "-1"),
        ("FP32", '"a"'),
        ("FP32", "null"),
        ("FP32", "true"),
        ("INT64", "NaN"),
        ("INT8", "Infinity"),
        ("FP16", "1e6"),
    ],
)
def test_values_that_the_dtype_does_not_hold_are_refused(datatype: str, value: str) -> None:
    with pytest.raises(RequestError, match="holds values that are no"):
        fit_inputs(metadata(Tensor("x", datatype, (-1, 1))), {"x": value})


def test_whole_floats_are_integers_and_zero_and_one_are_bools() -> None:
    tensors = (Tensor("n", "INT32", (-1, 1)), Tensor("flag", "BOOL", (-1, 1)))

    arrays = fit_inputs(metadata(*tensors), {"n": "2.0", "flag": "1"})

    assert arrays["n"].dtype == np.int32
    assert arrays["flag"].tolist() == [[True]]


def test_text_needs_no_quotes_and_becomes_one_element() -> None:
    arrays = fit_inputs(metadata(Tensor("text", "BYTES", (-1, 1))), {"text": "hello there"})

    assert arrays["text"].tolist() == [["hello there"]]


def test_bfloat16_is_given_as_float32() -> None:
    arrays = fit_inputs(metadata(Tensor("x", "BF16", (-1, 1))), {"x": "1.5"})

    assert arrays["x"].dtype == np.float32


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(RequestError, match="different lengths"):
        fit_inputs(metadata(IDS), {"input_ids": "[[1, 2], [3]]"})


def test_a_value_that_is_no_json_is_refused_with_the_right_form() -> None:
    with pytest.raises(RequestError, match="1,2,3 is not JSON") as caught:
        fit_inputs(metadata(IDS), {"input_ids": "1,2,3"})

    assert caught.value.hint is not None
    assert "input_ids='[1, 2]'" in caught.value.hint


def test_an_array_of_another_dtype_is_refused_with_the_conversion() -> None:
    with pytest.raises(RequestError, match="is float64, the server expects float32") as caught:
        fit_inputs(metadata(IMAGE), {"image": np.zeros((1, 1, 2, 2))})

    assert caught.value.hint == "convert it first: array.astype(numpy.float32)"


def test_an_array_that_converts_without_loss_is_converted() -> None:
    arrays = fit_inputs(metadata(IDS), {"input_ids": np.ones((1, 2), dtype=np.int32)})

    assert arrays["input_ids"].dtype == np.int64


def test_a_kserve_request_and_plain_json_say_the_same(tmp_path: Path) -> None:
    kserve = {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 2, 2], "data": [1, 2, 3, 4]}]}
    (tmp_path / "kserve.json").write_text(json.dumps(kserve))
    (tmp_path / "plain.json").write_text(json.dumps({"image": [[[1, 2], [3, 4]]]}))

    arrays = [fit_inputs(metadata(IMAGE), read_inputs([f"@{tmp_path}/{name}.json"])) for name in ("kserve", "plain")]

    assert arrays[0]["image"].tolist() == arrays[1]["image"].tolist() == [[[[1.0, 2.0], [3.0, 4.0]]]]


def test_arrays_of_an_npz_go_by_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", input_ids=np.array([[7]]), attention_mask=np.array([[1]]))

    given = read_inputs([f"@{tmp_path}/both.npz"])

    assert given["input_ids"].tolist() == [[7]]
    assert given["attention_mask"].tolist() == [[1]]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{x: 1}", "is not JSON"),
        ("a.json", b"[1]", "is not a JSON object"),
        ("a.json", b'{"inputs": [{"name": "x", "shape": [2], "data": [1]}]}', "do not fill its shape"),
        ("a.json", b'{"inputs": [{"name": "x"}]}', "lacks its name or data"),
        ("a.npz", b"junk", "no array that numpy can read"),
        ("a.npz", b"", "no array that numpy can read"),
        ("a.npy", b"junk", "without a name"),
        ("a.npz", npy(np.ones(1)), "without a name"),
        ("a.npz", npz(np.array(["text"], dtype=object)), "no array that numpy can read without pickle"),
    ],
)
def test_a_file_that_is_no_request_is_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(RequestError, match=said):
        read_inputs([f"@{tmp_path}/{name}"])


@pytest.mark.parametrize("item", ["@{}/none.json", "@{}/none.npz", "x=@{}/none.npy"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, item: str) -> None:
    with pytest.raises(RequestError, match=r"cannot read .*none"):
        read_inputs([item.format(tmp_path)])


def test_a_sample_of_the_spec_can_be_sent(tmp_path: Path) -> None:
    (tmp_path / "doubled").mkdir()
    (tmp_path / "doubled" / "spec.yaml").write_text(SPEC)

    assert read_sample("doubled", tmp_path, 1)["x"].tolist() == [[2.0, 2.0, 2.0]]
    with pytest.raises(RequestError, match="has only 2 samples"):
        read_sample("doubled", tmp_path, 2)
