from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from perf.input_data import InputData, Row, rows_of_samples
from perf.input_source import Wanted, as_served, load_input_data, row_shape
from perf.target import Input, ModelFacts
from tritonsmith.dtypes import dtype
from tritonsmith.errors import MeasurementError
from tritonsmith.spec import Spec
from tritonsmith.spec_file import parse_spec

SPEC = parse_spec(
    """
name: tokens
source: {factory: "a.b:c"}
inputs: {ids: {dtype: int64, shape: [batch, sequence], range: [5, 9]}}
dims: {batch: {opt: 2, max: 8}, sequence: {opt: 16, max: 64}}
samples: "tests.perf.test_input_data:token_samples"
"""
)


def token_samples() -> list[dict[str, np.ndarray]]:  # type: ignore[type-arg]  # as a user writes it
    """Two samples, the second of two rows."""
    return [{"ids": np.array([[1, 2, 3]])}, {"ids": np.array([[4, 5, 6], [7, 8, 9]])}]


def _facts(*inputs: Input, max_batch_size: int = 8) -> ModelFacts:
    return ModelFacts(
        name="tokens",
        version="1",
        inputs=inputs or (Input(name="ids", dtype=dtype("int64"), shape=(-1,)),),
        max_batch_size=max_batch_size,
        decoupled=False,
        config_sha256="",
        server="triton 2.51.0",
    )


def _wanted(*inputs: Input, spec: Spec | None = None, **shapes: tuple[int, ...]) -> Wanted:
    return Wanted(facts=_facts(*inputs), spec=spec, shapes=shapes)


def _rows(*lengths: int) -> tuple[Row, ...]:
    return tuple({"x": np.full(length, index, np.float32)} for index, length in enumerate(lengths))


def _data(*lengths: int) -> InputData:
    return InputData(kind="samples", source="rows", rows=_rows(*lengths), batches=True)


def test_samples_become_rows_without_the_batch_dim() -> None:
    data = load_input_data(None, _wanted(spec=SPEC))
    assert (data.kind, len(data.rows)) == ("samples", 3)
    assert [row["ids"].tolist() for row in data.rows] == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert "tests.perf.test_input_data:token_samples" in data.source


def test_a_model_without_a_batch_dim_gets_whole_samples() -> None:
    rows = rows_of_samples(token_samples(), batches=False, limit=1)
    assert [row["ids"].shape for row in rows] == [(1, 3)]


def test_requests_carry_the_batch_dim() -> None:
    assert [request["x"].shape for request in _data(3, 5).requests(1)] == [(1, 3), (1, 5)]
    assert [request["x"].tolist() for request in _data(1, 1).requests(2)] == [[[0.0], [1.0]]]


def test_a_batch_is_of_one_shape_and_filled_up() -> None:
    data = _data(3, 5, 5, 8, 5).for_batch(2)
    assert [row["x"].tolist()[0] for row in data.rows] == [1, 2, 4, 1]
    assert data.source == "rows, of which the 3 of the most frequent shape"
    assert data.for_batch(1) is data
    assert (data.shapes, _data(3, 5, 5).shapes) == (1, 2)


def test_perf_analyzer_gets_the_very_bytes() -> None:
    entry = json.loads(_data(2).to_perf_analyzer())["data"][0]["x"]
    assert entry["shape"] == [2]
    assert base64.b64decode(entry["b64"]) == np.zeros(2, np.float32).tobytes()


def test_strings_stay_readable() -> None:
    rows = ({"text": np.array(["a", b"b"], object)},)
    data = InputData(kind="file", source="", rows=rows, batches=True)
    assert json.loads(data.to_perf_analyzer()) == {"data": [{"text": {"content": ["a", "b"], "shape": [2]}}]}


def test_the_hash_changes_with_any_value_or_shape() -> None:
    other = InputData(kind="samples", source="rows", rows=({"x": np.ones(3, np.float32)},), batches=True)
    assert len({_data(3).sha256, _data(4).sha256, _data(3, 3).sha256, other.sha256}) == 4
    assert _data(3).sha256 == _data(3).sha256


def test_random_rows_are_the_same_each_time_and_keep_to_the_specs_range() -> None:
    first, again = (load_input_data("random", _wanted(spec=SPEC)) for _ in range(2))
    assert first.sha256 == again.sha256
    values = np.concatenate([row["ids"] for row in first.rows])
    assert first.rows[0]["ids"].shape == (16,)
    assert (values.min(), values.max()) == (5, 8)


SCALARS = parse_spec(
    """
name: counts
source: {factory: "a.b:c"}
inputs: {n: {dtype: int64, shape: [batch]}}
dims: {batch: {opt: 2, max: 8}}
samples: "tests.perf.test_input_data:scalar_samples"
"""
)


def scalar_samples() -> list[dict[str, np.ndarray]]:  # type: ignore[type-arg]  # as a user writes it
    """A sample of two rows, each a number."""
    return [{"n": np.array([3, 4])}]


@pytest.mark.parametrize("choice", ["samples", "random", "zero", "FILE"])
def test_a_row_that_is_a_scalar_travels_as_one_element(tmp_path: Path, choice: str) -> None:
    (tmp_path / "FILE").write_text('{"data": [{"n": {"content": [3], "shape": []}}, {"n": [4]}]}')
    wanted = _wanted(Input(name="n", dtype=dtype("int64"), shape=(1,)), spec=SCALARS)
    data = load_input_data(str(tmp_path / "FILE") if choice == "FILE" else choice, wanted)
    assert {row["n"].shape for row in data.rows} == {(1,)}
    assert data.for_batch(2).requests(2)[0]["n"].shape == (2, 1)
    assert json.loads(data.to_perf_analyzer())["data"][0]["n"]["shape"] == [1]
    if choice in {"samples", "FILE"}:
        assert [row["n"].tolist() for row in data.rows] == [[3], [4]]


def test_a_scalar_of_a_model_without_a_batch_dim_is_left_alone() -> None:
    facts = _facts(Input(name="n", dtype=dtype("int64"), shape=(1,)), max_batch_size=0)
    assert as_served({"n": np.array(3)}, Wanted(facts=facts, spec=None, shapes={}))["n"].shape == ()


def test_a_range_of_the_spec_is_for_the_dtype_of_the_spec_alone() -> None:
    fractions = parse_spec(
        """
name: tokens
source: {factory: "a.b:c"}
inputs: {ids: {dtype: float32, shape: [batch, sequence], range: [0.1, 0.9]}}
dims: {batch: {opt: 2, max: 8}, sequence: {opt: 16, max: 64}}
"""
    )
    data = load_input_data("random", _wanted(spec=fractions))
    assert set(np.concatenate([row["ids"] for row in data.rows]).tolist()) == {0, 1}


def test_without_a_spec_the_data_is_random() -> None:
    data = load_input_data(None, _wanted(ids=(7,)))
    assert (data.kind, data.rows[0]["ids"].shape, str(data.rows[0]["ids"].dtype)) == ("random", (7,), "int64")


def test_zeros_are_one_row() -> None:
    text = Input(name="text", dtype=dtype("string"), shape=(2,))
    data = load_input_data("zero", _wanted(text))
    assert [row["text"].tolist() for row in data.rows] == [["", ""]]


def test_a_size_that_varies_must_come_from_somewhere() -> None:
    image = Input(name="image", dtype=dtype("float32"), shape=(3, -1, -1))
    assert row_shape(image, _wanted(image, image=(3, 8, 8))) == (3, 8, 8)
    with pytest.raises(MeasurementError, match=r"shape \[3, -1, -1\]") as caught:
        row_shape(image, _wanted(image))
    assert str(caught.value.hint).endswith("--shape image:3,16,16")


def test_samples_without_a_spec_are_refused() -> None:
    with pytest.raises(MeasurementError, match="no spec that names samples"):
        load_input_data("samples", _wanted())


@pytest.mark.parametrize(
    "value", ["[1, 2]", '{"content": [1, 2], "shape": [2]}', '{"b64": "AQAAAAAAAAACAAAAAAAAAA=="}']
)
def test_a_file_in_perf_analyzers_form_is_read(tmp_path: Path, value: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(f'{{"data": [{{"ids": {value}}}]}}')
    data = load_input_data(str(path), _wanted())
    assert (data.kind, data.rows[0]["ids"].tolist()) == ("file", [1, 2])


@pytest.mark.parametrize("text", ["{", "[]", '{"data": [{"ids": ["x"]}]}', '{"data": [{"ids": {"shape": [2]}}]}'])
def test_a_file_with_garbage_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(text)
    with pytest.raises(MeasurementError, match="does not fit the model"):
        load_input_data(str(path), _wanted())


def test_a_file_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="no such file"):
        load_input_data(str(tmp_path / "gone.json"), _wanted())
    (tmp_path / "in.json").write_text('{"data": []}')
    with pytest.raises(MeasurementError, match="is empty"):
        load_input_data(str(tmp_path / "in.json"), _wanted())
