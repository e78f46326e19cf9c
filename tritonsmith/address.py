"""Where a Triton listens: HOST:PORT, as people write it, with or without a scheme; one parser for every client."""

from __future__ import annotations

import re
from typing import Literal

from tritonsmith.errors import RequestError

Protocol = Literal["http", "grpc"]
DEFAULT_URLS: dict[Protocol, str] = {"http": "127.0.0.1:8000", "grpc": "127.0.0.1:8001"}
PORTS_HINT = "HTTP is at port 8000 and gRPC at 8001 unless told otherwise"
NOT_RUNNING_HINT = "start one: tritonsmith serve; or name another with --url"
_ADDRESS = re.compile(r"(?:(?:http|grpc)://)?(?P<address>(?:\[[^\]\s]+\]|[^:/\[\]\s]+):(?P<port>[0-9]{1,5}))/?")


def parse_address(url: str) -> str:
    """The HOST:PORT of `127.0.0.1:8000`, `http://localhost:8000/` or `[::1]:8001`; RequestError for anything else."""
    match = _ADDRESS.fullmatch(url)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise RequestError(f"{url!r} is no address of a server", hint="write HOST:PORT, such as 127.0.0.1:8000")
    return match["address"]


def host_of(address: str) -> str:
    """The host of HOST:PORT, an IPv6 one in its brackets."""
    return address.rpartition(":")[0]
