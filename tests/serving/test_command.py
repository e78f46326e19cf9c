"""The command line of tritonserver, and that docker-compose.yml has the same one."""

from __future__ import annotations

import pytest

from serving.command import ServerOptions, server_command


def test_a_server_listens_on_loopback_alone_unless_told_otherwise() -> None:
    command = server_command(ServerOptions(repository="models"))

    assert [part for part in command if "address" in part] == [
        "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1",
        "--metrics-address=127.0.0.1",
    ]


def test_the_binary_comes_first_and_extra_arguments_last() -> None:
    command = server_command(ServerOptions(repository="models", extra=("--log-info=false",)), "/opt/tritonserver")

    assert command[0] == "/opt/tritonserver"
    assert command[1] == "--model-repository=models"
    assert command[-1] == "--log-info=false"


def test_models_are_loaded_by_name_in_explicit_mode() -> None:
    command = server_command(ServerOptions(repository="m", model_control="explicit", models=("a", "b")))

    assert "--model-control-mode=explicit" in command
    assert [part for part in command if part.startswith("--load-model")] == ["--load-model=a", "--load-model=b"]


def test_what_only_a_local_server_needs_is_left_out_by_default() -> None:
    names = [part.partition("=")[0] for part in server_command(ServerOptions(repository="m"))]

    for name in ("--id", "--backend-directory", "--cache-directory", "--backend-config", "--log-verbose"):
        assert name not in names


def test_the_prefix_of_shared_memory_goes_to_the_python_backend() -> None:
    command = server_command(ServerOptions(repository="m", shm_prefix="mine-"))

    assert "--backend-config=python,shm-region-prefix-name=mine-" in command


def test_models_without_explicit_mode_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="explicit"):
        ServerOptions(repository="m", models=("a",))


def test_an_exit_timeout_below_a_second_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least 1 second"):
        ServerOptions(repository="m", exit_timeout_s=0)
