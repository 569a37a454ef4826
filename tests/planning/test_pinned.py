"""Corners of the search that random games of few actions and one search seldom reach.

Each test here pins down what a deliberate mistake in the core (tests/mutants) would change.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig, reference
from sylvan.games import Chess, ConnectFour
from tests.planning.random_games import RandomGame, Shape, evaluate, evaluate_leaves
from tests.planning.test_equality import compare, run_both

seeds = st.integers(0, 2**40)


class WideGame(RandomGame):
    """Eight to twenty actions everywhere; results are few, so equal scores are common."""

    num_actions = 20

    def legal_actions(self) -> list[int]:
        if self.is_terminal() or self.is_chance():
            return []
        count = 8 + self.draw(6, 13)
        return [(self.draw(7, 20) + 7 * i) % 20 for i in range(count)]


@pytest.mark.slow
@given(
    seed=seeds,
    depth=st.integers(2, 4),
    selection=st.sampled_from(["puct", "uct", "gumbel"]),
    in_flight=st.sampled_from([1, 4]),
    noise=st.booleans(),
    prior_bits=st.sampled_from([8, 16, 32]),
)
def test_nodes_with_many_children_equal_the_reference(
    seed, depth, selection, in_flight, noise, prior_bits
):
    """From eight children on the core scans them in vectors, with the same ties."""
    config = SearchConfig(
        simulations=150,
        selection=selection,
        leaves_in_flight=in_flight,
        noise=noise,
        prior_bits=prior_bits,
        proofs=False,
        seed=seed,
    )
    run_both(WideGame(Shape(seed, depth=depth, stop=0.0)), config, moves=1)


def flat(states):
    return [([0.0] * len(state.legal_actions()), [0.0, 0.0]) for state in states]


def flat_leaves(leaves):
    return np.zeros(len(leaves.actions), np.float32), np.zeros((len(leaves), 2), np.float32)


@pytest.mark.parametrize("in_flight", [1, 3])
@pytest.mark.parametrize("simulations", [8, 20, 100, 333])
def test_equal_children_are_visited_in_their_order(simulations, in_flight):
    """Nothing tells them apart: visits go round, and the first ones have one more."""
    game = WideGame(Shape(seed=3, depth=9, stop=0.0))
    config = SearchConfig(simulations=simulations, fpu="zero", leaves_in_flight=in_flight)
    result = Search(flat_leaves, config).run(game)
    slow = reference.Search(game, flat, config)
    slow.run()
    compare(slow.root, result.tree.root)
    visits = [result.tree.root.edge(action).N for action in game.legal_actions()]
    assert visits == sorted(visits, reverse=True)
    assert max(visits) - min(visits) <= 1


def test_a_tie_between_a_tried_and_an_untried_child_goes_to_the_lower_index():
    """Without exploration and with equal values the first action keeps all visits."""
    game = WideGame(Shape(seed=3, depth=60, stop=0.0))
    config = SearchConfig(simulations=50, fpu="zero", c_puct=0.0)
    result = Search(flat_leaves, config).run(game)
    slow = reference.Search(game, flat, config)
    slow.run()
    compare(slow.root, result.tree.root)
    assert result.tree.root.edge(game.legal_actions()[0]).N == 50


@given(
    seed=seeds,
    depth=st.integers(2, 6),
    branching=st.integers(2, 4),
    graded=st.booleans(),
    chance=st.sampled_from([0.0, 0.3]),
    selection=st.sampled_from(["puct", "uct", "gumbel"]),
    in_flight=st.sampled_from([1, 3, 8]),
)
def test_bounds_of_two_seats_equal_the_reference(
    seed, depth, branching, graded, chance, selection, in_flight
):
    """Win, draw and loss bounds, which only two seats without rewards and discount have."""
    shape = Shape(
        seed, depth=depth, branching=branching, graded=graded, chance=chance, alternate=True
    )
    config = SearchConfig(
        simulations=200, selection=selection, c_puct=6.0, leaves_in_flight=in_flight
    )
    run_both(RandomGame(shape), config, moves=1)


class HighGame(RandomGame):
    """Everything is worth 2 to 4, so that 0 is no value of this game."""

    value_range = (2.0, 4.0)

    def returns(self) -> list[float]:
        return [3.0 + x for x in super().returns()]


def high(states):
    return [(logits, [3.0 + x for x in values]) for logits, values in evaluate(states)]


def high_leaves(leaves):
    logits, values = evaluate_leaves(leaves)
    return logits, values + np.float32(3.0)


@given(
    seed=seeds,
    value_range=st.sampled_from(["game", "tree", "siblings"]),
    fpu=st.sampled_from(["parent", "reduction", "loss", 0.5]),
    in_flight=st.sampled_from([1, 3]),
)
def test_values_far_from_zero_equal_the_reference(seed, value_range, fpu, in_flight):
    """Also with chance, at whose nodes no seat has a Q that could widen the range."""
    shape = Shape(seed, num_players=3, zero_sum=False, depth=6, chance=0.4)
    game = HighGame(shape)
    config = SearchConfig(
        simulations=150, value_range=value_range, fpu=fpu, proofs=False, leaves_in_flight=in_flight
    )
    result = Search(high_leaves, config).run(game)
    slow = reference.Search(game, high, config)
    slow.run()
    compare(slow.root, result.tree.root)


@given(seed=seeds, selection=st.sampled_from(["puct", "uct", "gumbel"]), runs=st.integers(2, 4))
def test_searching_a_root_again_equals_the_reference(seed, selection, runs):
    """Noise is drawn anew for each search and mixed into the original priors."""
    config = SearchConfig(simulations=60, selection=selection, noise=True, seed=seed)
    game = RandomGame(Shape(seed, num_players=3, zero_sum=False, depth=9, stop=0.0))
    slow, fast = reference.Search(game, evaluate, config), Search(evaluate_leaves, config)
    for run in range(runs):
        slow.run()
        result = fast.run(game if run == 0 else None)
        compare(slow.root, result.tree.root)


def test_noise_that_is_handed_in_again_gives_the_same_priors():
    game = RandomGame(Shape(seed=5, branching=7, depth=9, stop=0.0))
    legal = len(game.legal_actions())
    noise = [0.5] + [0.5 / (legal - 1)] * (legal - 1)
    search = Search(evaluate_leaves, simulations=30, noise=True, dirichlet_fraction=0.5)
    priors = []
    for run in range(3):
        result = search.run(game if run == 0 else None, noise=noise)
        priors.append({edge.action: edge.P for edge in result.tree.root.edges})
        assert sum(priors[-1].values()) == pytest.approx(1.0)
    assert priors[0] == priors[1] == priors[2]


@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
def test_what_a_tree_draws_does_not_depend_on_threads(selection):
    games = [ConnectFour([i % 7, i // 2 % 7]) for i in range(12)]
    config = SearchConfig(simulations=50, selection=selection, noise=True, temperature=1.0, seed=9)
    found = []
    for threads in (1, 2, 5):
        forest = Forest(games, config.replace(threads=threads))
        forest.run("rollout")
        results = forest.results()
        found.append([(r.policy.tolist(), r.action, r.value) for r in results])
    assert found[0] == found[1] == found[2]
    equals = [found[0][0] == other for other in found[0][1:]]
    assert not all(equals), "every tree has a stream of its own"


@pytest.mark.parametrize("in_flight", [1, 16])
@pytest.mark.parametrize("game", [Chess(), ConnectFour()], ids=["chess", "connect four"])
def test_a_full_tree_goes_on_and_counts_every_visit_once(game, in_flight):
    """Under a budget subtrees go, but what the edges of the root know stays."""
    config = SearchConfig(
        simulations=20_000, bytes=65536, proofs=False, leaves_in_flight=in_flight, c_puct=0.5
    )
    search = Search("material" if isinstance(game, Chess) else "rollout", config)
    result = search.run(game)
    root = result.tree.root
    assert (result.stopped_by, root.N) == ("simulations", 20_001)
    assert sum(edge.N for edge in root.edges) == 20_000
    assert result.nodes < 2000
    search.advance(result.best)
    again = search.run()
    assert (again.stopped_by, again.simulations) == ("simulations", 20_000)
