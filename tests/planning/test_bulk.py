"""Results and moves of all trees at once are those of each tree alone."""

import numpy as np
import pytest

from examples.pig import Pig
from sylvan.errors import IllegalAction, SearchStateError
from sylvan.games import Chess, ConnectFour
from sylvan.planning import BulkForest
from sylvan.planning.outcomes import CHANCE, OVER, UNMOVED
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.twins import everything, finish, flat, skewed

FORESTS = {
    "native": lambda **settings: (
        BulkForest([ConnectFour(moves) for moves in ("", "44", "4455", "1213")], **settings),
        skewed,
    ),
    "seats": lambda **settings: (
        BulkForest(
            [
                make(Shape(seed=seed, num_players=3, zero_sum=False, depth=9, rewards=True))
                for seed in range(5)
            ],
            **settings,
        ),
        evaluate_leaves,
    ),
}


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
@pytest.mark.parametrize("threads", [1, 3])
def test_outcomes_are_the_results_of_all_trees(kind, selection, threads):
    forest, evaluate = FORESTS[kind](
        simulations=60, selection=selection, noise=True, forced_playouts=2.0, threads=threads
    )
    found = finish(forest, evaluate).outcomes()
    for tree, result in enumerate(forest.results()):
        edges = slice(found.offsets[tree], found.offsets[tree + 1])
        actions = found.actions[edges].tolist()
        assert actions == list(forest.state(tree).legal_actions())
        np.testing.assert_array_equal(found.policy[edges], result.policy[actions])
        visits = {edge.action: edge.N for edge in result.tree.root.edges}
        assert found.visits[edges].tolist() == [visits[action] for action in actions]
        assert found.best[tree] == result.best
        assert found.seats[tree] == result.tree.root.seat
        np.testing.assert_allclose(found.values[tree], result.values, rtol=1e-6)
        assert found.simulations[tree] == result.simulations
        np.testing.assert_allclose(found.priors[edges].sum(), 1, atol=1e-5)


def test_surprise_is_finite_where_every_edge_was_tried():
    """Edges are worth nearly the same, and the root seems worth far more: what untried ones would
    be worth is beyond all numbers, and nothing, since there are none.
    """
    forest = BulkForest([ConnectFour() for _ in range(256)], simulations=21, selection="gumbel")
    rng, first = np.random.default_rng(1), True
    for leaves in forest:
        values = np.full(len(leaves), 0.9) if first else rng.normal(0, 1e-3, len(leaves))
        forest.update(rng.normal(size=(len(leaves), 7)), values)
        first = False
    found = forest.outcomes()
    assert (found.visits > 0).all()
    assert np.isfinite(found.surprise).all() and np.isfinite(found.policy).all()


def test_a_tree_that_was_not_searched_has_no_edges():
    found = BulkForest([ConnectFour(), ConnectFour("4")]).outcomes()
    assert found.offsets.tolist() == [0, 0, 0] and found.best.tolist() == [-1, -1]
    assert found.seats.tolist() == [-1, -1] and not found.values.any()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("keep", [True, False])
def test_playing_in_all_trees_is_advancing_each(threads, keep):
    forest, _ = FORESTS["native"](simulations=50, threads=threads)
    other, _ = FORESTS["native"](simulations=50)
    finish(forest, skewed)
    finish(other, skewed)
    actions = forest.outcomes().best
    transitions = forest.play(actions, keep=keep)
    for tree, action in enumerate(actions.tolist()):
        state = other.state(tree).clone()
        state.apply(action)
        expected = OVER if state.is_terminal() else state.to_play()
        assert transitions.turns[tree] == expected
        if keep:
            other.advance(tree, action)
        else:
            other.plant(tree, state)
        assert forest.state(tree) == state
    assert everything(finish(forest, skewed)) == everything(finish(other, skewed))


def test_ends_are_paid():
    forest = BulkForest([ConnectFour("414141"), ConnectFour("44"), ConnectFour("4")])
    transitions = forest.play([3, -1, 3])
    assert transitions.turns.tolist() == [OVER, UNMOVED, 0]
    assert transitions.returns.tolist() == [[1, -1], [0, 0], [0, 0]]


def test_chess_ends_by_repetition_though_a_search_would_go_on():
    shuffle = "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1"
    game = Chess(moves=shuffle)
    forest = BulkForest([game])
    transitions = forest.play([game.string_to_action("Ng8")])
    assert transitions.turns.tolist() == [OVER] and transitions.returns.tolist() == [[0, 0]]


def test_chance_is_drawn_by_the_numbers_given():
    forest = BulkForest([Pig(), Pig(), Pig()], simulations=10)
    assert forest.play([1, 1, -1]).turns.tolist() == [CHANCE, CHANCE, UNMOVED]
    outcomes = forest.draw([0.0, 0.99, -1.0])
    assert outcomes.tolist() == [0, 5, -1]
    assert forest.draw([1 / 6 + 1e-9, 1.0, -1.0]).tolist() == [1, 5, -1]
    assert forest.play(outcomes).turns.tolist() == [1, 0, UNMOVED]
    assert [state.turn for state in forest.states] == [0, 6, 0]
    finish(forest, flat)
    assert (forest.outcomes().best >= 0).all()


@pytest.mark.parametrize("moves", [[3, 9], [3, 2**40]])
def test_unless_all_moves_are_legal_none_is_played(moves):
    forest = BulkForest([ConnectFour(), ConnectFour("4")], simulations=5)
    with pytest.raises(IllegalAction, match="tree 1"):
        forest.play(moves)
    assert forest.states == [ConnectFour(), ConnectFour("4")]
    with pytest.raises(SearchStateError, match="2 trees"):
        forest.play([3])


def test_nothing_is_played_while_leaves_wait():
    forest = BulkForest([ConnectFour()], simulations=5)
    forest.select()
    with pytest.raises(SearchStateError, match="evaluation"):
        forest.play([3])
