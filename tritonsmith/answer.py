"""The outputs of an answer from tritonclient, gRPC or HTTP, as arrays; one that did not arrive whole is refused."""

from __future__ import annotations

from typing import Any

from tritonsmith.errors import RequestError
from tritonsmith.samples import Array

NUMPY_HINT = "Triton 2.51 with numpy 2 sends empty outputs: pip install 'numpy<2' where the server runs"


def output_arrays(result: Any) -> dict[str, Array]:
    """Every output by name; RequestError when one has no data or other than its shape says."""
    return {name: _output(result, name) for name in _names(result.get_response())}


def _names(response: Any) -> list[str]:
    """tritonclient gives a dict over HTTP and a protobuf message over gRPC."""
    if isinstance(response, dict):
        return [output["name"] for output in response.get("outputs", ())]
    return [output.name for output in response.outputs]


def _output(result: Any, name: str) -> Array:
    try:
        array: Array | None = result.as_numpy(name)
    except ValueError as error:
        raise RequestError(
            f"output {name!r} came back with a size that its shape contradicts", hint=NUMPY_HINT
        ) from error
    if array is None:
        raise RequestError(f"output {name!r} came back without data")
    return array
