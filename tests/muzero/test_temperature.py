"""Moves are sampled from the policy target with a temperature."""

import numpy as np
import pytest

from sylvan.muzero.temperature import picked
from sylvan.planning.outcomes import Outcomes


def outcomes(*policies, best=None):
    """Results of searches with these policy targets."""
    counts = [len(policy) for policy in policies]
    n = len(policies)
    return Outcomes(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        actions=np.concatenate([10 * np.arange(count) for count in counts]).astype(np.int32),
        policy=np.concatenate(policies).astype(np.float32),
        visits=np.zeros(sum(counts), np.uint32),
        priors=np.zeros(sum(counts), np.float32),
        best=np.array(best or [10 * int(np.argmax(p)) if len(p) else -1 for p in policies]),
        seats=np.zeros(n, np.int8),
        values=np.zeros((n, 2), np.float32),
        surprise=np.zeros(n, np.float32),
        simulations=np.zeros(n, np.uint32),
    )


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0, 2.0])
def test_moves_are_drawn_in_proportion(temperature):
    target = np.array([0.1, 0.0, 0.6, 0.3])
    count = 4000
    found = outcomes(*[target] * count)
    uniforms = (np.arange(count) + 0.5) / count
    drawn = picked(found, np.full(count, temperature), uniforms)
    expected = target ** (1 / temperature)
    shares = np.bincount(drawn // 10, minlength=4) / count
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=1 / count)


def test_cold_trees_play_their_best_and_warm_ones_are_drawn():
    found = outcomes([0.5, 0.5], [0.2, 0.8], [], [1.0], best=[10, 0, -1, 0])
    actions = picked(found, np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.1, 0.5, 0.999]))
    assert actions.tolist() == [10, 0, -1, 0]
    actions = picked(found, np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.21, 0.5, 0.999]))
    assert actions.tolist() == [10, 10, -1, 0]


def test_a_tiny_temperature_does_not_overflow():
    found = outcomes([1e-6, 1e-7, 0.0], [0.0, 0.0, 1.0])
    for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        drawn = picked(found, np.full(2, 1e-3), np.full(2, uniform))
        assert drawn.tolist() == [0, 20]
