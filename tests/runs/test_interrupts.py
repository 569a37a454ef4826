"""Ctrl-C and SIGTERM: requests to stop, interrupts, and a process that ends in time."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from sylvan.runs.interrupts import INTERRUPTED, Interrupts, MustEnd


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
def test_without_a_question_the_first_signal_interrupts(number):
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        assert interrupts.requested
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


STUBBORN = """
import time
from sylvan.runs.interrupts import MustEnd
with MustEnd(0.01, "farewell"):
    print("ready", flush=True)
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""
WILLING = """
import signal
from sylvan.runs.interrupts import MustEnd
with MustEnd(60, "farewell") as ending:
    try:
        print("ready", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        ending.said = True
        print("all is saved")
raise AssertionError("the process goes on")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("program", "said"), [(STUBBORN, "farewell\n"), (WILLING, "all is saved\n")]
)
def test_a_process_ends_whatever_the_main_thread_does(number, program, said):
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (INTERRUPTED, said, "")


def test_nothing_is_left_behind_without_a_signal():
    before, threads = signal.getsignal(signal.SIGTERM), threading.active_count()
    with MustEnd(0.01, "farewell"):
        assert threading.active_count() == threads + 1
    assert threading.active_count() == threads
    assert signal.getsignal(signal.SIGTERM) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_an_error_after_a_signal_is_raised():
    def work() -> None:
        with MustEnd(60, "farewell"):
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()


def test_another_thread_is_not_ended():
    found = []

    def work() -> None:
        with MustEnd(0.01, "farewell"):
            found.append(threading.active_count())

    threads = threading.active_count()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [threads + 1]
