from __future__ import annotations

import signal

import pytest

from tritonsmith.signals import signals_as_interrupt

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_is_ctrl_c_and_handlers_come_back(number: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in NUMBERS]
    with pytest.raises(KeyboardInterrupt), signals_as_interrupt():
        signal.raise_signal(number)
    assert [signal.getsignal(each) for each in NUMBERS] == before


def test_what_nohup_ignores_stays_ignored_and_ctrl_c_does_not() -> None:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        with signals_as_interrupt():
            signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt), signals_as_interrupt():
            signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
