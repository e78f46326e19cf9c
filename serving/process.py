"""tritonserver as a guarded process; knows nothing of models or of readiness."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from serving.guard import Orders
from serving.log_file import LogFile
from serving.workplace import Workplace
from tritonsmith.errors import ServerError

_GUARD = Path(__file__).with_name("guard.py")
_MARGIN_S = 10.0
"""Seconds on top of the server's own grace for the guard to kill and clean up."""


class GuardedProcess:
    """A server with its guard; both are gone after `stop`, or when this process is, however that comes about."""

    def __init__(
        self,
        command: list[str],
        *,
        environment: Mapping[str, str],
        log: LogFile,
        grace_s: float,
        workplace: Workplace,
    ) -> None:
        orders: Orders = {
            "command": command,
            "parent": os.getpid(),
            "grace_s": grace_s,
            "shm_prefix": workplace.shm_prefix,
            "regions": str(workplace.regions),
            "remove": [str(workplace.root)],
        }
        self._patience_s = grace_s + _MARGIN_S
        with log.path.open("ab") as file:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), json.dumps(orders)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                start_new_session=True,  # Ctrl-C in the terminal reaches us, and we stop it in order
            )
        self.pid = self._read_pid(command[0])

    def _read_pid(self, binary: str) -> int:
        assert self._guard.stdout is not None  # noqa: S101  # PIPE above
        with self._guard.stdout as stream:
            line = stream.readline()
        if not line.strip():
            self._guard.wait(self._patience_s)
            raise ServerError(f"{binary} could not be started", hint="is it for this machine? see: tritonsmith doctor")
        return int(line)

    @property
    def exit_code(self) -> int | None:
        """None while the server runs; 128 + N when signal N ended it."""
        code = self._guard.poll()
        return code if code is None or code >= 0 else 128 - code  # the guard itself was killed

    def stop(self) -> None:
        """Stop the server in order and wait until all of it is gone; Ctrl-C meanwhile kills it at once."""
        self._end(signal.SIGTERM, self._patience_s)

    def kill(self) -> None:
        """Kill the server without waiting for open requests, and wait until all of it is gone."""
        self._end(signal.SIGINT, _MARGIN_S)

    def _end(self, number: signal.Signals, patience_s: float) -> None:
        if self._guard.poll() is not None:
            return
        self._guard.send_signal(number)
        try:
            self._guard.wait(patience_s)
        except KeyboardInterrupt:
            self.kill()
        except subprocess.TimeoutExpired:
            self._guard.kill()  # the server dies with it
            self._guard.wait(_MARGIN_S)
