"""The model that is measured, on its server: what it takes, how it is configured, what its statistics say.

The only module of `perf` that asks the server anything, through tritonclient over gRPC or HTTP; load comes from the
clients. Answers become plain data at once.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy as np

from perf.server_stats import ServerStats, parse_statistics
from tritonsmith.dtypes import DType, from_numpy, from_wire
from tritonsmith.errors import MeasurementError
from tritonsmith.samples import Array, Sample

Protocol = Literal["grpc", "http"]
PROTOCOLS: dict[Protocol, str] = {"grpc": "tritonclient.grpc", "http": "tritonclient.http"}
DEFAULT_URLS: dict[Protocol, str] = {"grpc": "127.0.0.1:8001", "http": "127.0.0.1:8000"}
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input of the model: its shape has no batch dim, -1 stands for a size that varies."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the server says of the model; `config_sha256` changes when its configuration does."""

    name: str
    version: str
    inputs: tuple[Input, ...]
    max_batch_size: int
    decoupled: bool
    config_sha256: str
    server: str


def facts_from_answers(
    metadata: Mapping[str, Any], config: Mapping[str, Any], server: Mapping[str, Any], version: str
) -> ModelFacts:
    """The facts from the JSON of the metadata and configuration APIs; `version` is the one asked for, or ""."""
    config = config.get("config", config)
    max_batch_size = int(config.get("max_batch_size", 0))
    skip = 1 if max_batch_size > 0 else 0
    inputs = tuple(
        Input(
            name=tensor["name"],
            dtype=from_wire(tensor["datatype"]),
            shape=tuple(int(size) for size in tensor.get("shape", [])[skip:]),
        )
        for tensor in metadata.get("inputs", [])
    )
    served = sorted(metadata.get("versions", []), key=lambda text: (len(text), text))
    text = json.dumps(config, sort_keys=True)
    return ModelFacts(
        name=metadata["name"],
        version=version or (served[-1] if served else "1"),
        inputs=inputs,
        max_batch_size=max_batch_size,
        decoupled=bool(config.get("model_transaction_policy", {}).get("decoupled", False)),
        config_sha256=hashlib.sha256(text.encode()).hexdigest(),
        # not its name: --id may give every start another one
        server=f"Triton {server.get('version', 'of unknown version')}",
    )


class Target(AbstractContextManager["Target"]):
    """A connection to the server for questions; close it, as an idle HTTP connection holds up the server's end."""

    def __init__(self, *, url: str, protocol: Protocol, model: str, version: str = "") -> None:
        self.url, self.protocol, self.model, self.version = url, protocol, model, version
        self._library = importlib.import_module(PROTOCOLS[protocol])
        self._client: Any = _connect(self._library, url, protocol)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def facts(self) -> ModelFacts:
        """Ask for metadata and configuration; MeasurementError when the server or the model is not there."""
        server = self._ask(self._client.get_server_metadata)
        if not self._is_ready():
            raise self._no_such_model()
        metadata = self._ask(self._client.get_model_metadata, self.model, self.version)
        config = self._ask(self._client.get_model_config, self.model, self.version)
        return facts_from_answers(metadata, config, server, self.version)

    def statistics(self) -> ServerStats:
        """The model's counters since it was loaded."""
        return parse_statistics(self._ask(self._client.get_inference_statistics, self.model, self.version))

    def is_live(self) -> bool:
        """True while the server answers."""
        try:
            return bool(self._client.is_server_live())
        except failures():
            return False

    def try_once(self, request: Sample) -> int:
        """Send one request before any load; returns the bytes of its inputs and outputs.

        MeasurementError when it fails or when an output comes back empty: an empty answer is fast and worthless.
        """
        inputs = [infer_input(self._library, name, array) for name, array in request.items()]
        try:
            result = self._client.infer(self.model, inputs, model_version=self.version)
        except failures() as error:
            raise MeasurementError(
                f"{self.model} refuses the request that the load would be made of: {one_line(error)}",
                hint="give fitting data with --input-data, or the shape with --shape",
            ) from error
        return sum(array.nbytes for array in request.values()) + self._answer_bytes(result)

    def _answer_bytes(self, result: Any) -> int:
        response = result.get_response()
        outputs = response["outputs"] if isinstance(response, Mapping) else response.outputs
        names = [output["name"] if isinstance(output, Mapping) else output.name for output in outputs]
        arrays = {name: result.as_numpy(name) for name in names}
        for name, array in arrays.items():
            if array is None or np.size(array) == 0:
                raise MeasurementError(
                    f"{self.model} answers with an empty output {name!r}, so its speed means nothing",
                    hint="if a Python backend of Triton 24.10 or older serves it, its Python needs numpy < 2",
                )
        return sum(array.nbytes for array in arrays.values() if array is not None)

    def _is_ready(self) -> bool:
        try:
            return bool(self._client.is_model_ready(self.model, self.version))
        except failures():  # gRPC knows no answer for a model that is not there
            return False

    def _ask(self, question: Callable[..., Any], *arguments: str) -> Any:
        as_json = {"as_json": True} if self.protocol == "grpc" else {}
        try:
            return question(*arguments, **as_json)
        except failures() as error:
            if not self.is_live():
                raise self.not_running() from error
            raise MeasurementError(f"the server at {self.url} says: {one_line(error)}") from error

    def not_running(self) -> MeasurementError:
        """The error for a server that does not answer."""
        return MeasurementError(
            f"no Triton answers at {self.url} over {self.protocol}",
            hint="start one with `tritonsmith serve`, or name another with --url (gRPC is port 8001, HTTP 8000)",
        )

    def _no_such_model(self) -> MeasurementError:
        index = self._ask(self._client.get_model_repository_index)
        rows = index.get("models", []) if isinstance(index, Mapping) else index
        names = sorted({row["name"] for row in rows if row.get("state", "READY") == "READY"})
        version = f" in version {self.version}" if self.version else ""
        return MeasurementError(
            f"the server at {self.url} has no model {self.model!r}{version} that is ready",
            hint=f"ready there: {', '.join(names) or 'none'}",
        )


def _connect(library: Any, url: str, protocol: Protocol) -> Any:
    timeouts = {} if protocol == "grpc" else {"connection_timeout": TIMEOUT_S, "network_timeout": TIMEOUT_S}
    try:
        return library.InferenceServerClient(url, **timeouts)
    except failures() as error:
        raise MeasurementError(f"--url {url!r}: {one_line(error)}", hint="write HOST:PORT, without http://") from error


def infer_input(library: Any, name: str, array: Array) -> Any:
    """One input of a request, in the words of tritonclient's gRPC or HTTP half."""
    tensor = library.InferInput(name, list(array.shape), from_numpy(array.dtype).wire)
    tensor.set_data_from_numpy(array)
    return tensor


def failures() -> tuple[type[Exception], ...]:
    """What tritonclient lets through when a request fails, nobody answers, or something that is no Triton does."""
    import aiohttp
    from geventhttpclient.response import HTTPParseError
    from tritonclient.utils import InferenceServerException

    return (InferenceServerException, OSError, HTTPParseError, aiohttp.ClientError)


def one_line(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__
