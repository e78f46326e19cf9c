"""Every kind of source: the same answers, wired rightly, and a broken file named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray

from builders.build import build
from builders.session import OnnxModel
from tests.builders import models
from tests.builders.built import X, build_folder, served, torch_answer
from tests.builders.conftest import MakeModel
from tritonsmith.config_text import parse_config
from tritonsmith.errors import BuildError, ExportError
from tritonsmith.spec_file import read_spec


def _save_exported(folder: Path) -> str:
    dims = {"x": {0: torch.export.Dim("batch", min=1, max=8)}}
    torch.export.save(
        torch.export.export(models.mlp().eval(), (torch.zeros(3, 3),), dynamic_shapes=dims), folder / "m.pt2"
    )
    return "{exported: m.pt2}"


def _save_scripted(folder: Path) -> str:
    torch.jit.trace(models.mlp().eval(), torch.zeros(3, 3)).save(str(folder / "m.pt"))  # type: ignore[no-untyped-call]
    return "{torchscript: m.pt}"


def _save_onnx(folder: Path) -> str:
    torch.onnx.export(
        models.mlp().eval(),
        (torch.zeros(3, 3),),
        str(folder / "m.onnx"),
        dynamo=True,
        dynamic_shapes=({0: torch.export.Dim("n", min=1, max=8)},),
        verbose=False,
    )
    return "{onnx: m.onnx}"


def _save_safetensors(folder: Path) -> str:
    from safetensors.torch import save_file

    save_file(models.mlp().state_dict(), folder / "m.safetensors")
    return '{factory: "tests.builders.models:mlp", state_dict: m.safetensors}'


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's exporter warns about itself
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TorchScript is deprecated, and supported here
@pytest.mark.parametrize("save", [_save_exported, _save_scripted, _save_onnx, _save_safetensors])
def test_every_kind_of_source_gives_the_same_answers(make_model: MakeModel, save: Callable[[Path], str]) -> None:
    folder = make_model()
    make_model(source=save(folder.root))
    assert build_folder(folder) == "built"
    np.testing.assert_allclose(served(folder), torch_answer(models.mlp()), atol=1e-6)
    assert build_folder(folder) == "cached"


def test_a_hugging_face_directory_is_a_source(make_model: MakeModel) -> None:
    from transformers import BertConfig, BertModel

    folder = make_model()
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    BertModel(config).save_pretrained(folder.root / "hf")
    folder.spec.write_text(
        "name: small\nsource: {hf: hf}\n"
        "inputs: {input_ids: {dtype: int64, shape: [batch, seq], range: [0, 50]},"
        " attention_mask: {dtype: int64, shape: [batch, seq], range: [1, 2]}}\n"
        "outputs: {last_hidden_state: {dtype: float32, shape: [batch, seq, 16]}}\n"
        "dims: {batch: {opt: 2, max: 4}, seq: {opt: 8, max: 16}}\n"
    )
    assert build_folder(folder) == "built"
    ids = np.arange(12, dtype=np.int64).reshape(2, 6)
    mask = np.ones_like(ids)
    model: Any = BertModel.from_pretrained(folder.root / "hf")
    with torch.inference_mode():
        expected = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
    answer: dict[str, NDArray[Any]] = OnnxModel(folder.version() / "model.onnx")(
        {"input_ids": ids, "attention_mask": mask}
    )
    np.testing.assert_allclose(answer["last_hidden_state"], expected.numpy(), atol=1e-5)


CORRUPT = {
    "{onnx: m.onnx}": "is not an ONNX model|refuses m.onnx",
    "{exported: m.onnx}": "is not a torch.export program",
    "{torchscript: m.onnx}": "is not a TorchScript module",
    '{factory: "tests.builders.models:mlp", state_dict: m.onnx}': "is not a state_dict",
    "{onnx: missing.onnx}": "there is no .*missing.onnx",
}


@pytest.mark.parametrize("source", CORRUPT)
def test_a_corrupt_or_missing_file_is_named(make_model: MakeModel, source: str) -> None:
    folder = make_model(source=source)
    (folder.root / "m.onnx").write_bytes(b"no model at all")
    with pytest.raises(BuildError, match=CORRUPT[source]):
        build(folder, read_spec(folder.spec))


def test_weights_of_another_model_are_refused(make_model: MakeModel) -> None:
    folder = make_model(source='{factory: "tests.builders.models:mlp", state_dict: weights.pt}')
    torch.save({"layer.weight": torch.zeros(4, 4)}, folder.root / "weights.pt")
    with pytest.raises(BuildError, match="does not fit the factory's module") as caught:
        build(folder, read_spec(folder.spec))
    assert any("size mismatch" in line or "Missing key" in line for line in caught.value.details)


def test_a_pickle_that_would_run_code_is_refused(make_model: MakeModel, tmp_path: Path) -> None:
    folder = make_model(source='{factory: "tests.builders.models:mlp", state_dict: weights.pt}')
    torch.save(models.Mlp(), folder.root / "weights.pt")
    with pytest.raises(BuildError, match="is not a state_dict"):
        build(folder, read_spec(folder.spec))


TWO_INPUTS = """\
name: small
source: {{{source}}}
inputs: {{{first}: {{dtype: float32, shape: [batch, 3]}}, {second}: {{dtype: float32, shape: [batch, 3]}}}}
dims: {{batch: {{opt: 4, max: 8}}}}
"""


def _save_two_inputs(folder: Path, *, by_keyword: bool) -> str:
    batch = torch.export.Dim("n", min=1, max=8)
    arrays = {"a": torch.zeros(3, 3), "b": torch.ones(3, 3)}
    shapes = {"a": {0: batch}, "b": {0: batch}}
    args = () if by_keyword else tuple(arrays.values())
    program = torch.export.export(
        models.TwoInputs(), args, kwargs=arrays if by_keyword else None, dynamic_shapes=shapes
    )
    torch.export.save(program, folder / "m.pt2")
    return "exported: m.pt2"


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's exporter warns about itself
@pytest.mark.parametrize("by_keyword", [False, True])
@pytest.mark.parametrize(("first", "second", "swapped"), [("a", "b", False), ("b", "a", True), ("u", "v", False)])
def test_inputs_of_a_program_are_wired_by_name_or_else_in_order(
    make_model: MakeModel, *, first: str, second: str, swapped: bool, by_keyword: bool
) -> None:
    folder = make_model()
    source = _save_two_inputs(folder.root, by_keyword=by_keyword)
    folder.spec.write_text(TWO_INPUTS.format(source=source, first=first, second=second))
    build_folder(folder)
    one, other = X, X + 1
    answer = OnnxModel(folder.version() / "model.onnx")({first: one, second: other})
    expected = other - 2 * one if swapped else one - 2 * other
    np.testing.assert_allclose(next(iter(answer.values())).astype(np.float32), expected, atol=1e-6)
    assert list(parse_config(folder.config.read_text()).output[0].dims) == [3]


def test_names_that_match_in_part_are_refused(make_model: MakeModel) -> None:
    folder = make_model()
    source = _save_two_inputs(folder.root, by_keyword=False)
    folder.spec.write_text(TWO_INPUTS.format(source=source, first="b", second="z"))
    with pytest.raises(ExportError, match=r"only some inputs have the names of the spec: the model has a, b"):
        build_folder(folder)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's exporter warns about itself
def test_an_onnx_file_with_external_data_is_a_source(make_model: MakeModel) -> None:
    folder = make_model()
    make_model(source=_save_onnx(folder.root))
    model = onnx.load(str(folder.root / "m.onnx"))
    onnx.save(model, str(folder.root / "m.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert build_folder(folder) == "built"
    np.testing.assert_allclose(served(folder), torch_answer(models.mlp()), atol=1e-6)
    assert [path.name for path in folder.version().iterdir()] == ["model.onnx"]
    with (folder.root / "weights.bin").open("r+b") as file:
        file.write(b"\x00\x00\x80\x3f")
    assert build_folder(folder) == "built"
