"""What is refused before the server starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.installation import Installation
from serving.preflight import check_model, check_numpy, check_shared_memory, loadable_models
from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, write_model
from tritonsmith.errors import ConfigError, RepositoryError, ServerError
from tritonsmith.repository import ModelFolder


def installation(origin: str = "wheel") -> Installation:
    """A Triton that is nowhere."""
    return Installation(
        origin="wheel" if origin == "wheel" else "path",
        binary=Path("/none/bin/tritonserver"),
        backends=Path("/none/backends"),
        caches=Path("/none/caches"),
    )


def model(repository: Path, name: str = "double", config: str = DOUBLE_CONFIG) -> ModelFolder:
    """A model that would load."""
    return ModelFolder(write_model(repository / name, config, {"1/model.py": DOUBLE_CODE}))


def test_a_repository_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="no model repository at") as caught:
        loadable_models(tmp_path / "none")

    assert caught.value.hint is not None
    assert "build-engine" in caught.value.hint


def test_an_empty_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="holds no model that is built"):
        loadable_models(tmp_path)


def test_a_repository_of_specs_alone_names_the_build(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "spec.yaml").write_text("name: digits")

    with pytest.raises(RepositoryError) as caught:
        loadable_models(tmp_path)

    assert caught.value.hint == "build one: build-engine digits"


def test_models_that_are_not_built_are_left_out(tmp_path: Path) -> None:
    model(tmp_path)
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "spec.yaml").write_text("name: digits")
    (tmp_path / ".staging-1-x" / "1").mkdir(parents=True)

    found = loadable_models(tmp_path)

    assert found.names == ("double",)
    assert found.not_built == ("digits",)


def test_an_unknown_model_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    model(tmp_path)

    with pytest.raises(RepositoryError, match="no model 'dubble'") as caught:
        loadable_models(tmp_path, ("dubble",))

    assert caught.value.hint == "there: double"


def test_a_model_that_is_named_twice_is_served_once(tmp_path: Path) -> None:
    model(tmp_path)

    assert loadable_models(tmp_path, ("double", "double")).names == ("double",)


def test_a_good_model_passes(tmp_path: Path) -> None:
    check_model(model(tmp_path), "cpu")


def test_a_python_model_without_its_file_would_hang_the_server(tmp_path: Path) -> None:
    folder = model(tmp_path)
    (folder.version() / "model.py").unlink()

    with pytest.raises(RepositoryError, match=r"'double' has no 1/model.py: Triton would wait for it for ever"):
        check_model(folder, "cpu")


def test_a_wrong_default_model_filename_would_hang_the_server(tmp_path: Path) -> None:
    folder = model(tmp_path, config=DOUBLE_CONFIG + 'default_model_filename: "other.py"')

    with pytest.raises(RepositoryError, match=r"has no 1/other.py"):
        check_model(folder, "cpu")


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("", "2/model.py"),
        ("version_policy { latest { num_versions: 2 } }", "2/model.py"),
        ("version_policy { all { } }", "2/model.py"),
        ("version_policy { specific { versions: [ 1 ] } }", None),
    ],
)
def test_only_versions_that_are_served_need_the_file(tmp_path: Path, policy: str, refused: str | None) -> None:
    folder = model(tmp_path, config=DOUBLE_CONFIG + policy)
    folder.version(2).mkdir()

    if refused is None:
        check_model(folder, "cpu")
    else:
        with pytest.raises(RepositoryError, match=refused):
            check_model(folder, "cpu")


def test_the_hosts_own_config_is_the_one_that_is_checked(tmp_path: Path) -> None:
    folder = model(tmp_path)
    folder.named_config("gpu").parent.mkdir()
    folder.named_config("gpu").write_text("backend {")

    check_model(folder, "cpu")
    with pytest.raises(ConfigError, match=r"gpu\.pbtxt"):
        check_model(folder, "gpu")


def test_a_config_that_does_not_parse_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.pbtxt.*2:"):
        check_model(model(tmp_path, config="backend: 'python'\nmax_batch_size: [\n"), "cpu")


def test_a_field_that_only_a_newer_triton_knows_is_left_to_the_server(tmp_path: Path) -> None:
    check_model(model(tmp_path, config=DOUBLE_CONFIG + "field_of_the_future: 3"), "cpu")


def test_a_config_that_is_a_folder_would_abort_the_server(tmp_path: Path) -> None:
    folder = model(tmp_path)
    folder.config.unlink()
    folder.config.mkdir()

    with pytest.raises(ConfigError, match="is not a file"):
        check_model(folder, "cpu")


def test_a_config_that_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = model(tmp_path)
    folder.config.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match=r"config\.pbtxt"):
        check_model(folder, "cpu")


def test_numpy_2_is_refused_with_the_bundled_triton_alone() -> None:
    with pytest.raises(ServerError, match=r"numpy 2\.1\.0 makes this Triton send empty outputs") as caught:
        check_numpy(installation("wheel"), "2.1.0")

    assert caught.value.hint == "pip install 'numpy<2'"
    check_numpy(installation("wheel"), "1.26.4")
    check_numpy(installation("path"), "2.1.0")


def test_a_missing_numpy_is_refused() -> None:
    with pytest.raises(ServerError, match="numpy is not installed"):
        check_numpy(installation("wheel"), None)


def test_shared_memory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="cannot be written"):
        check_shared_memory(tmp_path / "none")


def test_shared_memory_with_room_passes(tmp_path: Path) -> None:
    assert check_shared_memory(tmp_path) is None
