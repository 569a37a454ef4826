"""Tests of Ctrl-C work even if the run is started with SIGINT ignored."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = """
    import signal
    import subprocess
    import sys

    def test_a_child_hears_ctrl_c():
        program = "print('ready', flush=True); input()"
        command = [sys.executable, "-c", program]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            child.wait(timeout=10)
        assert child.returncode == -signal.SIGINT
"""
IGNORING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["one process", "a worker"])
def test_ctrl_c_reaches_children(pytester, workers):
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(test_suite=SUITE)
    command = [sys.executable, "-c", IGNORING, "-p", "no:cacheprovider", *workers]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
