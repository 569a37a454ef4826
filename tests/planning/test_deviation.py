"""Exploration by the deviation of values."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import SearchConfig, reference
from sylvan.errors import ConfigError
from sylvan.reference import deviation
from sylvan.reference.node import ONE
from tests.planning.random_games import Shape, evaluate, make
from tests.planning.test_equality import run_both

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def grown(simulations, **options):
    search = reference.Search(
        make(Shape(seed=5, depth=9, stop=0.05, graded=True)),
        evaluate,
        SearchConfig(simulations=simulations, c_deviation=0.85, **options),
    )
    search.run()
    return search


def nodes(node):
    yield node
    for child in node.children.values():
        if child.N:
            yield from nodes(child.at)


def values(node, seat):
    """The value of every visit of a tree without rewards: own evaluations, results, proofs."""
    if node.kind != "decision":
        return [node.W[seat] / node.N] * node.N  # always the same result
    own = node.W[seat] - sum(child.W[seat] for child in node.children.values() if child.N)
    below = [values(child, seat) for child in node.children.values() if child.N]
    return [own, *(value for part in below for value in part)]


def test_squares_are_the_mean_squares_of_all_values():
    search = grown(300, proofs=False)
    checked = 0
    for node in nodes(search.root):
        if node.kind == "decision":
            mean = np.mean(np.square(values(node, node.seat)))
            assert node.square == pytest.approx(mean, abs=1e-5)
            checked += 1
    assert checked > 30


def test_the_formula():
    """Usual deviation 0.4, N = 9, Q = 0.2, S = 0.4: the variance is (2 * 0.16 + 9 * 0.36) / 10."""
    search = grown(0, usual_deviation=0.4)
    root = search.root
    root.N, root.W, root.square = 9, [1.8, -1.8], np.float32(0.4)
    deviated = math.sqrt(0.356)
    expected = 1 + 0.85 * (deviated / 0.4 - 1)
    assert deviation.factor(root, search.config, ONE) == pytest.approx(expected, rel=1e-6)


def test_a_first_evaluation_changes_nothing():
    search = grown(0)
    assert search.root.N == 1 and search.root.square > 0
    assert deviation.factor(search.root, search.config, ONE) == pytest.approx(1.0)


@few
@given(
    seed=st.integers(0, 2**40),
    width=st.sampled_from([0, 2, 5]),
    rewards=st.booleans(),
    chance=st.sampled_from([0.0, 0.2]),
    proofs=st.booleans(),
    value_range=st.sampled_from(["game", "tree"]),
    in_flight=st.sampled_from([1, 4]),
    share=st.sampled_from([0.5, 1.0]),
    moves=st.integers(0, 2),
)
def test_core_equals_reference(
    seed, width, rewards, chance, proofs, value_range, in_flight, share, moves
):
    """Where lines meet in shared positions too."""
    shape = Shape(seed=seed, depth=8, branching=3, width=width, rewards=rewards, chance=chance)
    config = SearchConfig(
        simulations=300,
        c_deviation=share,
        transpositions=width > 0,
        proofs=proofs,
        value_range=value_range,
        leaves_in_flight=in_flight,
    )
    run_both(make(shape), config, moves)


def test_it_needs_a_scale():
    with pytest.raises(ConfigError, match="c_deviation"):
        SearchConfig(c_deviation=0.5, value_range="siblings")
