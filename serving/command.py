"""The command line of tritonserver, from options; pure, so that docker-compose.yml can be held to the same one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ModelControl = Literal["none", "explicit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What tritonserver is told. Paths are as the server sees them; `config_name` picks configs/NAME.pbtxt.

    Raises ValueError where two options contradict each other.
    """

    repository: str
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    address: str = "127.0.0.1"
    model_control: ModelControl = "none"
    models: tuple[str, ...] = ()
    config_name: str = "cpu"
    exit_timeout_s: int = 30
    strict_readiness: bool = True
    server_id: str | None = None
    backend_directory: str | None = None
    cache_directory: str | None = None
    shm_prefix: str | None = None
    log_verbose: int = 0
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.models and self.model_control != "explicit":
            raise ValueError("models are named at the start only with model_control 'explicit'")
        if self.exit_timeout_s < 1:
            raise ValueError(f"exit timeout {self.exit_timeout_s}: at least 1 second")

    @property
    def explicit(self) -> bool:
        """True when models are loaded and unloaded over the network."""
        return self.model_control == "explicit"


def server_command(options: ServerOptions, binary: str = "tritonserver") -> list[str]:
    """The argument list that starts the server; it never goes through a shell."""
    return [binary, *_always(options), *_optional(options), *options.extra]


def _always(options: ServerOptions) -> list[str]:
    return [
        f"--model-repository={options.repository}",
        f"--model-config-name={options.config_name}",
        f"--model-control-mode={options.model_control}",
        f"--http-address={options.address}",
        f"--http-port={options.http_port}",
        f"--grpc-address={options.address}",
        f"--grpc-port={options.grpc_port}",
        f"--metrics-address={options.address}",
        f"--metrics-port={options.metrics_port}",
        f"--strict-readiness={str(options.strict_readiness).lower()}",
        f"--exit-timeout-secs={options.exit_timeout_s}",
    ]


def _optional(options: ServerOptions) -> list[str]:
    """Options that only a local server needs, or that are off by default."""
    flags = {
        "--id": options.server_id,
        "--backend-directory": options.backend_directory,
        "--cache-directory": options.cache_directory,
        "--backend-config": f"python,shm-region-prefix-name={options.shm_prefix}" if options.shm_prefix else None,
        "--log-verbose": str(options.log_verbose) if options.log_verbose else None,
    }
    given = [f"{flag}={value}" for flag, value in flags.items() if value is not None]
    return [*(f"--load-model={name}" for name in options.models), *given]
