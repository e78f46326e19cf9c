"""One real Triton for the whole test session, in explicit mode: tests add small models to it and ask them.

    def test_it_doubles(triton: LiveTriton) -> None:
        triton.add_python_model("double", DOUBLE_CONFIG, DOUBLE_CODE)
        assert triton.infer("double", {"x": ones})["y"] ...

A model is loaded when it is added, and a model of the same name is replaced. Values are what to assert: a broken
Python environment answers with status 200 and empty tensors.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from serving.client import Client
from serving.server import TritonServer
from tritonsmith.address import Protocol
from tritonsmith.samples import Array

PROTOCOLS: tuple[Protocol, ...] = ("http", "grpc")

DOUBLE_CONFIG = """
backend: "python"
max_batch_size: 4
input [{ name: "x" data_type: TYPE_FP32 dims: [ -1 ] }]
output [{ name: "y" data_type: TYPE_FP32 dims: [ -1 ] }]
instance_group [{ kind: KIND_CPU }]
"""
DOUBLE_CODE = """
import triton_python_backend_utils as pb

class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        return [pb.InferenceResponse([pb.Tensor("y", array * 2)]) for array in arrays]
"""


def write_model(folder: Path, config_text: str, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write config.pbtxt and `files` (paths below the model's folder) and return the folder."""
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(config_text)
    for name, content in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


class LiveTriton:
    """The server of the session and the repository that it loads from."""

    def __init__(self, server: TritonServer, repository: Path) -> None:
        self.server = server
        self.repository = repository

    def add_python_model(self, name: str, config_text: str, code: str) -> None:
        """Write a model with `code` as its 1/model.py and load it; ServerError when it does not load."""
        self.add_model(name, config_text, {"1/model.py": code})

    def add_model(self, name: str, config_text: str, files: Mapping[str, str | bytes]) -> None:
        """Write a model with any files (paths below its folder, such as 1/model.onnx) and load it."""
        self.remove(name)
        write_model(self.repository / name, config_text, files)
        self.server.load(name, timeout_s=60)

    def remove(self, name: str) -> None:
        """Unload a model and delete it; harmless when it is not there."""
        folder = self.repository / name
        if folder.exists():
            self.server.unload(name)
            shutil.rmtree(folder)

    @contextmanager
    def client(self, protocol: Protocol = "http", *, timeout_s: float = 20) -> Iterator[Client]:
        """A client, closed at the end so that it does not hold up the server's exit."""
        with Client(self.url(protocol), protocol=protocol, timeout_s=timeout_s) as client:
            yield client

    def url(self, protocol: Protocol) -> str:
        """host:port for a protocol."""
        return self.server.http_url if protocol == "http" else self.server.grpc_url

    def infer(self, model: str, inputs: Mapping[str, Array], protocol: Protocol = "http") -> dict[str, Array]:
        """The outputs of one request."""
        with self.client(protocol) as client:
            return client.infer(model, inputs)
