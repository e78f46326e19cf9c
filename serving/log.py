"""Triton's log, read for people: what each model is doing, and why one did not load. Pure text in, facts out.

The load API and the exit code say little ("failed to poll from model repository"); the reasons are here alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LOADING = re.compile(r"\"loading: (?P<model>[^:\"]+):\d+\"")
_LOADED = re.compile(r"successfully loaded '(?P<model>[^']+)'")
_FAILURES = (
    re.compile(r"Poll failed for model directory '(?P<model>[^']+)': (?P<reason>.*)"),
    re.compile(r"failed to load '(?P<model>[^']+)' version \d+: (?P<reason>.*)"),
    re.compile(r"failed to load model '(?P<model>[^']+)': (?P<reason>.*)"),
)
_TEXT_PROTO = re.compile(r"Error parsing text-format inference\.ModelConfig: (?P<at>\d+:\d+): (?P<said>.*)")
_STATUS_TABLE = re.compile(r"^\| Model +\| Version +\| Status", re.MULTILINE)
_CODE = re.compile(r"^((Internal|Invalid argument|Not found|Unavailable|Unsupported|Unknown|Already exists)(: | - ))+")
_FRAME = re.compile(r"^\s+(?P<file>/\S+\.py)\((?P<line>\d+)\): ")
_ERROR = re.compile(r"^E\d{4} [\d:.]+\s+\d+ \S+\] +(?P<text>.*)")
_FATAL = (
    re.compile(r"failed to start \w+ service: (?P<reason>.*)"),
    re.compile(r"unrecognized option '(?P<option>[^']+)'"),
    re.compile(r"error while loading shared libraries: (?P<reason>.*)"),
    re.compile(r"what\(\): +(?P<reason>.*)"),
    re.compile(r"error: creating server: (?P<reason>.*)"),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that did not load, with the reason in one line."""

    model: str
    reason: str


def load_failures(log: str) -> list[Failure]:
    """The models that did not load, each once, in the order of the log; a later success takes a failure back."""
    found: dict[str, str] = {}
    text_proto: str | None = None
    for line in log.splitlines():
        if match := _TEXT_PROTO.search(line):
            text_proto = f"config.pbtxt:{match['at']}: {match['said']}"
        elif match := _LOADED.search(line):
            found.pop(match["model"], None)
        elif match := _search(_FAILURES, line):
            reason = _one_line(match["reason"])
            if text_proto and reason.startswith("failed to read text proto"):
                reason, text_proto = text_proto, None
            found.setdefault(match["model"], reason)
    return [Failure(model, reason) for model, reason in found.items()]


def models_loading(log: str) -> list[str]:
    """The models that started to load and neither became ready nor failed."""
    ended = {failure.model for failure in load_failures(log)} | set(models_loaded(log))
    return [model for model in _models(_LOADING, log) if model not in ended]


def models_loaded(log: str) -> list[str]:
    """The models that became ready."""
    return list(_models(_LOADED, log))


def has_given_up(log: str) -> bool:
    """True when all models were tried and some did not load: a server that has to load all of them is going to end."""
    return bool(_STATUS_TABLE.search(log)) and bool(load_failures(log))


def fatal_reason(log: str) -> str | None:
    """Why the server itself gave up, in one line: a port, an option, a library, an exception."""
    for line in log.splitlines():
        if match := _search(_FATAL, line):
            option = match.groupdict().get("option")
            return f"this Triton does not know the option {option}" if option else _one_line(match["reason"])
    return None


def last_errors(log: str, count: int = 4) -> tuple[str, ...]:
    """The last error lines, or the last lines of any kind when there are none."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [_one_line(match["text"]) for line in lines if (match := _ERROR.match(line))]
    return tuple((errors or lines)[-count:])


def _models(pattern: re.Pattern[str], log: str) -> Iterator[str]:
    return iter(dict.fromkeys(match["model"] for match in pattern.finditer(log)))


def _search(patterns: tuple[re.Pattern[str], ...], line: str) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.search(line))), None)


def _one_line(logged: str) -> str:
    """A logged message as one line, unescaped, without status code; a traceback becomes its message and place."""
    text = logged.strip().removeprefix('"').removesuffix('"').strip().replace("\\n", "\n").replace('\\"', '"')
    message, _, frames = text.partition("\n\nAt:\n")
    lines = [line.strip() for line in _CODE.sub("", message).splitlines() if line.strip()]
    return " ".join(lines) + _place(frames)


def _place(frames: str) -> str:
    """` (model.py:12)`: the innermost frame of a traceback outside of installed packages and backends."""
    for line in frames.splitlines():
        match = _FRAME.match(line)
        if match and not any(part in match["file"] for part in ("-packages/", "/lib/python3", "/backends/")):
            return f" ({match['file'].rpartition('/')[2]}:{match['line']})"
    return ""
