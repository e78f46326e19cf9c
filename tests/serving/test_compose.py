"""docker-compose.yml: the command that `serve` would use there, and the traps of running Triton in Docker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from serving.command import ServerOptions, server_command

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


def interpolated(text: str) -> str:
    """The text with each ${NAME:-default} as its default, as Compose reads it with no variables set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def service() -> dict[str, Any]:
    """The triton service, with defaults."""
    found: dict[str, Any] = yaml.safe_load(interpolated(COMPOSE.read_text()))["services"]["triton"]
    return found


def seconds(duration: str) -> int:
    """A Compose duration in seconds."""
    return int(duration.removesuffix("s"))


def test_its_command_is_the_one_that_serve_uses() -> None:
    options = ServerOptions(repository="/models", address="0.0.0.0")  # noqa: S104  # inside the container

    assert service()["command"] == server_command(options)


def test_docker_waits_longer_than_triton_before_it_kills() -> None:
    timeout = ServerOptions(repository="m").exit_timeout_s

    assert seconds(service()["stop_grace_period"]) > timeout


def test_the_image_is_named_in_one_variable_and_not_below_the_floor() -> None:
    text = COMPOSE.read_text()
    tag = re.findall(r"\$\{TRITON_TAG:-(\d\d\.\d\d)\}-py3", text)

    assert len(tag) == 1
    assert tag[0] >= "26.07"


def test_ports_are_bound_to_loopback() -> None:
    assert all(port.startswith("127.0.0.1:") for port in service()["ports"])


def test_mounts_are_read_only_and_the_portable_backend_is_one_of_them() -> None:
    mounts = service()["volumes"]

    assert all(mount.endswith(":ro") for mount in mounts)
    assert "./python_backend/onnxruntime:/opt/tritonserver/backends/onnxruntime_portable:ro" in mounts


def test_health_is_readiness_at_the_port_of_the_command() -> None:
    assert service()["healthcheck"]["test"][-1] == "http://127.0.0.1:8000/v2/health/ready"


def test_shared_memory_is_larger_than_dockers_default() -> None:
    assert service()["shm_size"] == "1gb"


def test_the_file_keeps_to_the_compose_specification() -> None:
    compose_spec = pytest.importorskip("compose_spec")

    compose = compose_spec.PyCompose.from_yaml(interpolated(COMPOSE.read_text()))

    assert compose.service_names() == ["triton"]


def test_a_key_that_compose_does_not_know_would_be_found() -> None:
    compose_spec = pytest.importorskip("compose_spec")

    with pytest.raises(ValueError, match="shmsize"):
        compose_spec.PyCompose.from_yaml(interpolated(COMPOSE.read_text()).replace("shm_size", "shmsize"))
