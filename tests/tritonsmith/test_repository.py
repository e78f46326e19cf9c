"""Finding models by name, folder or spec, and publishing them whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tritonsmith.errors import RepositoryError, SpecError
from tritonsmith.repository import ModelFolder, find_model, model_folders


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "spec.yaml").write_text("name: encoder\n")
    return tmp_path


@pytest.mark.parametrize("target", ["encoder", "{}/encoder", "{}/encoder/spec.yaml"])
def test_a_model_is_found_by_name_by_folder_and_by_spec(repository: Path, target: str) -> None:
    assert find_model(target.format(repository), repository).spec == repository / "encoder" / "spec.yaml"


def test_an_unknown_model_is_answered_with_the_known_ones(repository: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        find_model("decoder", repository)
    assert "there is no model 'decoder'" in caught.value.message
    assert caught.value.hint == "there: encoder"


@pytest.mark.parametrize("name", ["..", "../encoder", "a/b", ".hidden", "-x", "a..b", "a b", "", "x" * 300])
def test_a_name_that_could_leave_the_repository_is_refused(repository: Path, name: str) -> None:
    with pytest.raises(SpecError, match="model name"):
        find_model(name, repository)


def test_a_repository_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"no model repository at .*nowhere"):
        model_folders(tmp_path / "nowhere")


def test_only_folders_that_triton_would_load_are_models(repository: Path) -> None:
    for name in ("built/1", "configured", ".staging-1-x/1"):
        (repository / name).mkdir(parents=True)
    (repository / "configured" / "config.pbtxt").write_text("")
    assert [folder.name for folder in model_folders(repository)] == ["built", "configured"]


def test_publishing_replaces_versions_and_configs_and_keeps_the_spec(repository: Path) -> None:
    folder = ModelFolder(repository / "encoder")
    for content in ("first", "second"):
        stage = folder.root / ".stage"
        for path in (stage / "1" / "model.onnx", stage / "configs" / "cpu.pbtxt", stage / "build.json"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        folder.publish(stage)
        assert (folder.version() / "model.onnx").read_text() == content
        assert folder.named_config("cpu").read_text() == content
        for left in sorted(stage.rglob("*"), reverse=True):
            left.rmdir() if left.is_dir() else left.unlink()
        stage.rmdir()
    assert folder.spec.read_text() == "name: encoder\n"
    assert folder.versions() == [1]


def test_a_name_means_the_repository_even_where_a_folder_of_that_name_is(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "encoder").mkdir(parents=True)
    (elsewhere / "encoder" / "spec.yaml").write_text("name: another\n")
    monkeypatch.chdir(elsewhere)
    assert find_model("encoder", repository).root == repository / "encoder"
    assert find_model("./encoder", repository).root == Path("encoder")


def test_a_linked_model_has_the_name_of_the_link(repository: Path) -> None:
    (repository / "latest").symlink_to("encoder")
    assert ModelFolder(repository / "latest").name == "latest"


def test_an_interrupted_publish_is_never_taken_for_a_whole_one(repository: Path) -> None:
    folder = ModelFolder(repository / "encoder")
    folder.manifest.write_text("old")
    stage = folder.root / ".stage"
    (stage / "1").mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        folder.publish(Broken(stage))
    assert not folder.manifest.exists()


class Broken(type(Path())):  # type: ignore[misc]  # the concrete path class of this system
    """A staged folder that lists a file which is not there."""

    def iterdir(self) -> Iterator[Path]:
        yield Path(self) / "missing"
