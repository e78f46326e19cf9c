"""Send arrays to a real server over HTTP or gRPC and get arrays back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy.typing as npt
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from tests.python_backend.server import Server

Array = npt.NDArray[Any]
Protocol = Literal["http", "grpc"]
TIMEOUT_SECONDS = 20


def infer(
    server: Server, model: str, feed: Mapping[str, Array], outputs: Sequence[str] = (), protocol: Protocol = "grpc"
) -> dict[str, Array]:
    """Send one request and return its outputs by name; raises tritonclient's exception."""
    module: Any = tritonclient.grpc if protocol == "grpc" else tritonclient.http
    inputs = []
    for name, array in feed.items():
        tensor = module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    asked = [module.InferRequestedOutput(name) for name in outputs] or None
    if protocol == "grpc":
        result = server.grpc.infer(model, inputs, outputs=asked, client_timeout=TIMEOUT_SECONDS)
        names = [output.name for output in result.get_response().outputs]
    else:
        result = server.http.infer(model, inputs, outputs=asked)
        names = [output["name"] for output in result.get_response()["outputs"]]
    return {name: result.as_numpy(name) for name in names}


def infer_together(
    server: Server, model: str, feeds: Sequence[Mapping[str, Array]]
) -> list[dict[str, Array] | InferenceServerException]:
    """Send requests at the same time, one thread each, and return for each its outputs or its error."""

    def one(feed: Mapping[str, Array]) -> dict[str, Array] | InferenceServerException:
        try:
            return infer(server, model, feed)
        except InferenceServerException as error:
            return error

    with ThreadPoolExecutor(len(feeds)) as pool:
        return list(pool.map(one, feeds))


def executions(server: Server, model: str) -> dict[int, int]:
    """Return how often each batch size was executed."""
    return {entry["batch_size"]: entry["compute_infer"]["count"] for entry in server.statistics(model)["batch_stats"]}
