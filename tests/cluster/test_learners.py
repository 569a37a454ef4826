"""`sylvan train --cluster local:1 --learners 2`: two processes share the learner's batches."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from sylvan.cluster.address import ClusterOptions
from sylvan.cluster.placement import place
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from sylvan.runs.run import Run
from sylvan.settings.file import toml_text
from tests.cluster.killing import ENVIRONMENT
from tests.cluster.test_local import LOOPBACK, SYLVAN, descendants, listening_on
from tests.runs.killing import tiny

# Ray leaves processes and files to the end of the interpreter.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

STEPS = 4


def helpers(pids: list[int]) -> list[int]:
    """The processes that help the learner."""
    found = []
    for pid in pids:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if line.startswith(b"ray::HelperProcess.run"):
            found.append(pid)
    return found


def plain(steps: int) -> TrainingConfig:
    """AdamW would follow the signs of roundings at first."""
    config = tiny(steps, keep=steps)
    return config.replace(learner=config.learner.replace(optimizer="sgd"))


@pytest.mark.slow
def test_two_learners_train_as_one_and_survive_a_death(tmp_path):
    pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")
    config = plain(STEPS)
    settings = tmp_path / "tiny.toml"
    settings.write_text(toml_text(config, "The run of a test."))
    folder = tmp_path / "cluster"
    command = [*SYLVAN, "train", "tictactoe", "--run", str(folder), "--cluster", "local:1"]
    command += ["--learners", "2", "--quiet", "--config", str(settings)]
    driver = subprocess.Popen(command, env=os.environ | ENVIRONMENT, stdout=subprocess.DEVNULL)
    addresses: set[str] = set()
    killed = 0
    while driver.poll() is None:
        pids = descendants(driver.pid)
        addresses |= listening_on(pids)
        learned = (folder / "metrics.jsonl").exists()
        if not killed and learned and (found := helpers(pids)):
            killed = found[0]
            os.kill(killed, signal.SIGKILL)
        time.sleep(0.2)
    assert driver.returncode == 0
    assert killed and addresses and addresses <= LOOPBACK
    assert (folder / "cluster" / "logs" / "learner-1.log").read_text().count(": process ") >= 2
    run = Run.open(folder)
    assert run.checkpoints.steps()[-1] == STEPS
    train(config, tmp_path / "alone")  # its first games are those of the same network
    alone = Run.open(tmp_path / "alone").checkpoints.read(1).network("network").tensors
    together = run.checkpoints.read(1).network("network").tensors
    for name, numbers in alone.items():
        assert np.abs(together[name] - numbers).max() < 1e-5, name


def test_learners_share_the_cores_that_workers_leave():
    options = ClusterOptions("auto", workers=2, learners=2)
    assert place([{"CPU": 8}], options, gpu=False, threads=4).learner_cpus == 3
    options = ClusterOptions("auto", learners=2)
    assert place([{"CPU": 8}], options, gpu=False, threads=2).workers == 4
    found = place([{"CPU": 8, "GPU": 4}], options, gpu=True, threads=2)
    assert (found.workers, found.gpus) == (2, 1.0)
