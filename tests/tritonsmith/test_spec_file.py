"""Reading specs: what is right reads back equal, what is wrong is refused with key, line and fix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tritonsmith.specs import ENCODER, batched_spec, fixed_spec
from tritonsmith.errors import RepositoryError, SpecError
from tritonsmith.spec import Dim, DynamicBatching, Serving, Spec, TensorSpec
from tritonsmith.spec_file import dump_spec, parse_spec, read_spec


def test_a_spec_reads_into_typed_values() -> None:
    spec = parse_spec(ENCODER)
    assert spec.inputs["ids"] == TensorSpec(dtype="int64", shape=("batch", "sequence"))
    assert spec.dims["sequence"] == Dim(min=1, opt=32, max=128)
    assert spec.max_batch_size == 16
    assert spec.serving.instances.gpus == (0, 1)
    assert spec.opset is None


def test_defaults_batch_without_delay() -> None:
    assert batched_spec().serving.dynamic_batching == DynamicBatching(max_queue_delay_us=0)


def test_null_turns_dynamic_batching_off() -> None:
    text = ENCODER.replace("{max_queue_delay_us: 2000, preferred_batch_sizes: [4, 8]}", "null")
    assert parse_spec(text).serving.dynamic_batching is None


WRONG = {
    "unknown key": (
        ("max_queue_delay_us", "max_queue_delay"),
        "spec:13: unknown key 'serving.dynamic_batching.max_queue_delay'",
        "did you mean 'max_queue_delay_us'?",
    ),
    "unknown top key": (("serving:", "servings:"), "spec:12: unknown key 'servings'", "did you mean 'serving'?"),
    "missing dim": (
        ("sequence: {opt: 32, max: 128}", "seq: {opt: 32, max: 128}"),
        "dim 'sequence' is missing from dims (there: batch, seq)",
        None,
    ),
    "min over max": (
        ("{min: 1, opt: 4, max: 16}", "{min: 32, opt: 4, max: 16}"),
        "spec:10: dims.batch: needs 1 <= min <= opt <= max, got min 32, opt 4, max 16",
        None,
    ),
    "unknown dtype": (("dtype: int64", "dtype: int46"), "unknown dtype 'int46'", None),
    "alias": (("dtype: int64", "dtype: FP32"), "write 'float32'", None),
    "a number as text": (("opt: 32", 'opt: "32"'), "valid integer, got '32'", None),
    "zero size": (("[batch, 384]", "[batch, 0]"), "a fixed size is at least 1", None),
    "no source": (
        ('{factory: "tests.builders.models:mlp"}', "{}"),
        "needs exactly one of factory, hf, exported, torchscript, onnx",
        None,
    ),
    "path in name": (("name: encoder", "name: ../encoder"), "model name '../encoder'", None),
    "slash in name": (("name: encoder", "name: a/b"), "model name 'a/b'", None),
    "batch not first": (
        ("mask: {dtype: bool, shape: [batch, sequence]}", "mask: {dtype: bool, shape: [sequence, batch]}"),
        "inputs.mask: shape ['sequence', 'batch'] must start with 'batch'",
        None,
    ),
    "warm-up over maximum": (
        ("batch_sizes: [1, 16]", "batch_sizes: [17]"),
        "batch size 17 is above the batch dim's maximum of 16",
        None,
    ),
    "a key twice": (("mask:", "ids:"), "spec:5: 'ids' is given twice", None),
    "unknown option": (("serving:", "precisions: [fp99]\nserving:"), "spec:12: unknown key 'precisions'", None),
    "an opset too new": (("serving:", "opset: 99\nserving:"), "opset 99: from 18 to 22", None),
    "an infinite gate": (("serving:", "parity: {atol: .inf}\nserving:"), "atol", None),
    "a gate that is no number": (("serving:", "parity: {rtol: .nan}\nserving:"), "rtol", None),
    "a range of an output": (
        ("[batch, 384]", "[batch, 384], range: [0, 1]"),
        "outputs.embedding: a range bounds",
        None,
    ),
    "a broken range": (("dtype: int64, ", "dtype: int64, range: [0.1, 0.9], "), "whole numbers for int64", None),
    "an unused dim": (("dims:", "dims:\n  width: {opt: 3, max: 5}"), "dims.width: no tensor has a dim", None),
    "a dim's name": (("sequence", "seq-len"), "dims.seq-len: the name of a dim has letters", None),
    "a number as a name": (("  ids:", "  1:"), "spec:4: key '1' is no text: put it in quotes", None),
    "null in a shape": (("[batch, 384]", "[batch, null]"), "outputs.embedding.shape.1: ", None),
    "an anchor in itself": (("serving:", "samples: &a [*a]\nserving:"), "an anchor that holds itself", None),
    "broken YAML": (("dims:", "dims: ["), "spec:", None),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_spec_is_refused_with_its_place_and_a_fix(case: str) -> None:
    (old, new), message, hint = WRONG[case]
    assert old in ENCODER
    with pytest.raises(SpecError) as caught:
        parse_spec(ENCODER.replace(old, new, 99 if case == "a dim's name" else 1))
    assert message in caught.value.message
    assert hint is None or hint == caught.value.hint


@pytest.mark.parametrize(("text", "message"), [("", "the spec is empty"), ("# nothing\n", "the spec is empty")])
def test_an_empty_spec_is_called_empty(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec(text)


def test_a_spec_nested_without_end_is_refused() -> None:
    with pytest.raises(SpecError, match="nested too deeply"):
        parse_spec("a: " + "[" * 5000)


def test_batching_that_cannot_happen_is_refused() -> None:
    with pytest.raises(ValueError, match="dynamic_batching has no effect"):
        replace(fixed_spec(), serving=Serving(dynamic_batching=DynamicBatching(max_queue_delay_us=5)))


def test_a_dim_of_one_size_is_that_number() -> None:
    spec = replace(batched_spec(), dims={"batch": Dim(opt=1, max=1)})
    assert (spec.batches, spec.max_batch_size, spec.size("batch")) == (False, 0, 1)


def test_a_spec_that_is_not_a_mapping_is_refused() -> None:
    with pytest.raises(SpecError, match="a spec is a mapping"):
        parse_spec("- a\n- b\n")


def test_a_missing_file_is_a_repository_error(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="there is no spec at"):
        read_spec(tmp_path / "spec.yaml")


@given(opt=st.integers(1, 64), above=st.integers(0, 64), sizes=st.lists(st.integers(1, 512), max_size=3))
def test_what_is_dumped_reads_back_equal(opt: int, above: int, sizes: list[int]) -> None:
    spec = Spec(
        name="m",
        source=batched_spec().source,
        inputs={"x": TensorSpec(dtype="float32", shape=("batch", *sizes), range=(-1.0, 2.5))},
        dims={"batch": Dim(opt=opt, max=opt + above)},
    )
    assert parse_spec(dump_spec(spec)) == spec


def test_the_example_specs_read_back_equal() -> None:
    for path in Path("model_repository").glob("*/spec.yaml"):
        spec = read_spec(path)
        assert parse_spec(dump_spec(spec)) == spec
