"""Choosing ports, and saying who holds one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from serving.ports import choose_ports, port_holder
from tritonsmith.errors import ServerError

LOOPBACK = "127.0.0.1"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that this process listens on."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_zeros_become_ports_that_differ() -> None:
    ports = choose_ports((0, 0, 0), LOOPBACK)

    assert len(set(ports)) == 3
    assert all(port > 1024 for port in ports)


def test_a_port_that_is_asked_for_is_kept() -> None:
    [free] = choose_ports((0,), LOOPBACK)

    first, second = choose_ports((0, free), LOOPBACK)

    assert second == free
    assert first != free


def test_a_port_in_use_is_refused_with_its_holder_and_the_fix(taken: int) -> None:
    with pytest.raises(ServerError) as caught:
        choose_ports((0, taken), LOOPBACK)

    assert f"port {taken} is in use by" in caught.value.message
    assert f"(pid {os.getpid()})" in caught.value.message
    assert caught.value.hint is not None
    assert "--free-ports" in caught.value.hint


def test_a_port_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ServerError, match="port 8000 is named twice"):
        choose_ports((8000, 8000, 0), LOOPBACK)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ServerError, match="no address of this machine"):
        choose_ports((0,), "192.0.2.1")  # reserved for documentation


def test_a_free_port_has_no_holder() -> None:
    assert port_holder(choose_ports((0,), LOOPBACK)[0]) is None
