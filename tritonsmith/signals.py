"""SIGTERM and SIGHUP, made to end a command as Ctrl-C does: in order, with nothing left behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP are Ctrl-C, and Ctrl-C works even where a shell ignores it for background jobs.

    A SIGHUP that is ignored (nohup) stays so. For the main thread, as Python gives signals to no other.
    """
    wanted = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _interrupt) for number in wanted}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """By way of SIGINT, so that who handles Ctrl-C in a way of its own (asyncio) does so here too."""
    signal.raise_signal(signal.SIGINT)
