"""Fixtures for every folder: the real server, started once and only when a test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from serving.installation import find_triton
from serving.server import TritonServer
from tests.live_triton import LiveTriton
from tritonsmith.errors import ServerError

# a busy machine is no reason to fail: what is slow is measured in benchmarks, not here
settings.register_profile("tritonsmith", deadline=None)
settings.load_profile("tritonsmith")


@pytest.fixture(scope="session")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveTriton]:
    """A Triton in explicit mode over an empty repository; see tests/live_triton.py. Skipped where there is none."""
    try:
        find_triton()
    except ServerError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"{error.message}: {error.hint}")
    repository = tmp_path_factory.mktemp("repository")
    with TritonServer.start(repository, model_control="explicit", exit_timeout_s=15) as server:
        yield LiveTriton(server, repository)
