"""The load-time checks, without Triton and without ONNX Runtime."""

from __future__ import annotations

from typing import Any

import pytest

from python_backend.onnxruntime.portable.contract import check_contract
from python_backend.onnxruntime.portable.errors import Internal, InvalidArgument, LoadError, Unsupported
from python_backend.onnxruntime.portable.limits import check_limits
from python_backend.onnxruntime.portable.tensors import Signature, TensorInfo, tensor_info


def tensor(name: str, *dims: int | str, data_type: str = "TYPE_FP32", **more: Any) -> dict[str, Any]:
    """One entry of a config's input or output."""
    return {"name": name, "data_type": data_type, "dims": list(dims), **more}


def config(
    inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], max_batch_size: int = 8, **more: Any
) -> dict[str, Any]:
    """A model config as Triton hands it over."""
    return {"name": "m", "max_batch_size": max_batch_size, "input": inputs, "output": outputs, **more}


def signature(
    inputs: dict[str, tuple[int, ...]],
    outputs: dict[str, tuple[int, ...]],
    initializers: dict[str, tuple[int, ...]] | None = None,
    data_type: str = "TYPE_FP32",
) -> Signature:
    """A model whose tensors all have one type."""

    def described(shapes: dict[str, tuple[int, ...]]) -> dict[str, TensorInfo]:
        return {name: TensorInfo(name, data_type, shape) for name, shape in shapes.items()}

    return Signature(inputs=described(inputs), outputs=described(outputs), initializers=described(initializers or {}))


PLAIN = signature({"x": (-1, 3, -1)}, {"y": (-1, 10)})
X = tensor("x", 3, -1)
Y = tensor("y", 10)


ROWS = signature({"x": (-1,)}, {"y": (-1,)})
BIASED = signature({"x": (2,)}, {"y": (2,)}, {"bias": (2,)})
FITTING = {
    "same": (config([X], [Y]), PLAIN),
    "fixed_input": (config([tensor("x", 3, 224)], [Y]), PLAIN),
    "text_dims": (config([tensor("x", "3", "224")], [Y]), PLAIN),
    "no_outputs": (config([X], []), PLAIN),
    "reshape": (config([tensor("x", 3, reshape={"shape": [3, 1]})], [Y]), PLAIN),
    "empty_reshape": (config([tensor("x", 1, reshape={"shape": []})], [tensor("y", 1, reshape={})]), ROWS),
    "scalar": (config([tensor("x", 1)], [tensor("y", 1, 1)], 0), signature({"x": ()}, {"y": ()})),
    "initializer": (config([tensor("x", 2), tensor("bias", 2, optional=True)], [tensor("y", 2)], 0), BIASED),
}


@pytest.mark.parametrize(("given", "model"), FITTING.values(), ids=FITTING)
def test_a_config_that_fits_passes(given: dict[str, Any], model: Signature) -> None:
    check_contract(given, model)


@pytest.mark.parametrize(
    ("given", "model", "error", "text"),
    [
        (
            config([tensor("z", 3, -1)], [Y]),
            signature({"b": (-1, 1), "a": (-1, 1)}, {"y": (-1, 10)}),
            InvalidArgument,
            "unable to load model 'm', configuration expects 1 inputs, model provides 2",
        ),
        (
            config([tensor("z", 1), tensor("a", 1)], [Y]),
            signature({"b": (-1, 1), "a": (-1, 1)}, {"y": (-1, 10)}),
            InvalidArgument,
            "unexpected inference input 'z', allowed inputs are: a, b",
        ),
        (
            config([tensor("x", 3, -1, data_type="TYPE_BF16")], [Y]),
            PLAIN,
            Internal,
            "unsupported datatype TYPE_BF16 for input 'x' for model 'm'",
        ),
        (
            config([X], [tensor("y", 10, data_type="TYPE_INT64")]),
            PLAIN,
            InvalidArgument,
            "unable to load model 'm', configuration expects datatype TYPE_INT64 for output 'y', model provides "
            "TYPE_FP32",
        ),
        (
            config([tensor("x", 1)], [tensor("y", 1)]),
            signature({"x": (-1, 1)}, {"y": (-1, 1)}, data_type="TYPE_STRING"),
            InvalidArgument,
            "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'x', model provides "
            "TYPE_BYTES",
        ),
        (
            config([X], [tensor("y", -1)]),
            PLAIN,
            InvalidArgument,
            "model 'm', tensor 'y': the model expects 2 dimensions (shape [-1,10]) but the model configuration "
            "specifies 2 "
            "dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, "
            "making complete shape [-1,-1])",
        ),
        (
            config([tensor("x", -1, 3, 8)], [tensor("y", -1, 11)], 0),
            PLAIN,
            InvalidArgument,
            "model 'm', tensor 'y': the model expects 2 dimensions (shape [-1,10]) but the model configuration "
            "specifies 2 "
            "dimensions (shape [-1,11])",
        ),
        (
            config([tensor("x", 1, 2)], [Y], 0),
            signature({"x": ()}, {"y": (10,)}),
            InvalidArgument,
            "unable to load model 'm', scalar tensor 'x', should only provide 1 in the model configuration when the "
            "model "
            "doesn't support batching. Model configuration provided: [1,2].",
        ),
        (
            config([tensor("x", 3, -1), tensor("w", 1, optional=True)], [Y]),
            signature({"x": (-1, 3, -1)}, {"y": (-1, 10)}, {"w": (1,)}),
            InvalidArgument,
            "unable to load model 'm', optional input 'w' is not supported for models that support batching",
        ),
        (
            config([tensor("x", 3, allow_ragged_batch=True)], [Y]),
            PLAIN,
            InvalidArgument,
            "unable to load model 'm', configuration expects model provides input with shape [-1]  for ragged input "
            "'x', "
            "model provides [-1,3,-1]",
        ),
    ],
)
def test_a_config_that_does_not_fit_gets_the_native_text(
    given: dict[str, Any], model: Signature, error: type[LoadError], text: str
) -> None:
    with pytest.raises(error) as refusal:
        check_contract(given, model)

    assert str(refusal.value) == text


def sequence(data_type: str = "fp32_false_true") -> dict[str, Any]:
    """A sequence batcher with one control tensor."""
    control = {"kind": "CONTROL_SEQUENCE_START", data_type: [0, 1]}
    return {"control_input": [{"name": "start", "control": [control]}]}


def test_control_tensors_of_the_sequence_batcher_count_as_inputs() -> None:
    model = signature({"x": (-1, 3), "start": (-1, 1)}, {"y": (-1, 10)})

    check_contract(config([tensor("x", 3)], [Y], sequence_batching=sequence()), model)


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        ((-1, 2), "fp32_false_true", "sequence control 'start' in model has dims [2] but dims [1] is expected"),
        (
            (-1, 1),
            "int32_false_true",
            "sequence control 'start', the model expects data-type FLOAT but the model configuration specifies "
            "data-type "
            "TYPE_INT32",
        ),
    ],
)
def test_control_tensors_must_fit_the_model(shape: tuple[int, ...], kind: str, text: str) -> None:
    model = signature({"x": (-1, 3), "start": shape}, {"y": (-1, 10)})

    with pytest.raises(InvalidArgument) as refusal:
        check_contract(config([tensor("x", 3)], [Y], sequence_batching=sequence(kind)), model)

    assert str(refusal.value) == f"unable to load model 'm', {text}"


@pytest.mark.parametrize(
    "more",
    [
        {"batch_input": [{"kind": "BATCH_ELEMENT_COUNT", "target_name": ["n"]}]},
        {"sequence_batching": {"state": [{"input_name": "s"}]}},
        {"model_transaction_policy": {"decoupled": True}},
    ],
)
def test_what_only_the_native_backend_has_is_refused_by_name(more: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="the portable onnxruntime backend does not have"):
        check_limits(config([X], [Y], **more))


def test_a_tensor_is_described_in_config_words() -> None:
    assert tensor_info("x", "tensor(float16)", ["batch", 3, None]) == TensorInfo("x", "TYPE_FP16", (-1, 3, -1))


def test_a_value_that_is_no_tensor_is_unsupported() -> None:
    with pytest.raises(Unsupported) as refusal:
        tensor_info("s", "seq(tensor(float))", [])

    assert str(refusal.value) == "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 's', expected 'ONNX_TYPE_TENSOR'."


def test_states_count_as_inputs_and_are_then_refused_by_name() -> None:
    stateful: dict[str, Any] = {"sequence_batching": {"state": [{"input_name": "s", "output_name": "t"}]}}
    model = signature({"x": (-1, 3), "s": (-1, 1)}, {"y": (-1, 10), "t": (-1, 1)})
    given = config([tensor("x", 3)], [Y], **stateful)

    check_contract(given, model)

    with pytest.raises(Unsupported, match="the portable onnxruntime backend does not have"):
        check_limits(given)
