"""Ports: choosing free ones, and who holds one that is not."""

from __future__ import annotations

import errno
import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from tritonsmith.errors import ServerError

FREE_PORTS = "stop it, or let tritonsmith choose free ports: --free-ports"
BELOW_EPHEMERAL = range(20_000, 32_768)
"""Where free ports are taken from: no outgoing connection lands there while the server is still loading its models."""


def choose_ports(wanted: tuple[int, ...], address: str) -> tuple[int, ...]:
    """`wanted` with each 0 replaced by a free port, all different; ServerError when one that was asked for is taken."""
    for port in wanted:
        if port and wanted.count(port) > 1:
            raise ServerError(f"port {port} is named twice", hint="HTTP, gRPC and metrics need a port each")
    chosen: dict[int, int] = {}
    with ExitStack() as held:
        for index, port in sorted(enumerate(wanted), key=lambda pair: pair[1] == 0):
            bound = held.enter_context(_bound(port, address) if port else _bound_anywhere(address))
            chosen[index] = bound.getsockname()[1]
    return tuple(chosen[index] for index in range(len(wanted)))


def _bound(port: int, address: str) -> socket.socket:
    """A socket that holds `port` until closed; it does not listen, and SO_REUSEADDR lets one in TIME_WAIT pass."""
    bound = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        raise _explained(error, port, address) from error
    return bound


def _bound_anywhere(address: str) -> socket.socket:
    """A socket on a port that nobody holds."""
    for port in random.SystemRandom().sample(BELOW_EPHEMERAL, 50):
        with suppress(ServerError):
            return _bound(port, address)
    return _bound(0, address)


def _explained(error: OSError, port: int, address: str) -> ServerError:
    if error.errno == errno.EADDRINUSE:
        holder = port_holder(port)
        return ServerError(f"port {port} is in use{f' by {holder}' if holder else ''}", hint=FREE_PORTS)
    if error.errno == errno.EACCES:
        return ServerError(f"port {port}: permission denied", hint="ports below 1024 need root; choose another")
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return ServerError(
            f"cannot listen on {address!r}: it is no address of this machine",
            hint="127.0.0.1 for this machine only, 0.0.0.0 for every interface",
        )
    return ServerError(f"cannot listen on {address}:{port}: {error.strerror or error}")


def port_holder(port: int) -> str | None:
    """`name (pid N)` of the process that listens on a TCP port; None where /proc does not tell."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended, or it is another user's
            if any(str(link.readlink()) in inodes for link in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def _listening_inodes(port: int) -> set[str]:
    """The socket inodes in state LISTEN (0A) on `port`, from /proc/net/tcp and tcp6."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found
