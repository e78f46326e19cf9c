"""The dtype table agrees with the libraries that it names."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import triton_to_np_dtype

from tritonsmith.dtypes import DTYPES, dtype, from_numpy, from_onnx, from_wire
from tritonsmith.errors import SpecError


@pytest.mark.parametrize("name", DTYPES)
def test_a_row_names_what_the_libraries_know(name: str) -> None:
    row = DTYPES[name]
    assert onnx.TensorProto.DataType.Value(row.onnx) > 0
    assert model_config_pb2.DataType.Value(row.config) > 0
    if row.torch is not None:
        assert getattr(torch, row.torch).itemsize == row.itemsize
    if row.numpy not in {None, "object"}:
        assert row.to_numpy() == np.dtype(triton_to_np_dtype(row.wire))
        assert row.to_numpy().itemsize == row.itemsize


@pytest.mark.parametrize("name", DTYPES)
def test_every_name_leads_back_to_its_row(name: str) -> None:
    row = DTYPES[name]
    assert from_wire(row.wire) is from_onnx(row.onnx) is row
    if row.numpy is not None:
        assert from_numpy(row.to_numpy()) is row


def test_strings_of_any_kind_are_bytes_on_the_wire() -> None:
    assert from_numpy(np.array(["a"]).dtype).wire == "BYTES"
    assert DTYPES["string"].config == "TYPE_STRING"


@pytest.mark.parametrize(("name", "hint"), [("FP16", "float16"), ("half", "float16"), ("TYPE_INT64", "int64")])
def test_a_known_alias_is_answered_with_the_right_name(name: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        dtype(name)
    assert caught.value.hint == f"write {hint!r}"


def test_complex_numbers_cannot_be_sent() -> None:
    with pytest.raises(SpecError, match="complex64"):
        from_numpy(np.dtype("complex64"))
