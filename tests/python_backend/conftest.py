"""Fixtures for the portable backend: the session's server, and raw connections to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live_triton import LiveTriton
from tests.python_backend.server import Server


@pytest.fixture(scope="session")
def server(triton: LiveTriton) -> Iterator[Server]:
    """The session's Triton with raw clients."""
    connected = Server(triton)
    yield connected
    connected.close()
