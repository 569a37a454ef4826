"""A forest: many trees in one batch, each as if it were alone; moving on keeps what is known."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig
from sylvan.errors import GameOver, SearchStateError
from sylvan.evaluators import HashRandom
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.twins import everything, finish, flat, found, numbers, skewed

few = settings(suppress_health_check=list(HealthCheck))


def test_the_loop_of_the_documentation():
    forest = Forest([TicTacToe() for _ in range(5)], simulations=20)
    batches = 0
    for leaves in forest:
        assert len(leaves) <= 5
        forest.update(*skewed(leaves))
        batches += 1
    assert len(forest) == len(forest.results()) == 5
    assert all(result.simulations == 20 for result in forest.results())
    assert batches == 21  # the roots, then one simulation of every tree at a time


def test_one_batch_holds_leaves_of_all_trees():
    forest = Forest([ConnectFour()] * 7, simulations=30, leaves_in_flight=4)
    forest.update(*flat(forest.select()))
    counts = np.bincount(forest.select().trees, minlength=7)
    assert (counts == 4).all()


def test_states_are_copied():
    states = [TicTacToe(), TicTacToe([4])]
    forest = Forest(states, simulations=10)
    states[0].apply(0)
    assert forest.states[0] == TicTacToe()
    forest.run("uniform")
    forest.result().game.apply(3)
    assert forest.states[0] == TicTacToe()


def test_settings_by_config_and_by_name():
    config = SearchConfig(simulations=5, seed=3)
    assert Forest([TicTacToe()], config, num_simulations=9).config == config.replace(simulations=9)


def test_a_forest_takes_any_iterable():
    assert len(Forest(TicTacToe() for _ in range(3))) == 3


def test_the_end_is_the_end_until_another_search_begins():
    forest = finish(Forest([TicTacToe()], simulations=5), flat)
    before = everything(forest)
    assert forest.select() is None and forest.select() is None
    assert everything(forest) == before
    assert sum(1 for leaves in forest if forest.update(*flat(leaves)) is None) == 5
    assert forest.result().tree.root.N == 11
    forest.run("uniform")
    assert forest.result().tree.root.N == 16 and forest.select() is None


# --- tree reuse --------------------------------------------------------------------------------


def subtree(result, *actions):
    node = result.tree.root
    for action in actions:
        node = node.edge(action).child
    return node


@few
@given(
    seed=st.integers(0, 2**32),
    chance=st.sampled_from([0.0, 0.4]),
    config=configs(st.integers(20, 200)),
    data=st.data(),
)
def test_moving_on_keeps_the_subtree(seed, chance, config, data):
    """After any moves that the tree knows, through chance or not, every number is still there."""
    state = make(Shape(seed=seed, chance=chance, depth=12, stop=0.05, branching=4))
    config = config.replace(nodes=None, depth=None, noise=False, selection="puct")
    forest = finish(Forest([state], config), evaluate_leaves)
    node, path = forest.result().tree.root, []
    for _ in range(data.draw(st.integers(1, 4))):
        known = [edge for edge in node.edges if edge.child is not None and edge.child.edges]
        if not known:
            break
        edge = data.draw(st.sampled_from(known))
        path.append(edge.action)
        node = edge.child
    before = numbers(node)
    nodes = 1 + sum(1 for _ in below(node))
    forest.advance(0, *path)
    if node.kind == "chance":
        with pytest.raises(SearchStateError, match=r"tree 0.*chance"):
            forest.begin()
        return
    forest.begin()
    result = forest.result()
    assert numbers(result.tree.root)[2:] == before[2:]
    assert result.nodes == nodes
    finish(forest, evaluate_leaves)
    after = forest.result()
    if after.stopped_by == "simulations":
        assert after.simulations == config.simulations, "a reused tree counts new simulations"


def below(node):
    for edge in node.edges:
        if edge.child is not None:
            yield edge.child
            yield from below(edge.child)


def test_the_rest_is_freed():
    search = Search("hash_random", simulations=20_000, proofs=False)
    result = search.run(ConnectFour())
    kept = result.tree.root.edge(result.best).N
    search.advance(result.best)
    search._forest.begin()
    after = search.result
    assert kept == after.tree.root.N
    assert after.nodes <= kept and after.bytes < result.bytes * kept / 20_000 * 1.2


def test_memory_freed_by_moving_on_is_used_again():
    """A long game in one forest takes no more than its largest tree."""
    forest = Forest([Chess()], simulations=3000, proofs=False)
    peak = 0
    for _ in range(30):
        forest.run("hash_random")
        result = forest.result()
        peak = max(peak, result.bytes)
        forest.advance(0, result.best)
    assert forest.bytes < 2 * peak


def test_an_unknown_move_starts_a_new_tree():
    search = Search("uniform", simulations=3)
    result = search.run(ConnectFour())
    unvisited = next(edge.action for edge in result.tree.root.edges if edge.N == 0)
    search.advance(unvisited)
    with pytest.raises(SearchStateError, match="evaluated"):
        _ = search.result
    result = search.run()
    assert result.tree.root.N == 4 and result.game == ConnectFour([unvisited])


def test_several_moves_at_once_are_the_same_as_one_by_one():
    searches = [Search(HashRandom(), simulations=500, noise=True, seed=2) for _ in range(2)]
    for search in searches:
        search.run(ConnectFour())
    line = searches[0].result.pv[:3]
    searches[0].advance(*line)
    for action in line:
        searches[1].advance(action)
    assert found(searches[0].run()) == found(searches[1].run())


def test_moving_nowhere_changes_nothing():
    search = Search("uniform", simulations=20)
    search.run(TicTacToe())
    before = numbers(search.result.tree.root)
    search.advance()
    assert numbers(search.result.tree.root) == before


def test_a_search_through_chance_goes_on():
    """Roll, move, roll: the tree is kept on both sides of a die."""
    state = make(Shape(seed=4, chance=0.5, depth=14, stop=0.0, branching=3))
    search = Search(evaluate_leaves, simulations=400, proofs=False)
    search.run(state)
    passed = 0
    for _ in range(12):
        position = search.state
        if position.is_terminal():
            break
        if position.is_chance():
            action, passed = position.chance_outcomes()[0][0], passed + 1
        else:
            result = search.run()
            assert result.simulations == 400
            action = result.best
        search.advance(action)
    assert passed > 0, "no chance was met"


# --- finished games in a forest ------------------------------------------------------------------


@pytest.mark.parametrize("proofs", [True, False])
def test_finished_games_wait_while_others_go_on(proofs):
    """Games of a forest end at different times; those that have are neither searched nor asked."""
    forest = Forest([TicTacToe([0, 3, 1, 4]), TicTacToe()], simulations=30, proofs=proofs)
    forest.run("uniform")
    forest.advance(0, 2)
    for leaves in forest:
        assert set(leaves.trees.tolist()) == {1}
        forest.update(*flat(leaves))
    assert forest.result(1).simulations == 30
    with pytest.raises(GameOver, match=r"tree 0.*finished"):
        forest.result(0)
    forest.plant(0, TicTacToe([4]))
    forest.run("uniform")
    assert forest.result(0).simulations == 30 and forest.result(0).tree.root.N == 31


@pytest.mark.parametrize("others", [0, 1])
def test_a_planted_tree_knows_nothing_of_the_old_one(others):
    """Alone in its memory, or beside another tree that stays."""
    config = SearchConfig(simulations=50, seed=1)
    forest = Forest([TicTacToe() for _ in range(1 + others)], config)
    forest.run("hash_random")
    kept = [found(forest.result(tree)) for tree in range(1, 1 + others)]
    forest.plant(0, TicTacToe([4]))
    assert [found(forest.result(tree)) for tree in range(1, 1 + others)] == kept
    forest.run("hash_random")
    fresh = Forest([TicTacToe([4])], config)
    fresh.run("hash_random")
    assert numbers(forest.result(0).tree.root) == numbers(fresh.result().tree.root)
    assert forest.result(0).nodes == fresh.result().nodes
    if not others:
        assert forest.result(0).bytes == fresh.result().bytes


def test_a_claimable_position_is_searched():
    """Below the root a third occurrence ends the game; at the root there are still moves."""
    repeated = Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8")
    assert repeated.is_terminal()
    search = Search("material", simulations=60)
    result = search.run(repeated)
    assert result.simulations == 60 and len(result.tree.root.edges) == 20
    assert str(result) and result.pv_labels and result.to_json()["best"]
    search.advance(result.best)
    assert not search.state.is_terminal() and search.run().simulations == 60
    assert repeated.is_terminal(), "the search has touched the game it was given"


def test_one_tree_may_end_before_the_others():
    forest = Forest([ConnectFour(), ConnectFour("4"), ConnectFour("44")], simulations=50)
    for batch, leaves in enumerate(forest):  # the roots, then a leaf of each tree
        forest.update(*skewed(leaves))
        if batch == 20:
            forest.end(1)
            assert [forest.ended(tree) for tree in range(3)] == [False, True, False]
    results = forest.results()
    assert [result.simulations for result in results] == [50, 20, 50]
    assert [result.stopped_by for result in results] == ["simulations", "stop", "simulations"]
