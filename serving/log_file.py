"""The file that a server logs to, read piece by piece while it grows; what it says is the business of `log`."""

from __future__ import annotations

from pathlib import Path

from tritonsmith.errors import ServerError


class LogFile:
    """A log; what was read stays readable after the file is gone.

    Paths that begin with `alias` are read as beginning with `name`, which is what people know the folder by.
    """

    def __init__(self, path: Path, *, alias: str, name: str) -> None:
        self.path = path
        self._alias, self._name = alias, name
        try:
            path.write_bytes(b"")
            self._file = path.open("rb")
        except OSError as error:
            raise ServerError(
                f"cannot write the log {path}: {error.strerror}", hint="name another file with --log"
            ) from error
        self._lines, self._rest = "", b""
        self._text = ""

    def text(self, start: int = 0) -> str:
        """Everything logged so far, from the `mark` on that `start` is; the same object as before when nothing came."""
        self._read()
        return self._text[start:] if start else self._text

    def mark(self) -> int:
        """The end of the last whole line so far, for `text` to start from."""
        self._read()
        return len(self._lines)

    def _read(self) -> None:
        """Decode what is new; the last line, if not whole, is decoded again: it may end in mid-character."""
        new = b"" if self._file.closed else self._file.read()
        if not new:
            return
        whole, newline, self._rest = (self._rest + new).rpartition(b"\n")
        self._lines += self._decoded(whole + newline)
        self._text = self._lines + self._decoded(self._rest)

    def _decoded(self, content: bytes) -> str:
        return content.decode(errors="replace").replace(self._alias, self._name)

    def close(self) -> None:
        """Read the rest and close the file; may be called again."""
        self._read()
        self._file.close()
