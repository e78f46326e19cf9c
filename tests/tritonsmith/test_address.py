from __future__ import annotations

import pytest

from tritonsmith.address import host_of, parse_address
from tritonsmith.errors import RequestError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://localhost:8000/", "localhost:8000"),
        ("grpc://[::1]:8001", "[::1]:8001"),
    ],
)
def test_the_scheme_and_a_last_slash_are_left_out(url: str, address: str) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "junk",
        "host",
        ":8000",
        "host:port",
        "http://a:b:c",
        "https://host:8000",
        "host:0",
        "host:65536",
        "host:8000/v2",
        "a b:1",
        "::1:8001",
        "host:\u0661",
    ],
)
def test_anything_else_is_refused_with_the_form(url: str) -> None:
    with pytest.raises(RequestError, match="is no address of a server") as caught:
        parse_address(url)
    assert "HOST:PORT" in str(caught.value.hint)


def test_the_host_is_what_stands_before_the_port() -> None:
    assert (host_of("localhost:8000"), host_of("[::1]:8001")) == ("localhost", "[::1]")
