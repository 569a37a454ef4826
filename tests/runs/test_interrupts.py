"""Ctrl-C: the first requests a stop, the second interrupts."""

import os
import signal
import threading

import pytest

from sylvan.runs.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_the_second_interrupts(number):
    before = signal.getsignal(number)
    heard = []
    with Interrupts(lambda: heard.append(True)) as interrupts:
        assert not interrupts.requested
        os.kill(os.getpid(), number)
        assert interrupts.requested and heard == [True]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ignored_signal_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interrupts(lambda: None) as interrupts:
            os.kill(os.getpid(), number)
            assert not interrupts.requested
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_signals_are_unchanged_in_another_thread():
    before, found = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with Interrupts(lambda: None):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
