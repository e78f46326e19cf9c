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
from typing import Any

from perf.server_stats import ServerStats, parse_statistics
from tritonsmith.address import NOT_RUNNING_HINT, PORTS_HINT, Protocol
from tritonsmith.answer import NUMPY_HINT, output_arrays
from tritonsmith.dtypes import DType, from_numpy, from_wire
from tritonsmith.errors import MeasurementError, RequestError
from tritonsmith.samples import Array, Sample

PROTOCOLS: dict[Protocol, str] = {"grpc": "tritonclient.grpc", "http": "tritonclient.http"}
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
    """A connection to the server for questions; close it, as an idle HTTP connection holds up the server's end.

    No question waits longer than `timeout_s` for its answer.
    """

    def __init__(
        self, *, url: str, protocol: Protocol, model: str, version: str = "", timeout_s: float = TIMEOUT_S
    ) -> None:
        self.url, self.protocol, self.model, self.version, self.timeout_s = url, protocol, model, version, timeout_s
        self._library = importlib.import_module(PROTOCOLS[protocol])
        # over HTTP the connection has the timeout, over gRPC each call
        timeouts = {"connection_timeout": timeout_s, "network_timeout": timeout_s} if protocol == "http" else {}
        self._client: Any = self._library.InferenceServerClient(url, **timeouts)
        self._limit = {"client_timeout": timeout_s} if protocol == "grpc" else {}

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
            return bool(self._client.is_server_live(**self._limit))
        except failures():
            return False

    def try_once(self, request: Sample) -> int:
        """Send one request before any load; returns the bytes of its inputs and outputs.

        MeasurementError when it fails or when an output comes back empty: an empty answer is fast and worthless.
        """
        inputs = [infer_input(self._library, name, array) for name, array in request.items()]
        try:
            result = self._client.infer(self.model, inputs, model_version=self.version, **self._limit)
            outputs = output_arrays(result)
        except RequestError as error:
            raise MeasurementError(f"{self.model}: {error.message}", hint=error.hint) from error
        except failures() as error:
            raise self._refused(error) from error
        for name, array in outputs.items():
            if array.size == 0:
                raise MeasurementError(
                    f"{self.model} answers with an empty output {name!r}, so its speed means nothing", hint=NUMPY_HINT
                )
        return sum(array.nbytes for array in (*request.values(), *outputs.values()))

    def _refused(self, error: Exception) -> MeasurementError:
        if is_late(error):
            return MeasurementError(
                f"{self.model} did not answer the first request within {self.timeout_s:g} s",
                hint="see the server's log; a model that needs longer gets it with --timeout",
            )
        if not self.is_live():
            return self.not_running()
        return MeasurementError(
            f"{self.model} refuses the request that the load would be made of: {one_line(error)}",
            hint="give fitting data with --input-data, or the shape with --shape",
        )

    def _is_ready(self) -> bool:
        try:
            return bool(self._client.is_model_ready(self.model, self.version, **self._limit))
        except failures():  # gRPC knows no answer for a model that is not there
            return False

    def _ask(self, question: Callable[..., Any], *arguments: str) -> Any:
        as_json = {"as_json": True} if self.protocol == "grpc" else {}
        try:
            return question(*arguments, **as_json, **self._limit)
        except failures() as error:
            if is_late(error):
                raise MeasurementError(
                    f"no answer from {self.url} over {self.protocol} within {self.timeout_s:g} s",
                    hint=f"is it a Triton, and the right port? {PORTS_HINT}",
                ) from error
            if not self.is_live():
                raise self.not_running() from error
            raise MeasurementError(f"the server at {self.url} says: {one_line(error)}") from error

    def not_running(self) -> MeasurementError:
        """The error for a server that does not answer."""
        return MeasurementError(f"no Triton answers at {self.url} over {self.protocol}", hint=NOT_RUNNING_HINT)

    def _no_such_model(self) -> MeasurementError:
        index = self._ask(self._client.get_model_repository_index)
        rows = index.get("models", []) if isinstance(index, Mapping) else index
        names = sorted({row["name"] for row in rows if row.get("state", "READY") == "READY"})
        version = f" in version {self.version}" if self.version else ""
        return MeasurementError(
            f"the server at {self.url} has no model {self.model!r}{version} that is ready",
            hint=f"ready there: {', '.join(names) or 'none'}",
        )


def infer_input(library: Any, name: str, array: Array) -> Any:
    """One input of a request, in the words of tritonclient's gRPC or HTTP half."""
    tensor = library.InferInput(name, list(array.shape), from_numpy(array.dtype).wire)
    tensor.set_data_from_numpy(array)
    return tensor


def failures() -> tuple[type[Exception], ...]:
    """What tritonclient lets through when a request fails, nobody answers, or something that is no Triton does."""
    import asyncio

    import aiohttp
    from geventhttpclient.response import HTTPParseError
    from tritonclient.utils import InferenceServerException

    return (InferenceServerException, OSError, HTTPParseError, aiohttp.ClientError, asyncio.TimeoutError)


def is_late(error: BaseException) -> bool:
    """True for the end of a time-out, not for a refusal."""
    status = getattr(error, "status", None)
    return isinstance(error, TimeoutError) or (callable(status) and status() == "StatusCode.DEADLINE_EXCEEDED")


def one_line(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__
