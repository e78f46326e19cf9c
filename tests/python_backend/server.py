"""The session's Triton as these tests need it: raw load errors, configs, statistics, and clients of both protocols."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from typing import Any

import tritonclient.grpc
import tritonclient.http

from tests.live_triton import LiveTriton


class Server:
    """The running server and raw tritonclient connections to it, which raise the server's own words."""

    def __init__(self, triton: LiveTriton) -> None:
        self.repository = triton.repository
        self._log_path = triton.server.log_path
        self.http = tritonclient.http.InferenceServerClient(triton.url("http"), concurrency=4, network_timeout=30)
        self.grpc = tritonclient.grpc.InferenceServerClient(triton.url("grpc"))

    def load(self, name: str, config: str | None, files: Mapping[str, bytes]) -> None:
        """Write a model (files relative to its folder) and load it; raises tritonclient's exception with the reason."""
        folder = self.repository / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "1").mkdir(parents=True)
        if config is not None:
            (folder / "config.pbtxt").write_text(config)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        self.grpc.load_model(name, client_timeout=60)

    def unload(self, name: str) -> None:
        """Unload a model and wait until it is gone."""
        self.grpc.unload_model(name, client_timeout=30)
        deadline = time.monotonic() + 10
        while self.grpc.is_model_ready(name, client_timeout=5) and time.monotonic() < deadline:
            time.sleep(0.02)

    def config(self, name: str) -> dict[str, Any]:
        """Return a loaded model's config as Triton completed it."""
        found: dict[str, Any] = self.http.get_model_config(name)
        return found

    def statistics(self, name: str) -> dict[str, Any]:
        """Return a model's statistics."""
        found: dict[str, Any] = self.http.get_inference_statistics(name)["model_stats"][0]
        return found

    def log(self) -> str:
        """Return what the server printed so far."""
        return self._log_path.read_text(errors="replace")

    def close(self) -> None:
        """Close the connections: an idle one holds up the server's exit."""
        self.http.close()
        self.grpc.close()
