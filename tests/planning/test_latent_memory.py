"""The memory of a search over a learned model: no term grows with actions times simulations."""

import numpy as np
import pytest

from sylvan import LatentSearch, SearchConfig

ROOTS, HIDDEN = 8, 5


class Noise:
    """A model of A actions with other outputs for every state, `[B, HIDDEN]`."""

    def __init__(self, actions):
        self.actions, self.rng = actions, np.random.default_rng(0)

    def initial_inference(self, observations):
        return self.recurrent_inference(observations, observations)

    def recurrent_inference(self, hidden, actions):
        count = len(actions)
        logits = self.rng.normal(size=(count, self.actions)).astype(np.float32)
        values = self.rng.normal(size=count)
        return values, values, logits, np.zeros((count, HIDDEN), np.float32)


def searched(actions, simulations, **settings):
    config = SearchConfig(simulations=simulations, noise=False, **settings)
    search = LatentSearch(Noise(actions), config)
    search.search(np.zeros((ROOTS, 1)))
    return search


def tree_bytes(actions, simulations, **settings):
    search = searched(actions, simulations, **settings)
    return search.bytes - ROOTS * (simulations + 1) * HIDDEN * 4


@pytest.mark.parametrize("rule", ["puct", "gumbel"])
def test_more_actions_cost_the_roots_alone(rule):
    def added(simulations):
        many, few = (tree_bytes(a, simulations, selection=rule) for a in (4672, 672))
        return many - few

    roots = ROOTS * 4000 * 12  # an action, its prior, its code
    assert added(20) == pytest.approx(roots, rel=0.02)
    assert added(80) == pytest.approx(roots, rel=0.02)


def test_a_node_keeps_what_can_still_be_tried():
    simulations = 100
    nodes = ROOTS * simulations
    roots = ROOTS * 4672 * 12
    each = (tree_bytes(4672, simulations) - roots) / nodes
    assert each < 5 * simulations / 2 + 200  # a code and an action for half of them, on average
    assert (tree_bytes(4672, simulations, top_k=8) - roots) / nodes < 5 * 8 + 200


def test_hidden_states_take_a_row_per_simulation():
    search = searched(9, 30)
    assert search._hidden.shape == (ROOTS * 31, HIDDEN)
    first = search.bytes
    search.search(np.zeros((ROOTS, 1)))
    assert search.bytes <= first * 1.1
