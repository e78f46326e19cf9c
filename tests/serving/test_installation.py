"""Finding a Triton, with folders that look like one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from serving.backend_directory import has_native_backend, lay_backends, portable_backend
from serving.installation import Installation, find_libpython, find_triton, from_wheel, python_version
from tritonsmith.errors import ServerError

Build = Callable[..., Installation]


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """A folder like NVIDIA's image has it; its bin folder goes on PATH."""
    for backend in ("python", "onnxruntime"):
        (tmp_path / "opt" / "backends" / backend).mkdir(parents=True)
    binary = tmp_path / "opt" / "bin" / "tritonserver"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    return binary


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package like nvidia-pytriton has it, with a stub for this Python."""
    package = tmp_path / "site-packages" / "pytriton"
    root = package / "tritonserver"
    for file in (
        "bin/tritonserver",
        "backends/python/libtriton_python.so",
        "backends/python/__pycache__/utils.pyc",
        f"python_backend_stubs/{python_version()}/triton_python_backend_stub",
        "python_backend_stubs/3.8/triton_python_backend_stub",
    ):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return package


def test_the_containers_triton_comes_before_the_wheels(container: Path) -> None:
    found = find_triton({"PATH": str(container.parent), "TRITON_SERVER_VERSION": "2.75.0"})

    assert found.origin == "path"
    assert found.binary == container
    assert found.version == "2.75.0"
    assert found.backends == container.parent.parent / "backends"


def test_the_containers_triton_keeps_its_environment(container: Path) -> None:
    found = find_triton({"PATH": str(container.parent)})

    assert found.environment({"PATH": "/usr/bin"}) == {"PATH": "/usr/bin"}


def test_the_containers_native_backend_is_used(container: Path, tmp_path: Path) -> None:
    found = find_triton({"PATH": str(container.parent)})

    assert has_native_backend(found)
    assert lay_backends(found, tmp_path / "links") == found.backends
    assert not (tmp_path / "links").exists()


def test_the_wheels_stub_finds_this_python_and_its_libraries_first(wheel: Path) -> None:
    found = from_wheel(wheel)
    environment = found.environment({"PATH": "/usr/bin", "HOME": "/home/me"})

    assert environment["PATH"] == f"{found.path_first[0]}:/usr/bin"
    assert (found.path_first[0] / "python3").exists()
    assert environment["LD_LIBRARY_PATH"].endswith("site-packages/nvidia_pytriton.libs")
    assert environment["HOME"] == "/home/me"


def test_the_loaders_inherited_path_stays_behind_ours(wheel: Path) -> None:
    environment = from_wheel(wheel).environment({"LD_LIBRARY_PATH": "/opt/mine"})

    assert environment["LD_LIBRARY_PATH"].endswith(":/opt/mine")


def test_a_wheel_without_a_stub_for_this_python_names_those_that_it_has(wheel: Path) -> None:
    (wheel / "tritonserver" / "python_backend_stubs" / python_version() / "triton_python_backend_stub").unlink()

    with pytest.raises(ServerError, match=f"no stub for Python {python_version()}") as caught:
        from_wheel(wheel)

    assert caught.value.hint is not None
    assert "3.8" in caught.value.hint


def test_a_wheel_without_its_server_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ServerError) as caught:
        from_wheel(tmp_path)

    assert caught.value.hint is not None
    assert "pip install 'tritonsmith[local]'" in caught.value.hint


def test_a_missing_libpython_names_the_package_to_install(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=rf"needs libpython{python_version()}\.so\.1\.0") as caught:
        find_libpython([tmp_path])

    assert caught.value.hint is not None
    assert f"apt-get install libpython{python_version()}" in caught.value.hint


def test_libpython_is_taken_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    name = f"libpython{python_version()}.so.1.0"
    for folder in ("second", "third"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()

    found = find_libpython(tmp_path / folder for folder in ("first", "second", "third"))

    assert found == tmp_path / "second" / name


def test_the_portable_backend_stands_beside_the_wheels_python_backend(wheel: Path, tmp_path: Path) -> None:
    portable = tmp_path / "portable"
    portable.mkdir()

    links = lay_backends(from_wheel(wheel), tmp_path / "links", portable=portable)

    assert (links / "python" / "libtriton_python.so").exists()
    assert (links / "python" / "triton_python_backend_stub").exists()
    assert not (links / "python" / "__pycache__").exists()
    assert (links / "onnxruntime").resolve() == portable
    assert (links / "onnxruntime_portable").resolve() == portable


def test_the_portable_backend_is_found_without_importing_it() -> None:
    assert portable_backend().parts[-2:] == ("python_backend", "onnxruntime")
