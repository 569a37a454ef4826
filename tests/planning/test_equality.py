"""The core equals the reference visit for visit, whatever the game and the settings."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Search, reference
from tests.planning.random_games import Shape, evaluate, evaluate_leaves, make
from tests.planning.settings import configs


@st.composite
def shapes(draw):
    players = draw(st.integers(1, 4))
    return Shape(
        seed=draw(st.integers(0, 2**40)),
        num_players=players,
        depth=draw(st.integers(1, 14)),
        branching=draw(st.sampled_from([1, 2, 3, 5, 7, 7])),
        stop=draw(st.sampled_from([0.0, 0.1, 0.3])),
        zero_sum=players == 2 and draw(st.booleans()),
        graded=draw(st.booleans()),
        rewards=draw(st.booleans()),
        chance=draw(st.sampled_from([0.0, 0.0, 0.3])),
        alternate=draw(st.booleans()),
    )


def compare(node, view, depth=0, most=99):
    """The two trees have the same shape and the same numbers, to the bit, `most` plies deep."""
    assert view.N == node.N, f"visits differ at depth {depth}"
    assert view.kind == node.kind
    assert list(view.W) == node.W
    assert view.proven == (None if node.proven is None else tuple(node.proven))
    edges = {edge.action: edge for edge in view.edges}
    assert edges.keys() == node.children.keys()
    for action, child in node.children.items():
        edge = edges[action]
        assert (edge.N, np.float32(edge.P)) == (child.N, child.prior), f"at depth {depth + 1}"
        if child.N and depth < most:
            compare(child.at, edge.child, depth + 1, most)


def run_both(game, config, moves=0):
    """Search with the core and with the reference, some moves in a row on the same tree."""
    slow = reference.Search(game, evaluate, config)
    fast = Search(evaluate_leaves, config)
    result = None
    for move in range(moves + 1):
        slow.run()
        result = fast.run(game if move == 0 else None)
        assert result.stopped_by == slow.stopped_by
        assert result.simulations == slow.started
        assert result.nodes == slow.nodes
        assert result.depth == slow.depth
        compare_root(slow, result)
        state = fast.state
        state.apply(result.best)
        if state.is_terminal() or state.is_chance():
            break
        slow.advance(result.best)
        fast.advance(result.best)
    return slow, result


def compare_root(slow, result):
    compare(slow.root, result.tree.root)
    actions = list(slow.root.children)
    np.testing.assert_array_equal(result.policy[actions], reference.policy(slow))
    assert result.best == reference.best(slow)
    assert result.action == reference.pick(slow)


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(), moves=st.integers(0, 3))
def test_core_equals_reference(shape, config, moves):
    run_both(make(shape), config, moves)


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(st.integers(1000, 5000)))
def test_core_equals_reference_in_long_searches(shape, config):
    run_both(make(shape), config.replace(nodes=None, depth=None))
