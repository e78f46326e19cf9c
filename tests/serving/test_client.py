"""The client: what it refuses alone, and both protocols against the real server."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from serving.client import Client, Tensor
from tests.live_triton import DOUBLE_CODE, DOUBLE_CONFIG, PROTOCOLS, LiveTriton
from tritonsmith.address import Protocol
from tritonsmith.errors import RequestError

X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)

ECHO_CONFIG = """
backend: "python"
input [
  { name: "text" data_type: TYPE_STRING dims: [ -1 ] },
  { name: "half" data_type: TYPE_FP16 dims: [ -1 ] },
  { name: "flag" data_type: TYPE_BOOL dims: [ 2, 2 ] }
]
output [
  { name: "text_out" data_type: TYPE_STRING dims: [ -1 ] },
  { name: "half_out" data_type: TYPE_FP16 dims: [ -1 ] },
  { name: "flag_out" data_type: TYPE_BOOL dims: [ 2, 2 ] }
]
instance_group [{ kind: KIND_CPU }]
"""
ECHO_CODE = """
import triton_python_backend_utils as pb

class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([echo(request, name) for name in NAMES]) for request in requests]

NAMES = ("text", "half", "flag")

def echo(request, name):
    return pb.Tensor(name + "_out", pb.get_input_tensor_by_name(request, name).as_numpy())
"""
SLOW_CODE = DOUBLE_CODE.replace(
    "def execute(self, requests):", "def execute(self, requests):\n        import time; time.sleep(1)"
)


@pytest.fixture(scope="module")
def models(triton: LiveTriton) -> LiveTriton:
    """The server with the models that this file asks."""
    triton.add_python_model("double", DOUBLE_CONFIG, DOUBLE_CODE)
    triton.add_python_model("echo", ECHO_CONFIG, ECHO_CODE)
    triton.add_python_model("slow", DOUBLE_CONFIG, SLOW_CODE)
    return triton


@pytest.mark.parametrize("url", ["junk", "http://a:b:c", "host", ":8000", "host:port", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(RequestError, match="is no address of a server"):
        Client(url or " ")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_is_not_there_is_an_error_with_the_fix(protocol: Protocol) -> None:
    with Client("127.0.0.1:9", protocol=protocol) as client, pytest.raises(RequestError) as caught:
        client.metadata("m")

    assert caught.value.message == f"no Triton answers at 127.0.0.1:9 over {protocol}"
    assert caught.value.hint is not None
    assert "tritonsmith serve" in caught.value.hint


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_hangs_is_given_up_on(protocol: Protocol) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"127.0.0.1:{silent.getsockname()[1]}"

        with (
            Client(url, protocol=protocol, timeout_s=0.3) as client,
            pytest.raises(RequestError, match=r"within 0\.3 s"),
        ):
            client.infer("m", {"x": X})


def test_the_scheme_of_a_url_is_left_out() -> None:
    with Client("http://127.0.0.1:8000/") as client:
        assert client.url == "127.0.0.1:8000"


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_protocols_return_the_right_values(models: LiveTriton, protocol: Protocol) -> None:
    with models.client(protocol) as client:
        assert client.infer("double", {"x": X})["y"].tolist() == (2 * X).tolist()
        assert "double" in client.models()


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_strings_halves_and_bools_survive_the_wire(models: LiveTriton, protocol: Protocol) -> None:
    inputs = {
        "text": np.array(["grüß dich", ""], dtype=object),
        "half": np.array([0.5, -2], dtype=np.float16),
        "flag": np.array([[True, False], [False, True]]),
    }

    outputs = models.infer("echo", inputs, protocol)

    assert [value.decode() for value in outputs["text_out"]] == ["grüß dich", ""]
    assert outputs["half_out"].dtype == np.float16
    assert outputs["half_out"].tolist() == [0.5, -2]
    assert outputs["flag_out"].tolist() == [[True, False], [False, True]]


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_metadata_tells_shapes_and_the_batch_limit(models: LiveTriton, protocol: Protocol) -> None:
    with models.client(protocol) as client:
        metadata = client.metadata("double")

    assert metadata.inputs == (Tensor("x", "FP32", (-1, -1)),)
    assert metadata.outputs == (Tensor("y", "FP32", (-1, -1)),)
    assert metadata.max_batch_size == 4
    assert metadata.versions == ("1",)


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_servers_own_words_come_back(models: LiveTriton, protocol: Protocol) -> None:
    with models.client(protocol) as client:
        with pytest.raises(RequestError, match=r"^inference input 'x' data-type is 'FP64', but model 'double' expects"):
            client.infer("double", {"x": X.astype(np.float64)})
        with pytest.raises(RequestError, match="batch-size must be <= 4"):
            client.infer("double", {"x": np.ones((5, 1), dtype=np.float32)})


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unknown_model_lists_those_that_are_served(models: LiveTriton, protocol: Protocol) -> None:
    with models.client(protocol) as client, pytest.raises(RequestError, match="has no model 'dubble'") as caught:
        client.metadata("dubble")

    assert caught.value.hint is not None
    assert "double" in caught.value.hint


@pytest.mark.server
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_slow_model_is_given_up_on(models: LiveTriton, protocol: Protocol) -> None:
    with models.client(protocol, timeout_s=0.3) as client, pytest.raises(RequestError, match=r"within 0\.3 s"):
        client.infer("slow", {"x": X})


@pytest.mark.server
def test_grpc_at_the_http_port_is_not_taken_for_an_answer(models: LiveTriton) -> None:
    with Client(models.server.http_url, protocol="grpc", timeout_s=2) as client, pytest.raises(RequestError):
        client.metadata("double")
    with Client(models.server.grpc_url, protocol="http", timeout_s=2) as client, pytest.raises(RequestError):
        client.metadata("double")
