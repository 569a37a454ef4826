"""A run killed at any moment ends bit for bit like an uninterrupted one."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.runs.killing import KILL_POINTS, outcome_of

ROOT = Path(__file__).parents[2]
STEPS = 7

# Point and call: in a search, inside a record, between the files of a checkpoint, around its
# renaming, while old ones are removed, between the parts of a step, inside the learner.
KILLS = (
    "evaluation:9",
    "shard:2",
    "search:25",
    "optimizer:3",
    "checkpoint:2",
    "rename:1",
    "renamed:1",
    "fsync:4",
    "removal:2",
    "metrics:1",
    "shard:1",
    "optimizer:1",
    "renamed:2",
    "publish:1",
)


def killing(folder: Path, *kills: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.killing", folder, str(STEPS), *kills],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def outcome(folder: Path) -> dict[str, object]:
    return outcome_of(folder, STEPS)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    killing(folder)
    return outcome(folder)


def assert_same(found: dict[str, object], wanted: dict[str, object]) -> None:
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if found[name] != wanted[name]] == []


@pytest.mark.slow
def test_killed_fourteen_times_a_run_ends_with_the_same_bits(undisturbed, tmp_path):
    assert {kill.partition(":")[0] for kill in KILLS} == set(KILL_POINTS)
    lines = killing(tmp_path / "run", *KILLS)
    assert lines == [f"{kill} killed" for kill in KILLS]
    assert_same(outcome(tmp_path / "run"), undisturbed)


@pytest.mark.slow
def test_a_command_killed_from_outside_resumes(undisturbed, tmp_path):
    """Training in its own process, killed soon after each new checkpoint."""
    folder = tmp_path / "run"
    code = (
        "import sys; from tests.runs.killing import tiny; from sylvan.runs.loop import "
        f"train; train(tiny({STEPS}), sys.argv[1])"
    )
    command = [sys.executable, "-c", code, str(folder)]
    kills = 0
    for wait in np.random.default_rng(1).uniform(0.0, 0.4, 2):
        process = subprocess.Popen(command, cwd=ROOT)
        before = sorted(folder.glob("checkpoints/step-*"))
        while process.poll() is None and sorted(folder.glob("checkpoints/step-*")) == before:
            time.sleep(0.005)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 1
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    assert_same(outcome(folder), undisturbed)
