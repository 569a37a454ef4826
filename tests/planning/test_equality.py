"""The core equals the reference visit for visit, whatever the game and the settings."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Search, SearchConfig, reference
from tests.planning.random_games import Shape, evaluate, evaluate_leaves, make


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


@st.composite
def configs(draw, simulations=st.integers(0, 400)):
    number = st.floats(-1, 1).map(lambda x: round(x, 3))
    fpu = st.one_of(st.sampled_from(["parent", "reduction", "zero", "loss"]), number)
    in_flight = draw(st.sampled_from([1, 1, 2, 3, 8]))
    return SearchConfig(
        simulations=draw(simulations),
        nodes=draw(st.one_of(st.none(), st.integers(1, 300))),
        depth=draw(st.one_of(st.none(), st.none(), st.integers(1, 9))),
        selection=draw(st.sampled_from(["puct", "uct", "gumbel"])),
        c_puct=draw(st.sampled_from([0.0, 0.5, 1.5, 4.0])),
        c_base=draw(st.sampled_from([None, 10.0, 19652.0])),
        c_factor=draw(st.sampled_from([0.5, 1.0, 2.0])),
        c_uct=draw(st.sampled_from([0.3, 1.4])),
        max_considered=draw(st.integers(1, 16)),
        gumbel_scale=draw(st.sampled_from([0.0, 1.0])),
        c_visit=draw(st.sampled_from([0.0, 50.0])),
        c_scale=draw(st.sampled_from([0.1, 1.0])),
        fpu=draw(fpu),
        fpu_reduction=draw(st.sampled_from([0.0, 0.3, 1.0])),
        fpu_root=draw(st.one_of(st.none(), fpu)),
        fpu_root_reduction=draw(st.sampled_from([None, 0.1])),
        value_range=draw(st.sampled_from(["game", "tree", "siblings", (-3.0, 5.0)])),
        discount=draw(st.sampled_from([1.0, 1.0, 0.9])),
        noise=draw(st.booleans()),
        dirichlet_alpha=draw(st.sampled_from([0.03, 0.3, 10.0])),
        dirichlet_fraction=draw(st.sampled_from([0.0, 0.25, 1.0])),
        temperature=draw(st.sampled_from([0.0, 1e-3, 1.0, 1e3])),
        seed=draw(st.integers(0, 2**32)),
        proofs=draw(st.booleans()),
        leaves_in_flight=in_flight,
        collisions=draw(st.sampled_from([None, 0, 1, 5])),
        prior_bits=draw(st.sampled_from([8, 16, 32])),
    )


def compare(node, view, depth=0):
    """The two trees have the same shape and the same numbers, to the bit."""
    assert view.N == node.N, f"visits differ at depth {depth}"
    assert view.kind == node.kind
    assert list(view.W) == node.W
    assert view.proven == (None if node.proven is None else tuple(node.proven))
    edges = {edge.action: edge for edge in view.edges}
    assert edges.keys() == node.children.keys()
    for action, child in node.children.items():
        edge = edges[action]
        assert (edge.N, np.float32(edge.P)) == (child.N, child.prior), f"at depth {depth + 1}"
        if child.N:
            compare(child, edge.child, depth + 1)


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
        proofs = config.proofs
        compare_root(slow, result, proofs)
        state = fast.state
        state.apply(result.best)
        if state.is_terminal() or state.is_chance():
            break
        slow.advance(result.best)
        fast.advance(result.best)
    return slow, result


def compare_root(slow, result, proofs):
    compare(slow.root, result.tree.root) if proofs else compare_unproven(slow, result)
    actions = list(slow.root.children)
    np.testing.assert_array_equal(result.policy[actions], reference.policy(slow))
    assert result.best == reference.best(slow)
    assert result.action == reference.pick(slow)


def compare_unproven(slow, result):
    compare(slow.root, result.tree.root)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(), moves=st.integers(0, 3))
def test_core_equals_reference(shape, config, moves):
    run_both(make(shape), config, moves)


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(st.integers(1000, 5000)))
def test_core_equals_reference_in_long_searches(shape, config):
    run_both(make(shape), config.replace(nodes=None, depth=None))
