"""A MuZero run killed at any moment ends bit for bit like an uninterrupted one.

Episodes in progress are replayed from their seeds and actions.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.killed_muzero_runs import KILLS

pytest.importorskip("gymnasium")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    command = [sys.executable, "-m", "tests.runs.killed_muzero_runs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{place} is equal" for place, _ in KILLS]
