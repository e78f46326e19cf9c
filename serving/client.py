"""The one module that talks to a model: infer and metadata over gRPC or HTTP, the same for both.

Every call has a timeout, every failure is a RequestError with the server's own words, and connections are closed at the
end: an idle HTTP connection would hold up the server's exit for its whole timeout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from tritonsmith.address import DEFAULT_URLS, NOT_RUNNING_HINT, PORTS_HINT, Protocol, parse_address
from tritonsmith.answer import output_arrays
from tritonsmith.dtypes import from_numpy
from tritonsmith.errors import RequestError
from tritonsmith.samples import Array

_UNREACHABLE = re.compile(r"failed to connect|connection (refused|reset)|socket closed|errors resolving", re.IGNORECASE)
_LATE = re.compile(r"deadline exceeded|timed out", re.IGNORECASE)
_NO_ID = "[request id: <id_unknown>] "


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output as the server tells it: `datatype` in KServe's words, -1 in `shape` for any size."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """A model as the server tells it; with `max_batch_size` above 0 the first dim of every shape is the batch."""

    name: str
    versions: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int


class Client:
    """A connection to the server at `url` (host:port); a context manager, for one thread. Timeouts in seconds."""

    def __init__(self, url: str | None = None, *, protocol: Protocol = "http", timeout_s: float = 60.0) -> None:
        self.protocol = protocol
        self.url = parse_address(url or DEFAULT_URLS[protocol])
        self.timeout_s = timeout_s
        self._library = _library(protocol)
        self._client = _connect(self._library, protocol, self.url, timeout_s)

    def infer(
        self,
        model: str,
        inputs: Mapping[str, Array],
        *,
        version: str = "",
        datatypes: Mapping[str, str] | None = None,
    ) -> dict[str, Array]:
        """All outputs of one request. `datatypes` overrides the wire type of an input (BF16 is given as float32)."""
        tensors = [self._input(name, array, (datatypes or {}).get(name)) for name, array in inputs.items()]
        timeout = {"client_timeout": self.timeout_s} if self.protocol == "grpc" else {}
        with self._explained():
            result = self._client.infer(model, tensors, model_version=version, **timeout)
        return output_arrays(result)

    def metadata(self, model: str) -> Metadata:
        """Names, datatypes and shapes of a model's inputs and outputs."""
        try:
            with self._explained():
                said = self._ask("get_model_metadata", model)
                config = self._ask("get_model_config", model)
        except RequestError as error:
            if "unknown model" in error.message:
                raise RequestError(
                    f"the server at {self.url} has no model {model!r}",
                    hint=f"it serves: {', '.join(self.models()) or 'none'}",
                ) from error
            raise
        config = config.get("config", config)
        return Metadata(
            name=said["name"],
            versions=tuple(said.get("versions", ())),
            inputs=tuple(map(_tensor, said.get("inputs", ()))),
            outputs=tuple(map(_tensor, said.get("outputs", ()))),
            max_batch_size=int(config.get("max_batch_size", 0)),
        )

    def models(self) -> list[str]:
        """The names of the models that are ready."""
        with self._explained():
            index = self._ask("get_model_repository_index")
        rows = index if isinstance(index, list) else index.get("models", [])
        return sorted({row["name"] for row in rows if row.get("state") == "READY"})

    def close(self) -> None:
        """Close the connections; may be called again."""
        self._client.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: str, *arguments: str) -> Any:
        options = {"as_json": True, "client_timeout": self.timeout_s} if self.protocol == "grpc" else {}
        return getattr(self._client, call)(*arguments, **options)

    def _input(self, name: str, array: Array, datatype: str | None) -> Any:
        wire = datatype or from_numpy(array.dtype).wire
        values = array.astype(object) if wire == "BYTES" else np.ascontiguousarray(array)
        tensor = self._library.InferInput(name, list(array.shape), wire)
        tensor.set_data_from_numpy(values)
        return tensor

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the client library raises into a RequestError."""
        from tritonclient.utils import InferenceServerException

        try:
            yield
        except InferenceServerException as error:
            raise self._refused(error.message() or str(error)) from error
        except HTTPException as error:
            raise RequestError(f"what answers at {self.url} does not speak HTTP", hint=PORTS_HINT) from error
        except TimeoutError as error:
            raise self._late() from error
        except OSError as error:
            raise self._unreachable() from error

    def _refused(self, said: str) -> RequestError:
        text = " ".join(said.split()).removeprefix(_NO_ID)
        if _UNREACHABLE.search(text):
            return self._unreachable()
        return self._late() if _LATE.fullmatch(text) else RequestError(text)

    def _late(self) -> RequestError:
        return RequestError(f"no answer from {self.url} within {self.timeout_s:g} s", hint="give it longer: --timeout")

    def _unreachable(self) -> RequestError:
        return RequestError(f"no Triton answers at {self.url} over {self.protocol}", hint=NOT_RUNNING_HINT)


def _library(protocol: Protocol) -> ModuleType:
    import tritonclient.grpc
    import tritonclient.http

    return {"grpc": tritonclient.grpc, "http": tritonclient.http}[protocol]  # type: ignore[no-any-return]  # untyped


def _connect(library: ModuleType, protocol: Protocol, url: str, timeout_s: float) -> Any:
    timeouts = {"connection_timeout": min(timeout_s, 10.0), "network_timeout": timeout_s} if protocol == "http" else {}
    return library.InferenceServerClient(url, **timeouts)


def _tensor(row: Mapping[str, Any]) -> Tensor:
    return Tensor(row["name"], row["datatype"], tuple(int(size) for size in row.get("shape", ())))
