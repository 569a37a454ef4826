"""Two processes that share each batch learn what one process learns from the joint batch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sylvan.errors import ConfigError
from sylvan.games import ConnectFour
from sylvan.learning.base_learner import BaseLearner
from sylvan.learning.config import LearnerConfig
from sylvan.learning.group import Group, LearnerLost, parts_of
from sylvan.learning.learner import Learner
from sylvan.muzero.build import build_muzero
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.learner import MuZeroLearner
from sylvan.networks import build_network
from tests.muzero.made_up import Counter, CounterReplay
from tests.replay.examples import MadeUp

ROOT = Path(__file__).parents[2]
FLAT = {"batch": 13, "schedule": "constant", "warmup": 0.0, "final_decay": 0.0}
UPDATES = 4

HELPER = """
import sys
from pathlib import Path
from sylvan.learning.base_learner import help_learning
from sylvan.learning.group import Group
group = Group(Path(sys.argv[1]), 1, 2)
for _ in range(int(sys.argv[2])):
    help_learning(group, threads=1)
"""


def helper(meeting: Path, learners: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HELPER, str(meeting), str(learners)], cwd=ROOT)


def positions(**settings) -> tuple[BaseLearner, object]:
    """A residual tower with batch norms, and weights that differ between the parts of a batch."""
    extra = {"value": "wdl", "moves_left": True, "auxiliary": {"owner": 4}, "norm": "batch"}
    network = build_network("2x8", game=ConnectFour(), seed=1, **extra)
    learner = Learner(network, LearnerConfig(**FLAT | settings), "cpu", threads=1)
    return learner, MadeUp(learner.header, {"owner": 4}, files=0.3)


def sequences(**settings) -> tuple[BaseLearner, object]:
    game = Counter()
    config = MuZeroConfig(unroll=3, consistency=1.0, reconstruction=0.5)
    network = build_muzero("mlp1x16", game=game, config=config, seed=1)
    learner = MuZeroLearner(
        network, LearnerConfig(**FLAT | settings), "cpu", threads=1, muzero=config
    )
    return learner, CounterReplay(game)


CASES = [
    (positions, {"optimizer": "sgd"}),
    (positions, {}),
    (sequences, {"optimizer": "sgd"}),
]


def learned(learner: BaseLearner, examples) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    rng = np.random.Generator(np.random.Philox(0))
    losses = learner.train(examples, UPDATES, 0.5, rng).numbers()
    del losses["learner.seconds"]
    return losses, learner.network.state_dict()


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path):
    meeting = tmp_path / "group"
    other = helper(meeting, len(CASES))
    group = Group(meeting, 0, 2)
    try:
        for make, settings in CASES:
            alone_losses, alone = learned(*make(**settings))
            learner, examples = make(**settings)
            learner.share(group)
            losses, weights = learned(learner, examples)
            learner.end_sharing()
            # Sums are rounded in another order: 1e-5 of losses and weights. AdamW divides small
            # gradients by their own size, so its first steps follow the signs of roundings.
            assert losses == pytest.approx(alone_losses, rel=1e-4)
            close = 1e-5 if settings else 1e-3
            for name, tensor in alone.items():
                difference = (weights[name].double() - tensor.double()).abs().max()
                assert difference <= close * tensor.double().abs().max().clamp(min=1), name
        assert other.wait(60) == 0
    finally:
        other.kill()
        group.close()


@pytest.mark.slow
def test_a_helper_that_dies_is_noticed_at_once(tmp_path):
    meeting = tmp_path / "group"
    other = helper(meeting, 1)
    group = Group(meeting, 0, 2)
    try:
        learner, examples = sequences()
        learner.share(group)
        learned(learner, examples)
        other.kill()
        other.wait()
        with pytest.raises(LearnerLost):
            learned(learner, examples)
    finally:
        other.kill()
        group.close()


def test_a_batch_is_cut_into_parts_in_order():
    batch = MadeUp(positions()[0].header, {"owner": 4}).sample(13, np.random.default_rng(0))
    parts = parts_of(batch, 3)
    assert [len(part.weight) for part in parts] == [4, 4, 5]
    assert (np.concatenate([part.policy for part in parts]) == batch.policy).all()
    assert len(parts[0].auxiliary["owner"]) == 4


class Nobody:
    """A group that is never used."""

    size = 2


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"loss": "sylvan.learning.losses:losses"}, "learner.loss"),
        ({"compile": True}, "learner.compile"),
    ],
)
def test_what_cannot_be_shared_is_refused(settings, named):
    learner, _ = positions()
    learner.config = learner.config.replace(**settings)
    with pytest.raises(ConfigError, match=named):
        learner.share(Nobody())


def test_a_batch_for_nobody_and_dropout_are_refused():
    learner, _ = positions(batch=1)
    with pytest.raises(ConfigError, match=r"learner\.batch is 1"):
        learner.share(Nobody())
    learner, _ = positions()
    learner.network.add_module("dropout", nn.Dropout())
    with pytest.raises(ConfigError, match="Dropout"):
        learner.share(Nobody())
