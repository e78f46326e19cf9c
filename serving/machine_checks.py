"""What `tritonsmith doctor` looks at, a function each: it returns a Finding or raises the error with the fix."""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from serving.finding import Finding
from serving.installation import find_libpython, find_triton, libpython_folders
from serving.preflight import check_numpy, check_shared_memory
from serving.workplace import SHARED_MEMORY
from tritonsmith.errors import MissingExtra, ServerError
from tritonsmith.runtime import gpus, package_version

_OLDEST_PYTHON = (3, 10)
_DOUBLE_CONFIG = """
backend: "python"
max_batch_size: 4
input [{ name: "x" data_type: TYPE_FP32 dims: [ 3 ] }]
output [{ name: "y" data_type: TYPE_FP32 dims: [ 3 ] }]
instance_group [{ kind: KIND_CPU }]
"""
_DOUBLE_CODE = """
import triton_python_backend_utils as pb

class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        return [pb.InferenceResponse([pb.Tensor("y", array * 2)]) for array in arrays]
"""


def python() -> Finding:
    """This Python."""
    if sys.version_info < _OLDEST_PYTHON:
        raise ServerError(f"Python {platform.python_version()} is too old", hint="install Python 3.10 or newer")
    return Finding(found=f"{platform.python_version()} at {sys.executable}")


def libpython() -> Finding:
    """The shared library that the bundled Triton's Python backend is linked against."""
    if shutil.which("tritonserver") is not None:
        return Finding(found="not needed: Triton brings its own Python")
    return Finding(found=str(find_libpython(libpython_folders())))


def numpy() -> Finding:
    """numpy, below 2 where the bundled Triton is used."""
    version = package_version("numpy")
    if version is None:
        raise ServerError("numpy is not installed", hint="pip install 'tritonsmith[local]'")
    try:
        installation = find_triton()
    except ServerError:  # that is the business of the check of Triton
        return Finding(found=version)
    check_numpy(installation, version)
    return Finding(found=version)


def torch() -> Finding:
    """PyTorch, needed to build."""
    return Finding(found=_version("torch"))


def onnx() -> Finding:
    """What the export needs besides PyTorch."""
    return Finding(found=f"onnx {_version('onnx')}, onnxscript {_version('onnxscript')}")


def onnxruntime() -> Finding:
    """ONNX Runtime, needed to build and, with the bundled Triton, to serve."""
    gpu, cpu = package_version("onnxruntime-gpu"), package_version("onnxruntime")
    if gpu and cpu:
        return Finding(
            found=f"onnxruntime {cpu} and onnxruntime-gpu {gpu}",
            warning="they overwrite each other's files",
            fix="pip uninstall onnxruntime onnxruntime-gpu, then install one of them again",
        )
    version = gpu or _version("onnxruntime")
    if gpus() and not gpu:
        return Finding(
            found=version, warning="it runs on the CPU only", fix="pip install onnxruntime-gpu in place of onnxruntime"
        )
    return Finding(found=f"{version} ({'GPU and CPU' if gpu else 'CPU'})")


def gpu() -> Finding:
    """NVIDIA GPUs, by the driver."""
    listed = gpus()
    if not listed:
        raise ServerError(
            "none: models run on the CPU", hint="for GPUs install NVIDIA's driver, so that nvidia-smi works"
        )
    return Finding(found="; ".join(listed))


def triton() -> Finding:
    """The server."""
    return Finding(found=find_triton().described)


def shared_memory() -> Finding:
    """Room for the tensors of Python models."""
    tight = check_shared_memory()
    free = f"{shutil.disk_usage(SHARED_MEMORY).free >> 20} MB free in {SHARED_MEMORY}"
    return Finding(found=free, warning=tight and "large requests may fail", fix="in Docker: --shm-size=1g")


def perf_analyzer() -> Finding:
    """NVIDIA's load generator; without it, sweeps use our own client."""
    # serving and perf do not import each other, and this one check of the doctor lies above both: by name, as the
    # table of sub-commands; tests/test_imports.py lists it as the one exception
    tool = importlib.import_module("perf.perf_analyzer").find()
    return Finding(found=f"{tool.version} at {tool.path}")


def served_model() -> Finding:
    """A server really starts here, and a model answers over both protocols with the right values."""
    with tempfile.TemporaryDirectory(prefix="tritonsmith-doctor-") as folder:
        model = Path(folder, "double")
        (model / "1").mkdir(parents=True)
        (model / "config.pbtxt").write_text(_DOUBLE_CONFIG)
        (model / "1" / "model.py").write_text(_DOUBLE_CODE)
        return _ask_double(Path(folder))


def _ask_double(repository: Path) -> Finding:
    import numpy

    from serving.client import Client
    from serving.server import TritonServer
    from tritonsmith.address import Protocol

    x = numpy.array([[1, 2, 3]], dtype=numpy.float32)
    with TritonServer.start(repository, ready_timeout_s=60, exit_timeout_s=5) as server:
        urls: dict[Protocol, str] = {"http": server.http_url, "grpc": server.grpc_url}
        for protocol, url in urls.items():
            with Client(url, protocol=protocol, timeout_s=20) as client:
                y = client.infer("double", {"x": x})["y"]
            if not numpy.array_equal(y, 2 * x):
                raise ServerError(f"over {protocol} the model sent {y.tolist()} for 2 * {x.tolist()}")
    return Finding(found=f"Triton {server.version} answered over HTTP and gRPC with the right values")


def _version(package: str) -> str:
    version = package_version(package)
    if version is None:
        raise MissingExtra(package, "build")
    return version
