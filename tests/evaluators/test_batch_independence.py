"""An evaluator whose answers depend on the batch is found out."""

import numpy as np
import pytest

from sylvan import Forest
from sylvan.evaluators import Cached, OnnxEvaluator
from sylvan.evaluators.batch_independence import depends_on_batch
from sylvan.games import Blob, Chess, ConnectFour
from sylvan.selfplay.roots import some_roots
from tests.planning.twins import flat
from tests.selfplay.reference_games import evaluate_leaves


def leaves_of(first, count=24):
    """The leaves of some positions."""
    leaves = Forest(some_roots(first, count, seed=3), simulations=1).select()
    assert len(leaves) == count
    return leaves


def by_row(leaves):
    """The row decides the value."""
    logits, _ = flat(leaves)
    return logits, np.linspace(-1, 1, len(leaves)).astype(np.float32)


def by_neighbours(leaves):
    """The first position of the batch changes all logits."""
    logits, values = evaluate_leaves(leaves)
    return logits + np.float32(leaves.observations[0].sum()), values


def by_size(leaves):
    """Other kernels for short batches round differently."""
    logits, values = evaluate_leaves(leaves)
    return (np.nextafter(logits, np.float32(9)) if len(leaves) < 20 else logits), values


def by_offset(leaves):
    """The second half of a full batch is rounded in another way."""
    logits, values = evaluate_leaves(leaves)
    return logits, values + np.float32(0.25) * (np.arange(len(leaves)) >= 50)[:, None]


class Lanes:
    """Two lanes in turn; the second one is faulty."""

    num_lanes = 2

    def __init__(self):
        self.calls = 0

    def __call__(self, leaves):
        self.calls += 1
        logits, values = evaluate_leaves(leaves)
        return logits, values * np.float32(1 + self.calls % 2)


class Submitted:
    """An evaluator with `submit` and `collect`."""

    def __init__(self, evaluate):
        self.evaluate = evaluate

    def submit(self, leaves):
        return leaves

    def collect(self, leaves):
        return self.evaluate(leaves)


@pytest.mark.parametrize("evaluate", [by_row, by_neighbours, by_size])
def test_answers_that_depend_on_the_batch(evaluate):
    leaves = leaves_of(ConnectFour())
    assert depends_on_batch(evaluate, leaves)
    assert depends_on_batch(Submitted(evaluate), leaves)
    assert depends_on_batch(Cached(evaluate, 1 << 20), leaves)


def test_a_full_batch_is_tried_though_there_are_fewer_positions():
    leaves = leaves_of(ConnectFour())
    assert not depends_on_batch(by_offset, leaves)
    assert depends_on_batch(by_offset, leaves, 100)
    assert not depends_on_batch(evaluate_leaves, leaves, 100)


def test_every_lane_is_tried_with_every_order():
    leaves, sound = leaves_of(ConnectFour()), Lanes()
    assert depends_on_batch(Lanes(), leaves)
    sound.__class__ = type("Sound", (Lanes,), {"__call__": lambda self, x: evaluate_leaves(x)})
    assert not depends_on_batch(sound, leaves)


@pytest.mark.parametrize("first", [ConnectFour(), Chess(), Blob(players=3, cards=2)])
def test_answers_that_do_not(first):
    leaves = leaves_of(first)
    assert not depends_on_batch(evaluate_leaves, leaves)
    assert not depends_on_batch(Submitted(evaluate_leaves), leaves)


def test_onnx_runtime_is_tried_out():
    from sylvan.learning.inference import self_play_evaluator
    from sylvan.networks import build_network

    network = build_network("2x16", game=ConnectFour(), seed=1)
    evaluator = self_play_evaluator(network, device="cpu", threads=2)
    assert isinstance(evaluator, OnnxEvaluator)
    assert not depends_on_batch(evaluator, leaves_of(ConnectFour(), 70))


def test_positions_differ_and_a_seat_is_to_move():
    roots = some_roots(Blob(players=3, cards=2), 40, seed=1)
    assert len({root.key() for root in roots}) > 20
    assert all(root.observer == root.to_play() for root in roots)
