"""Ctrl-C ends long commands soon, with one exit code, without a traceback."""

import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

SOON = 30
"""Seconds that a busy machine may take; an idle one takes less than four."""


def started(*words, **options):
    program = [sys.executable, "-c", "from sylvan.cli import app; app()", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, **options)


def interrupted(process):
    """Interrupt a command and return its output."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=SOON)
    assert process.returncode == 130 and "Traceback" not in output + errors, errors
    return output + errors


def test_rounds_that_are_made(tmp_path):
    """Work is stored every few seconds, which is as long as an interruption waits."""
    folder = tmp_path / "rounds"
    process = started("examples", "blob", "--out", folder, "--minutes", 5, "--threads", 1)
    while not list(folder.glob("*.rounds")):
        assert process.poll() is None
        time.sleep(0.05)
    interrupted(process)


def test_settings_that_are_being_fitted(tmp_path):
    folder = tmp_path / "run"
    process = started("train", "connect4", "--minutes", 3, "--device", "cpu", "--run", folder)
    assert process.stdout.readline().startswith("Measuring")
    interrupted(process)
    assert not folder.exists()


def test_a_position_that_takes_long_to_solve():
    process = started("solve", "connect4")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    interrupted(process)
