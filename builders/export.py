"""PyTorch to ONNX: torch.onnx.export with named dynamic dims, then the spec's names put on the graph's ends.

Every exporter writes one file, IR version at most 10, external data only when large.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from builders.graph import load_model, save_normalized
from builders.sources import LoadedModel
from builders.synthetic import make_inputs, trace_sizes
from builders.torch_model import to_tensors
from tritonsmith.errors import ExportError
from tritonsmith.references import is_user_file, user_frames
from tritonsmith.samples import Sample
from tritonsmith.spec import DEFAULT_OPSET, Spec

_SOURCE_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\w+)\n\s*(?P<source>[^\n]*)')

_SIZE = re.compile(r"(\d+) not in VR\[(\d+), (\d+)\]")


def export_onnx(loaded: LoadedModel, spec: Spec, outputs: Sequence[str], samples: Sequence[Sample], path: Path) -> None:
    """Write `loaded` to the ONNX file `path` with the spec's input names and the given output names.

    ExportError shows the user's line where PyTorch gave up, and what to try.
    """
    save_normalized(_EXPORTERS[loaded.kind](loaded, spec, outputs, samples, path), spec, outputs, path)


def _export_module(
    loaded: LoadedModel, spec: Spec, outputs: Sequence[str], samples: Sequence[Sample], path: Path
) -> Any:
    del outputs, path
    inputs = make_inputs(spec, trace_sizes(spec), samples)
    return _export(loaded.model, to_tensors(inputs), spec, dynamic_shapes={"tensors": dynamic_shapes(spec)})


def _export_program(
    loaded: LoadedModel, spec: Spec, outputs: Sequence[str], samples: Sequence[Sample], path: Path
) -> Any:
    """A torch.export program carries its own dynamic dims."""
    del outputs, samples, path
    return _export(loaded.model, (), spec, dynamic_shapes=None)


def _export(model: Any, args: tuple[Any, ...], spec: Spec, *, dynamic_shapes: Any) -> Any:
    with _quiet_and_explained():
        program = torch.onnx.export(
            model,
            args,
            dynamo=True,
            opset_version=spec.opset or DEFAULT_OPSET,
            dynamic_shapes=dynamic_shapes,
            optimize=True,
            verbose=False,
        )
    if program is None:
        raise ExportError("torch.onnx.export returned no program")
    return program.model


@contextmanager
def _quiet_and_explained() -> Iterator[None]:
    """Drop what the exporter says of its own internals, and turn what it raises into an ExportError."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)  # torch sets the levels of its many loggers one by one
    drop = io.StringIO()  # torch.export prints the graphs that it could not finish
    try:
        with warnings.catch_warnings(), redirect_stdout(drop), redirect_stderr(drop):
            warnings.simplefilter("ignore")
            yield
    except Exception as error:  # the exporter wraps whatever the user's code and its passes raise
        raise _explain(error) from error
    finally:
        logging.disable(before)


def _export_torchscript(
    loaded: LoadedModel, spec: Spec, outputs: Sequence[str], samples: Sequence[Sample], path: Path
) -> Any:
    """TorchScript goes through the older exporter, the only one that takes it."""
    inputs = make_inputs(spec, trace_sizes(spec), samples)
    axes = {
        name: {axis: size for axis, size in enumerate(map(spec.size, tensor.shape)) if isinstance(size, str)}
        for _, name, tensor in spec.tensors()
    }
    target = path.with_suffix(".torchscript.onnx")
    with _quiet_and_explained():
        torch.onnx.export(
            loaded.model,
            to_tensors(inputs),
            str(target),
            dynamo=False,
            opset_version=spec.opset or DEFAULT_OPSET,
            input_names=list(spec.inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
        )
    return _take(target)


def _take(path: Path) -> Any:
    """Read a file that an exporter wrote, and remove it."""
    model = load_model(path)
    path.unlink()
    return model


def _export_onnx(loaded: LoadedModel, spec: Spec, outputs: Sequence[str], samples: Sequence[Sample], path: Path) -> Any:
    del spec, outputs, samples, path
    return load_model(loaded.model)


_EXPORTERS: dict[str, Callable[[LoadedModel, Spec, Sequence[str], Sequence[Sample], Path], Any]] = {
    "factory": _export_module,
    "hf": _export_module,
    "exported": _export_program,
    "torchscript": _export_torchscript,
    "onnx": _export_onnx,
}


def dynamic_shapes(spec: Spec) -> tuple[dict[int, Any], ...]:
    """The named dims of each input, as torch.export wants them; a dim that cannot vary is left out."""
    dims = {
        name: torch.export.Dim(name, min=dim.min, max=dim.max) for name, dim in spec.dims.items() if not dim.is_fixed
    }
    return tuple(
        {axis: dims[size] for axis, size in enumerate(tensor.shape) if isinstance(size, str) and size in dims}
        for tensor in spec.inputs.values()
    )


def _explain(error: Exception) -> ExportError:
    """One line from the innermost cause, the user's lines, and what to try."""
    chain = list(_causes(error))
    text = "\n".join(str(item) for item in chain)
    said = next((line for item in reversed(chain) for line in _speaking_lines(str(item))), type(chain[-1]).__name__)
    said = _SIZE.sub(r"a dim was traced with size \1, but the code allows only \2 to \3", said)
    return ExportError(f"PyTorch cannot export the model: {said}", hint=_advice(text), details=_user_lines(chain, text))


def _causes(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _speaking_lines(text: str) -> list[str]:
    """Lines that say something: no rules, no banners, no frames."""
    lines = (line.strip() for line in text.splitlines())
    return [
        line[:300] for line in lines if len(line) > 10 and not line.startswith(("File ", "#", "-", "=", "The above"))
    ]


def _user_lines(chain: Sequence[BaseException], text: str) -> tuple[str, ...]:
    """The user's frames: from the tracebacks, else from the stack that the exporter prints in its message."""
    for item in reversed(chain):
        frames = user_frames(item)
        if frames:
            return frames[-2:]
    found = [match.groupdict() for match in _SOURCE_LINE.finditer(text) if is_user_file(match["file"])]
    return tuple(f"at {row['file']}:{row['line']} in {row['function']}: {row['source']}" for row in found[-2:])


_DATA_DEPENDENT = "a branch or size depends on values: use torch.where, masks or torch.cond, not `if` and .item()"
_FIXED_SIZE = "the code fixes a size: write it from x.shape, or give that dim a fixed size in the spec"
_NO_ONNX_FORM = "an operator has no ONNX form: replace it, or write it with simpler operators"
_ADVICE: Mapping[str, str] = {
    "data-dependent": _DATA_DEPENDENT,
    "data dependent": _DATA_DEPENDENT,
    "DataDependent": _DATA_DEPENDENT,
    "not in VR[": _FIXED_SIZE,
    "specialized": _FIXED_SIZE,
    "Constraints violated": "the code allows fewer sizes than the spec's dims: narrow them, or write it from x.shape",
    "No ONNX function found": _NO_ONNX_FORM,
    "DispatchError": _NO_ONNX_FORM,
}
_GENERAL = (
    "try torch.export.export(model, inputs) alone: it says more; or give a TorchScript or ONNX file as the source"
)


def _advice(text: str) -> str:
    return next((advice for part, advice in _ADVICE.items() if part in text), _GENERAL)
