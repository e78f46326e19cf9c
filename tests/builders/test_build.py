"""Building small models: what is published computes what PyTorch computes, and unchanged inputs are a cache hit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from builders.build import build
from builders.manifest import read_manifest
from builders.session import OnnxModel
from tests.builders import models
from tests.builders.built import X, build_folder, served, torch_answer
from tests.builders.conftest import MakeModel
from tritonsmith.config_text import parse_config
from tritonsmith.errors import BuildError, ExportError, GateError, ParityError, SpecError, UserCodeError
from tritonsmith.repository import ModelFolder
from tritonsmith.spec_file import read_spec


def test_a_factory_is_published_with_configs_and_record(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    assert build_folder(folder) == "built"
    np.testing.assert_allclose(served(folder), torch_answer(models.mlp()), atol=1e-6)
    assert sorted(path.name for path in folder.root.iterdir()) == [
        "1",
        "build.json",
        "config.pbtxt",
        "configs",
        "spec.yaml",
    ]
    config = parse_config(folder.config.read_text())
    assert (config.max_batch_size, list(config.input[0].dims), list(config.output[0].dims)) == (8, [3], [2])
    assert parse_config(folder.named_config("gpu").read_text()).instance_group[0].kind == 1  # KIND_GPU
    graph = onnx.load(str(folder.version() / "model.onnx"))
    assert graph.ir_version <= 10
    assert graph.opset_import[0].version == 20
    assert graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_the_record_says_what_was_proven(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    build_folder(folder)
    record = read_manifest(folder.manifest)
    assert record is not None
    cases = {row.case: row for row in record.parity}
    assert {"sample 0", "sample 4", "batch=1", "batch=4", "batch=8", "batch=7", "4 equal rows"} <= set(cases)
    assert "f(cat(a,b)) = cat(f(a),f(b)), batch=4+4" in cases
    assert all(row.max_abs < 1e-5 and row.problem is None for row in record.parity)
    assert record.artifacts[0].size == (folder.version() / "model.onnx").stat().st_size
    assert record.samples == 5
    assert record.packages["torch"] == torch.__version__
    assert any(path.endswith("tests/builders/models.py") for path in record.files)


def test_unchanged_inputs_are_a_cache_hit_and_each_change_is_not(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    assert [build_folder(folder), build_folder(folder), build_folder(folder, force=True)] == [
        "built",
        "cached",
        "built",
    ]
    make_model("mlp", change=("max: 8", "max: 9"))
    assert [build_folder(folder), build_folder(folder)] == ["built", "cached"]
    (folder.version() / "model.onnx").unlink()
    assert build_folder(folder) == "built"


def test_a_change_of_serving_alone_writes_the_configs_without_building(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    build_folder(folder)
    before = (folder.version() / "model.onnx").stat().st_mtime_ns
    folder.spec.write_text(folder.spec.read_text() + "serving: {dynamic_batching: {max_queue_delay_us: 77}}\n")
    assert build_folder(folder) == "cached"
    assert parse_config(folder.config.read_text()).dynamic_batching.max_queue_delay_microseconds == 77
    assert (folder.version() / "model.onnx").stat().st_mtime_ns == before


def test_a_damaged_or_foreign_record_is_no_cache_hit(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    build_folder(folder)
    for text in ("{", "[]", "null", json.dumps({"schema": 1})):
        folder.manifest.write_text(text)
        assert build_folder(folder) == "built"


def test_weights_that_changed_at_the_same_path_are_noticed(make_model: MakeModel) -> None:
    folder = make_model(source='{factory: "tests.builders.models:mlp", state_dict: weights.pt}')
    for scale in (1.0, 2.0):
        weights = {name: tensor * scale for name, tensor in models.mlp().state_dict().items()}
        torch.save(weights, folder.root / "weights.pt")
        assert build_folder(folder) == "built"
        module = models.mlp()
        module.load_state_dict(weights)
        np.testing.assert_allclose(served(folder), torch_answer(module), atol=1e-6)
    assert build_folder(folder) == "cached"


def test_outputs_are_chosen_by_name_and_discovered_where_the_spec_has_none(make_model: MakeModel) -> None:
    folder = make_model("named_outputs")
    build_folder(folder)
    np.testing.assert_allclose(served(folder), torch_answer(models.mlp()), atol=1e-6)
    make_model("named_outputs", change=("outputs: {y: {dtype: float32, shape: [batch, 2]}}\n", ""))
    assert build_folder(folder) == "built"
    assert [tensor.name for tensor in parse_config(folder.config.read_text()).output] == ["hidden", "y"]
    assert build_folder(folder) == "cached"


def test_an_output_may_have_the_name_of_a_value_inside_the_graph(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("{y:", "{linear:"))  # what the exporter calls the value before tanh
    build_folder(folder)
    answer = OnnxModel(folder.version() / "model.onnx")({"x": X})["linear"]
    np.testing.assert_allclose(answer.astype(np.float32), torch_answer(models.mlp()), atol=1e-6)
    names = [name for node in onnx.load(str(folder.version() / "model.onnx")).graph.node for name in node.output]
    assert len(names) == len(set(names))
    assert "linear_inner" in names


def test_the_metric_of_reference_and_artifact_is_recorded(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("samples:", 'metric: "tests.builders.models:mean_output"\nsamples:'))
    record = build(folder, read_spec(folder.spec))
    assert record.metric is not None
    assert record.metric.artifact == pytest.approx(record.metric.reference, abs=1e-6)
    assert 0 < record.metric.reference < 2


BAD: dict[str, tuple[type[Exception], str, str]] = {
    "value_dependent": (ExportError, "cannot export the model", "torch.where"),
    "fixed_size": (ExportError, "cannot export the model", "x.shape"),
    "reduces_over_the_batch": (ParityError, "output 'y'", "rows of a batch influence each other"),
    "random_noise": (ParityError, "values are off by more than atol 0.0001 + rtol 0.001", "random numbers"),
    "raises_in_forward": (ExportError, "forward is broken", ""),
    "raising_factory": (UserCodeError, "raised FileNotFoundError: weights.pt is not there", ""),
    "not_a_module": (UserCodeError, "returned int", "torch.nn.Module"),
    "brain": (ExportError, "output 'y' is bfloat16", ".float()"),
    "no_such_function": (SpecError, "has no function 'no_such_function'", "there:"),
}


@pytest.mark.parametrize("factory", BAD)
def test_a_bad_model_is_one_line_with_a_fix_and_nothing_is_published(make_model: MakeModel, factory: str) -> None:
    error, message, hint = BAD[factory]
    folder = make_model(factory)
    with pytest.raises(error) as caught:
        build(folder, read_spec(folder.spec))
    assert message in caught.value.message  # type: ignore[attr-defined]  # every one is a TritonsmithError
    assert hint in (caught.value.hint or "")  # type: ignore[attr-defined]
    assert os.listdir(folder.root) == ["spec.yaml"]  # noqa: PTH208


@pytest.mark.parametrize("factory", ["value_dependent", "raises_in_forward", "raising_factory"])
def test_the_users_own_line_is_shown(make_model: MakeModel, factory: str) -> None:
    lines = {
        "value_dependent": "in forward: if x.sum() > 0",
        "raises_in_forward": 'raise RuntimeError("forward is broken")',
        "raising_factory": "raise FileNotFoundError",
    }
    folder = make_model(factory)
    with pytest.raises((ExportError, UserCodeError)) as caught:
        build(folder, read_spec(folder.spec))
    assert any("models.py:" in line and lines[factory] in line for line in caught.value.details), caught.value.details


def test_a_failed_build_keeps_the_last_good_one(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    build_folder(folder)
    good = (folder.version() / "model.onnx").read_bytes()
    make_model("random_noise")
    with pytest.raises(ParityError):
        build_folder(folder)
    assert (folder.version() / "model.onnx").read_bytes() == good


def test_an_interrupt_leaves_nothing_half_made(make_model: MakeModel) -> None:
    folder = make_model("mlp")

    def interrupt(stage: str) -> None:
        if stage.startswith("parity: batch"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(folder, read_spec(folder.spec), report=interrupt)
    assert os.listdir(folder.root) == ["spec.yaml"]  # noqa: PTH208


def test_a_metric_that_falls_stops_the_build(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("samples:", 'metric: "tests.builders.models:falling_metric"\nsamples:'))
    with pytest.raises(GateError, match=r"falls from 1\.0000 to 0\.5000"):
        build(folder, read_spec(folder.spec))


@pytest.mark.parametrize("samples", ["one_sample", "equal_samples"])
def test_rows_that_influence_each_other_are_found_whatever_the_samples(make_model: MakeModel, samples: str) -> None:
    folder = make_model("reduces_over_the_batch", change=("few_samples", samples))
    with pytest.raises(ParityError) as caught:
        build(folder, read_spec(folder.spec))
    assert "rows of a batch influence each other" in (caught.value.hint or "")


def test_samples_of_equal_rows_are_warned_of(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("few_samples", "equal_samples"))
    assert build(folder, read_spec(folder.spec)).warnings[0].startswith("all rows of the samples are equal")


def test_endless_samples_do_not_hang_the_build(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("few_samples", "endless_samples"))
    assert build(folder, read_spec(folder.spec)).samples == 512


def test_a_damaged_artifact_is_built_again(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    build_folder(folder)
    path = folder.version() / "model.onnx"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert build_folder(folder) == "built"
    assert path.read_bytes() == content


def test_an_artifact_of_ones_own_is_never_replaced(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    folder.spec.write_text(folder.spec.read_text() + "serving: {backend: python}\n")
    (folder.root / "1").mkdir()
    (folder.root / "1" / "model.py").write_text("mine")
    with pytest.raises(BuildError, match="build-engine makes models for the onnxruntime backend"):
        build(folder, read_spec(folder.spec))
    assert (folder.root / "1" / "model.py").read_text() == "mine"


@pytest.mark.parametrize(("metric", "error"), [("nan_metric", GateError), ("broken_metric", UserCodeError)])
def test_a_metric_that_is_no_number_is_no_pass(make_model: MakeModel, metric: str, error: type[Exception]) -> None:
    folder = make_model("mlp", change=("samples:", f'metric: "tests.builders.models:{metric}"\nsamples:'))
    with pytest.raises(error, match="metric 'tests"):
        build(folder, read_spec(folder.spec))


def test_a_negative_metric_that_stays_is_a_pass(make_model: MakeModel) -> None:
    folder = make_model("mlp", change=("samples:", 'metric: "tests.builders.models:negative_metric"\nsamples:'))
    record = build(folder, read_spec(folder.spec))
    assert record.metric is not None
    assert record.metric.reference < -1


@pytest.mark.parametrize(("dim", "shape"), [("opt: 1, max: 1", 1), ("min: 5, opt: 5, max: 5", 5)])
def test_a_dim_of_one_size_is_a_fixed_size(make_model: MakeModel, dim: str, shape: int) -> None:
    folder = make_model("mlp", change=("{opt: 4, max: 8}", f"{{{dim}}}"))
    folder.spec.write_text(folder.spec.read_text().replace('samples: "tests.builders.models:few_samples"\n', ""))
    assert build_folder(folder) == "built"
    config = parse_config(folder.config.read_text())
    assert (config.max_batch_size, list(config.input[0].dims)) == (0, [shape, 3])


def test_a_discovered_output_must_obey_the_rules_too(make_model: MakeModel) -> None:
    folder = make_model("summing", change=("outputs: {y: {dtype: float32, shape: [batch, 2]}}\n", ""))
    with pytest.raises(ExportError, match="must start with 'batch'"):
        build(folder, read_spec(folder.spec))


@pytest.mark.parametrize("opset", [18, 21])
def test_the_opset_is_the_one_asked_for(make_model: MakeModel, opset: int) -> None:
    folder = make_model("mlp")
    folder.spec.write_text(folder.spec.read_text() + f"opset: {opset}\n")
    record = build(folder, read_spec(folder.spec))
    graph = onnx.load(str(folder.version() / "model.onnx"))
    assert record.opset == graph.opset_import[0].version == opset
    assert record.ir_version == graph.ir_version <= 10


def test_a_linked_repository_is_a_cache_hit_too(make_model: MakeModel, tmp_path: Path) -> None:
    folder = make_model("mlp")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(folder.root.parent)
    linked = ModelFolder(tmp_path / "elsewhere" / "link" / "small")
    assert [build_folder(linked), build_folder(linked), build_folder(folder)] == ["built", "cached", "cached"]


def test_an_output_that_numpy_lacks_is_named_before_the_export(make_model: MakeModel) -> None:
    folder = make_model("brain", change=("outputs: {y: {dtype: float32, shape: [batch, 2]}}\n", ""))
    with pytest.raises(BuildError, match="output 'output' is bfloat16, which numpy and most clients lack"):
        build(folder, read_spec(folder.spec))
