"""Triton's control endpoints over HTTP: ready, metadata, index, load, unload.

One connection a call, closed at once: an idle keep-alive would hold up the server's exit for its whole timeout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote

from tritonsmith.address import NOT_RUNNING_HINT
from tritonsmith.errors import RequestError


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded body of one call; `error` is the server's own text, if it gave one."""

    status: int
    body: Any

    @property
    def error(self) -> str | None:
        """The `error` of the body."""
        return self.body.get("error") if isinstance(self.body, dict) else None


@dataclass(frozen=True, slots=True)
class Control:
    """The control endpoints of the server at `url` (host:port)."""

    url: str

    def is_ready(self, server_id: str | None = None) -> bool:
        """True when the server is up and, given an id, is the one with that id and not another on the same port."""
        try:
            if server_id is not None and self._call("GET", "/v2", 2).body.get("name") != server_id:
                return False
            return self._call("GET", "/v2/health/ready", 2).status == 200
        except RequestError:
            return False

    def version(self) -> str:
        """Triton's version, such as 2.51.0."""
        return str(self._call("GET", "/v2", 10).body["version"])

    def models(self) -> list[dict[str, str]]:
        """The repository index: name, version, state and reason of each model."""
        return list(self._call("POST", "/v2/repository/index", 10).body)

    def is_model_ready(self, model: str) -> bool:
        """True when the model can be asked."""
        return self._call("GET", f"/v2/models/{quote(model, safe='')}/ready", 10).status == 200

    def load(self, model: str, *, timeout_s: float) -> str | None:
        """Load or reload a model (explicit mode); the server's error text, or None."""
        return self._change(model, "load", timeout_s)

    def unload(self, model: str, *, timeout_s: float) -> str | None:
        """Ask for a model to be unloaded (explicit mode); the server's error text, or None."""
        return self._change(model, "unload", timeout_s)

    def _change(self, model: str, verb: str, timeout_s: float) -> str | None:
        answer = self._call("POST", f"/v2/repository/models/{quote(model, safe='')}/{verb}", timeout_s)
        return None if answer.status == 200 else answer.error or f"HTTP status {answer.status}"

    def _call(self, method: str, path: str, timeout_s: float) -> Answer:
        host, _, port = self.url.rpartition(":")
        connection = HTTPConnection(host.strip("[]"), int(port), timeout=timeout_s)
        try:
            connection.request(method, path, headers={"Connection": "close"})
            response = connection.getresponse()
            return Answer(response.status, _decoded(response.read()))
        except TimeoutError as error:
            raise RequestError(f"Triton at {self.url} did not answer {path} within {timeout_s:g} s") from error
        except (OSError, HTTPException) as error:
            raise RequestError(f"no Triton answers at {self.url}", hint=NOT_RUNNING_HINT) from error
        finally:
            connection.close()


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content) if content else {}
    except ValueError:
        return {"error": content.decode(errors="replace").strip()}
