"""Where a model comes from: one loader per kind of source, each giving the model and its reference predictor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_unflatten

from builders.graph import external_files, wanted_names
from builders.session import OnnxModel
from builders.torch_model import SpecModule, TorchPredictor
from tritonsmith.errors import BuildError, UserCodeError
from tritonsmith.extras import require
from tritonsmith.references import load_reference, run_user_code
from tritonsmith.samples import Predict, Sample
from tritonsmith.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model in memory: what is exported (or the ONNX file), and the predictor that parity trusts."""

    kind: str
    model: Any
    predict: Predict
    reference: str


def load_model(spec: Spec, base: Path) -> LoadedModel:
    """Load the spec's source; relative paths start at `base`, the folder of spec.yaml.

    Raises SpecError, UserCodeError, or BuildError for a file that is missing or corrupt.
    """
    return _LOADERS[spec.source.kind](spec, base)


def _from_factory(spec: Spec, base: Path) -> LoadedModel:
    source = spec.source
    factory = load_reference(source.factory or "", role="factory")
    what = f"factory {source.factory!r}"
    module = run_user_code(lambda: factory(**source.kwargs), what=what)
    if not isinstance(module, nn.Module):
        raise UserCodeError(f"{what} returned {type(module).__name__}", hint="return a torch.nn.Module")
    if source.state_dict is not None:
        _load_weights(module, _existing(base, source.state_dict))
    return _from_module(spec, module, "factory")


def _load_weights(module: nn.Module, path: Path) -> None:
    """Load weights only, never pickled code; names and shapes must all match."""
    if path.suffix == ".safetensors":
        weights = require("safetensors.torch", extra="build").load_file(path)
    else:
        weights = _read(lambda: torch.load(path, map_location="cpu", weights_only=True), path, "a state_dict")
    if not isinstance(weights, dict):
        raise BuildError(f"{path} holds {type(weights).__name__}", hint="save model.state_dict() instead of the model")
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise BuildError(f"{path} does not fit the factory's module", details=tuple(lines[1:5])) from error


def _from_hf(spec: Spec, base: Path) -> LoadedModel:
    folder = _existing(base, spec.source.hf or "")
    transformers = require("transformers", extra="hf")
    config = _read(lambda: transformers.AutoConfig.from_pretrained(folder, local_files_only=True), folder, "a model")
    names = [*(config.architectures or []), "AutoModel"]
    cls = next(getattr(transformers, name) for name in names if hasattr(transformers, name))
    transformers.utils.logging.disable_progress_bar()
    module = _read(lambda: cls.from_pretrained(folder, local_files_only=True, dtype=torch.float32), folder, "a model")
    return _from_module(spec, module, "hf")


def _from_module(spec: Spec, module: nn.Module, kind: str) -> LoadedModel:
    wrapped = SpecModule(module.eval(), list(spec.inputs), list(spec.outputs))
    predict = TorchPredictor(wrapped.call, list(spec.inputs), list(spec.outputs))
    return LoadedModel(kind=kind, model=wrapped, predict=predict, reference=f"torch {torch.__version__}")


def _from_exported(spec: Spec, base: Path) -> LoadedModel:
    """The program's own inputs decide the order and whether a tensor goes by position or by keyword."""
    path = _existing(base, spec.source.exported or "")
    program = _read(lambda: torch.export.load(path), path, "a torch.export program (.pt2)")
    own = list(program.graph_signature.user_inputs)
    to_spec = dict(zip(own, wanted_names(own, list(spec.inputs), "inputs"), strict=True))
    module = program.module()

    def call(*tensors: torch.Tensor) -> Any:
        args, kwargs = tree_unflatten(list(tensors), program.call_spec.in_spec)
        return module(*args, **kwargs)

    predict = TorchPredictor(call, [to_spec[name] for name in own], list(spec.outputs))
    return LoadedModel(kind="exported", model=program, predict=predict, reference=f"torch {torch.__version__}")


def _from_torchscript(spec: Spec, base: Path) -> LoadedModel:
    path = _existing(base, spec.source.torchscript or "")
    module = _read(lambda: _jit_load(path), path, "a TorchScript module").eval()
    predict = TorchPredictor(module, list(spec.inputs), list(spec.outputs))
    return LoadedModel(kind="torchscript", model=module, predict=predict, reference=f"torch {torch.__version__}")


def _jit_load(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and still what some have
        return torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]  # torch leaves it untyped


def _from_onnx(spec: Spec, base: Path) -> LoadedModel:
    """The file itself is the reference, run with every graph optimisation off."""
    path = _existing(base, spec.source.onnx or "")
    original = OnnxModel(path, optimize=False)
    to_own = dict(zip(wanted_names(original.inputs, list(spec.inputs), "inputs"), original.inputs, strict=True))
    outputs = list(spec.outputs or original.outputs)
    to_spec = dict(zip(original.outputs, wanted_names(original.outputs, outputs, "outputs"), strict=True))

    def predict(inputs: Sample) -> Sample:
        answer = original({to_own[name]: array for name, array in inputs.items()})
        return {to_spec[name]: array for name, array in answer.items()}

    return LoadedModel(kind="onnx", model=path, predict=predict, reference="the ONNX file, unoptimised")


def source_files(spec: Spec, base: Path) -> set[Path]:
    """The files that the spec itself names as the source."""
    source = spec.source
    named = [
        base / name for name in (source.hf, source.exported, source.torchscript, source.onnx, source.state_dict) if name
    ]
    files = {file for path in named for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()}
    return files | (external_files(base / source.onnx) if source.onnx else set())


_RESAVE = "where you trust it, save the tensors alone: torch.save(model.state_dict(), path)"


def _existing(base: Path, name: str) -> Path:
    path = base / name
    if not path.exists():
        raise BuildError(f"there is no {path}", hint="paths in a spec start at the folder of spec.yaml")
    return path


def _read(load: Callable[[], Any], path: Path, expected: str) -> Any:
    """Read a model file; whatever the library says about a broken one becomes one line."""
    try:
        return load()
    except Exception as error:  # torch and transformers raise anything for a broken file
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "weights_only" in said or "Weights only" in said:  # torch's own advice is to run what the pickle says
            said = "it holds more than tensors, which could run code when read"
        raise BuildError(
            f"{path} is not {expected}: {said}", hint=_RESAVE if "state_dict" in expected else None
        ) from error


_LOADERS: dict[str, Callable[[Spec, Path], LoadedModel]] = {
    "factory": _from_factory,
    "hf": _from_hf,
    "exported": _from_exported,
    "torchscript": _from_torchscript,
    "onnx": _from_onnx,
}
