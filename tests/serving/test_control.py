"""The control endpoints, against a small HTTP server in Triton's place."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from serving.control import Control
from tritonsmith.errors import RequestError

ANSWERS: dict[str, tuple[int, object]] = {
    "/v2": (200, {"name": "mine", "version": "2.51.0"}),
    "/v2/health/ready": (200, None),
    "/v2/models/good/ready": (200, None),
    "/v2/models/bad/ready": (400, None),
    "/v2/repository/index": (200, [{"name": "good", "version": "1", "state": "READY"}]),
    "/v2/repository/models/good/load": (200, None),
    "/v2/repository/models/a%2Fb/load": (500, {"error": "failed to load 'a/b'"}),
    "/v2/repository/models/good/unload": (200, None),
}


class FakeTriton(BaseHTTPRequestHandler):
    """Answers from the table above, and counts connections that a client would leave open."""

    protocol_version = "HTTP/1.1"
    kept_open = 0

    def do_GET(self) -> None:  # the base class's name
        status, body = ANSWERS.get(self.path, (404, None))
        content = b"" if body is None else json.dumps(body).encode()
        type(self).kept_open += self.headers.get("Connection") != "close"
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815  # the base class's name

    def log_message(self, format: str, *args: object) -> None:  # the base class's name
        """Silence."""


@pytest.fixture
def control() -> Iterator[Control]:
    """The control of a fake server."""
    server = HTTPServer(("127.0.0.1", 0), FakeTriton)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Control(f"127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def test_readiness_is_that_of_the_server_with_the_right_id(control: Control) -> None:
    assert control.is_ready()
    assert control.is_ready("mine")
    assert not control.is_ready("another server on this port")


def test_a_server_that_is_not_there_is_not_ready() -> None:
    assert not Control("127.0.0.1:9").is_ready()


def test_version_and_models_are_told(control: Control) -> None:
    assert control.version() == "2.51.0"
    assert control.models()[0]["name"] == "good"
    assert control.is_model_ready("good")
    assert not control.is_model_ready("bad")


def test_a_refused_load_gives_the_servers_text(control: Control) -> None:
    assert control.load("good", timeout_s=5) is None
    assert control.unload("good", timeout_s=5) is None
    assert control.load("a/b", timeout_s=5) == "failed to load 'a/b'"
    assert control.load("unheard-of", timeout_s=5) == "HTTP status 404"


def test_no_connection_is_left_open(control: Control) -> None:
    before = FakeTriton.kept_open

    control.version()
    control.models()

    assert FakeTriton.kept_open == before


def test_a_server_that_is_gone_is_an_error_with_the_fix() -> None:
    with pytest.raises(RequestError, match=r"no Triton answers at 127\.0\.0\.1:9") as caught:
        Control("127.0.0.1:9").version()

    assert caught.value.hint is not None
    assert "tritonsmith serve" in caught.value.hint


def test_a_server_that_hangs_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        control = Control(f"127.0.0.1:{silent.getsockname()[1]}")

        with pytest.raises(RequestError, match=r"did not answer .* within 0\.2 s"):
            control.load("m", timeout_s=0.2)
