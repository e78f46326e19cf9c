"""A PyTorch module seen through the spec: called with the spec's inputs, answering the spec's outputs in order.

The one module of `builders` (with `export` and `sources`) that needs torch; it knows nothing of ONNX.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tritonsmith.errors import BuildError, SpecError
from tritonsmith.references import run_user_code
from tritonsmith.samples import Array, Sample


class SpecModule(nn.Module):
    """Wraps `model` so that it takes the tensors of `inputs` by position and returns a tuple in the order of `outputs`.

    The model is called by keyword where its `forward` has parameters of those names, else by position. It may return a
    tensor, a sequence, or a mapping (Hugging Face outputs are mappings) with the outputs' names.
    """

    def __init__(self, model: nn.Module, inputs: Sequence[str], outputs: Sequence[str] = ()) -> None:
        super().__init__()
        self.model = model
        self.input_names = tuple(inputs)
        self.output_names = tuple(outputs)
        self.by_keyword = _takes_keywords(model, self.input_names)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The outputs, in the spec's order."""
        return tuple(tensor for _, tensor in select_outputs(self.call(*tensors), self.output_names))

    def call(self, *tensors: Tensor) -> Any:
        """What the model itself returns, with its own names of outputs."""
        if self.by_keyword:
            return self.model(**dict(zip(self.input_names, tensors, strict=True)))
        return self.model(*tensors)


def _takes_keywords(model: nn.Module, names: Sequence[str]) -> bool:
    try:
        parameters = inspect.signature(model.forward).parameters
    except (TypeError, ValueError):  # compiled modules have no Python signature
        return False
    return all(name in parameters for name in names)


def select_outputs(result: Any, names: Sequence[str]) -> list[tuple[str, Tensor]]:
    """The tensors of a model's result as (name, tensor); without `names` they are named by key or by position."""
    found = _named_tensors(result)
    if not found:
        raise BuildError(f"the model returned {type(result).__name__}, which holds no tensor")
    if not names:
        return list(found.items())
    if isinstance(result, Mapping):
        missing = [name for name in names if name not in found]
        if missing:
            raise SpecError(f"the model returns no output {missing[0]!r}", hint=f"it returns: {', '.join(found)}")
        return [(name, found[name]) for name in names]
    if len(found) != len(names):
        raise SpecError(
            f"the model returns {len(found)} tensors, the spec names {len(names)} outputs ({', '.join(names)})"
        )
    return list(zip(names, found.values(), strict=True))


def _named_tensors(result: Any) -> dict[str, Tensor]:
    if isinstance(result, Tensor):
        return {"output": result}
    if isinstance(result, Mapping):
        return {str(key): value for key, value in result.items() if isinstance(value, Tensor)}
    if isinstance(result, Sequence):
        tensors = [value for value in result if isinstance(value, Tensor)]
        return {f"output_{index}": tensor for index, tensor in enumerate(tensors)}
    return {}


def to_tensors(inputs: Sample) -> tuple[Tensor, ...]:
    """The arrays of one request as tensors that share their memory where they can, in the spec's order of inputs."""
    return tuple(torch.from_numpy(array if array.flags.writeable else array.copy()) for array in inputs.values())


class TorchPredictor:
    """Calls a model with {input: array}, returns {output: array}; errors in the user's `forward` show their frames."""

    def __init__(self, model: Callable[..., Any], inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def __call__(self, inputs: Sample) -> Sample:
        """One forward pass without gradients."""
        ordered = {name: inputs[name] for name in self.inputs}
        with torch.no_grad():  # inference mode breaks TorchScript
            result = run_user_code(lambda: self.model(*to_tensors(ordered)), what="the model's forward")
        pairs = select_outputs(result, self.outputs)
        return {name: _to_numpy(name, tensor) for name, tensor in pairs}


def _to_numpy(name: str, tensor: Tensor) -> Array:
    if tensor.dtype == torch.bfloat16:
        raise BuildError(
            f"output {name!r} is bfloat16, which numpy and most clients lack",
            hint="end forward with .float(), or load the model in float32",
        )
    return tensor.detach().cpu().numpy()
