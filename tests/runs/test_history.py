"""Networks of earlier steps: which are kept, and that they are those of their steps."""

import numpy as np
import pytest

from sylvan.networks.checkpoint import read_checkpoint
from sylvan.runs.config import TrainingConfig
from sylvan.runs.history import NetworkHistory, networks_by_step, stride
from sylvan.runs.loop import train
from sylvan.runs.run import Run

SMALL = {
    "game": {"name": "tictactoe"},
    "run": {"steps": 5, "seed": 1, "threads": 1, "history": 2, "keep": 1},
    "network": {"size": "mlp1x8"},
    "search": {"simulations": 2},
    "selfplay": {"games": 4, "positions": 20},
    "learner": {"batch": 8},
    "arena": {"every": 100},
}


@pytest.mark.parametrize("most", [1, 3, 16])
def test_the_kept_steps_are_few_and_evenly_spread(most):
    for last in range(1, 200):
        apart = stride(last, most)
        kept = range(apart, last + 1, apart)
        assert len(kept) <= most and (apart == 1 or 2 * len(kept) >= most - 1)


def test_a_run_keeps_networks_of_earlier_steps(tmp_path):
    run = train(TrainingConfig(**SMALL), tmp_path / "run").run
    files = NetworkHistory(run.networks / "history", 0).files()
    assert list(files) == [0, 2, 4]
    assert set(networks_by_step(run)) == {0, 2, 4, *run.checkpoints.steps()}


def test_a_network_of_the_history_is_that_of_its_checkpoint(tmp_path):
    config = SMALL | {"run": SMALL["run"] | {"steps": 3, "history": 8, "keep": 8}}
    run = train(TrainingConfig(**config), tmp_path / "run").run
    files = NetworkHistory(run.networks / "history", 0).files()
    assert list(files) == [0, 1, 2, 3]
    for step, path in files.items():
        kept, written = read_checkpoint(path), run.checkpoints.read(step).network("average")
        assert kept[0] == written.header
        for name, tensor in written.tensors.items():
            assert np.array_equal(kept[1][name], tensor)


def test_history_can_be_turned_off(tmp_path):
    config = SMALL | {"run": SMALL["run"] | {"steps": 1, "history": 0}}
    run = train(TrainingConfig(**config), tmp_path / "run").run
    assert not (run.networks / "history").exists()
    assert list(networks_by_step(Run.open(run.folder))) == run.checkpoints.steps()
