"""A tree that is put back: its search goes on as if it had never been interrupted."""

import copy
import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan import Search, SearchConfig
from sylvan._native import EdgeStats, NodeStats
from sylvan.errors import ConfigError, SearchStateError
from sylvan.games import Blob, Chess, ConnectFour, TicTacToe
from sylvan.planning import Forest, SearchResult, TreeView
from tests.planning.random_games import evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.test_equality import shapes


def nodes_of(tree):
    """All statistics of a tree, by path."""
    found, waiting = {}, [tree.root]
    while waiting:
        node = waiting.pop()
        edges = [(e.action, e.N, e.W, e.P, e.available, e.bounds) for e in node.edges]
        found[node.path] = (node.kind, node.seat, node.N, node.W, node.proven, edges)
        waiting += [edge.child for edge in node.edges if edge.child is not None]
    return found


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(), more=st.integers(0, 120))
def test_a_restored_tree_goes_on_as_the_original(shape, config, more):
    """Where nothing is random: also trees that were reduced, proven, or that pay rewards."""
    if config.selection == "gumbel" or config.rave:
        config = config.replace(selection="puct", rave=0.0)
    range_ = "game" if config.value_range == "tree" else config.value_range
    config = config.replace(
        noise=False,
        forced_playouts=0.0,
        c_deviation=0.0,  # the squares of values are not saved
        value_range=range_,
        leaves_in_flight=1,
        collisions=None,
    )
    game = make(dataclasses.replace(shape, chance=0.0))
    first = Search(evaluate_leaves, config)
    result = first.run(game)
    whole = nodes_of(result.tree)
    saved = copy.deepcopy(result.tree)  # reads the most visited thousand nodes: here all
    other = Forest([game], config)
    other.restore(0, saved)
    assert nodes_of(other.tree()) == whole
    assert (other.signature(), other.progress().nodes) == (first._forest.signature(), result.nodes)
    for forest in (first._forest, other):
        forest.limit(simulations=more, nodes=None, depth=None)
        forest.run(evaluate_leaves)
    assert nodes_of(other.tree()) == nodes_of(first.tree)
    assert other.result().best == first.result.best


@pytest.mark.parametrize(
    ("state", "evaluator"),
    [
        (Chess(moves="e4 e5 Nf3"), "material"),
        (Chess("4k3/8/4K3/8/8/8/8/R7 w - - 96 80"), "material"),  # near a draw by fifty moves
        (ConnectFour("44"), "uniform"),
        (TicTacToe([4]), "uniform"),
    ],
    ids=repr,
)
def test_a_file_goes_on_as_an_uninterrupted_search(state, evaluator, tmp_path):
    settings = SearchConfig(simulations=700, leaves_in_flight=1)
    uninterrupted = Search(evaluator, settings)
    result = uninterrupted.run(state)
    result.save(tmp_path / "a.sylvan", nodes=result.nodes)
    uninterrupted.run()
    read = SearchResult.load(tmp_path / "a.sylvan")
    again = Search(evaluator, read.config)
    resumed = again.resume(read)
    assert nodes_of(resumed.tree) == nodes_of(uninterrupted.tree)
    # The tree that was put back moves on with the game, too.
    for search in (uninterrupted, again):
        search.advance(resumed.best)
        if search._forest.state(0).is_terminal():
            return
        search.run()
    assert nodes_of(again.tree) == nodes_of(uninterrupted.tree)


def test_many_seats_chance_and_rewards_are_put_back(tmp_path):
    """The statistics are the same; what is drawn next is not."""

    @settings(suppress_health_check=list(HealthCheck))
    @given(shape=shapes())
    def check(shape):
        game = make(dataclasses.replace(shape, chance=0.4))
        config = SearchConfig(simulations=200, seed=3)
        search = Search(evaluate_leaves, config)
        result = search.run(game)
        forest = Forest([game], config)
        forest.restore(0, result.tree)
        assert nodes_of(forest.tree()) == nodes_of(result.tree)
        forest.run(evaluate_leaves)
        assert forest.tree().root.N >= result.tree.root.N

    check()


def test_chance_does_not_draw_the_same_outcomes_again():
    """Else the first outcomes would be counted twice, and the mean would be of fewer draws."""

    class Die(sylvan.Game):
        num_players, num_actions = 1, 100

        def __init__(self, rolled=None, chose=False):
            self.rolled, self.chose = rolled, chose

        def legal_actions(self):
            return [0]

        def is_chance(self):
            return self.chose and self.rolled is None

        def chance_outcomes(self):
            return [(i, 0.01) for i in range(100)]

        def apply(self, action):
            if self.chose:
                self.rolled = action
            self.chose = True

        def clone(self):
            return Die(self.rolled, self.chose)

        def to_play(self):
            return 0

        def is_terminal(self):
            return self.rolled is not None

        def returns(self):
            return [self.rolled / 99]

        def observation(self):
            import numpy as np

            return np.zeros(1, np.float32)

    search = Search("uniform", simulations=30, seed=1)
    result = search.run(Die())
    seen = {edge.action for edge in result.tree.root.edges[0].child.edges if edge.N}
    resumed = Search("uniform", simulations=30, seed=1).resume(result)
    after = {edge.action for edge in resumed.tree.root.edges[0].child.edges if edge.N}
    assert len(after) > len(seen) + 5


def test_a_part_of_a_tree_goes_on_too(tmp_path):
    """Nodes that the file leaves out are leaves with their visits."""
    search = Search("material", simulations=2000, leaves_in_flight=1)
    result = search.run(Chess())
    result.save(tmp_path / "a.sylvan", nodes=50)
    read = SearchResult.load(tmp_path / "a.sylvan")
    visits = {edge.action: edge.N for edge in result.tree.root.edges}
    resumed = Search("material", simulations=500, leaves_in_flight=1).resume(read)
    root = resumed.tree.root
    assert root.N == result.tree.root.N + 500
    assert all(edge.N >= visits[edge.action] for edge in root.edges)
    assert sum(edge.N for edge in root.edges) == root.N - 1


@pytest.mark.parametrize("changes", [{"selection": "gumbel"}, {"rave": 100.0}])
def test_settings_that_do_not_allow_it_get_a_sentence(changes):
    result = sylvan.search(TicTacToe(), evaluator="uniform", simulations=50)
    with pytest.raises(ConfigError, match="cannot go on"):
        Search("uniform", simulations=50, **changes).resume(result)


def test_hidden_cards_do_not_go_on():
    game = Blob(players=3, cards=2)
    result = Search("uniform", simulations=50).run(game.observe(game.to_play()))
    with pytest.raises(ConfigError, match="hidden"):
        Search("uniform", simulations=50).resume(result)


def test_a_tree_that_has_moved_on_gets_a_sentence():
    search = Search("uniform", simulations=50)
    result = search.run(TicTacToe())
    search.run()
    with pytest.raises(SearchStateError, match="moved on"):
        search.resume(result)


def damaged(**changes):
    """A small tree of tic-tac-toe with one thing wrong."""
    result = sylvan.search(TicTacToe(), evaluator="uniform", simulations=60)
    nodes = dict(copy.deepcopy(result.tree)._nodes)
    path = changes.pop("path", ())
    node = nodes[path]
    fields = {name: getattr(node, name) for name in ("kind", "seat", "N", "W", "proven", "edges")}
    if "edge" in changes:
        of = ("action", "N", "W", "P", "bounds", "available")
        first = {name: getattr(node.edges[0], name) for name in of} | changes.pop("edge")
        changes["edges"] = (EdgeStats(*first.values()), *node.edges[1:])
    nodes[path] = NodeStats(*(fields | changes).values())
    return TreeView.of_nodes(TicTacToe(), result.best, nodes)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "leaf"},
        {"kind": "terminal", "edges": ()},
        {"kind": "chance"},
        {"seat": 1},
        {"N": 3},
        {"N": 2**40},
        {"W": [0.0]},
        {"W": [float("nan"), 0.0]},
        {"path": (0,), "N": 1},
        {"path": (0,), "W": [float("inf"), 0.0]},
        {"path": (0,), "kind": "chance"},
        {"edge": {"action": 8}},
        {"edge": {"N": 10**6}},
        {"edge": {"P": float("nan")}},
        {"edge": {"P": -1.0}},
        {"edge": {"W": float("nan")}},
        {"edge": {"bounds": (0.5, 1.0)}},
        {"edge": {"bounds": (1.0, -1.0)}},
        {"edges": ()},
    ],
    ids=str,
)
def test_statistics_that_do_not_fit_get_a_sentence(changes):
    """And the forest has a new tree that can be searched."""
    forest = Forest([TicTacToe()], SearchConfig(simulations=40))
    with pytest.raises((SearchStateError, ValueError), match=r"fit|many|seat"):
        forest.restore(0, damaged(**changes))
    forest.run("uniform")
    assert forest.tree().root.N == 41


NUMBERS = [0, 1, 2, -1, 7, 250, 2**16, 2**31, 2**32 - 1, 0.5, -0.25, 1.0, 1e300, -1e-300]


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_statistics_make_a_tree_that_can_be_searched_or_a_sentence(data):
    """Whatever a file says, the core does not panic, and its tree passes through a search."""
    game = data.draw(st.sampled_from([TicTacToe(), ConnectFour("4453"), Chess(moves="f3 e5 g4")]))
    result = sylvan.search(game, evaluator="uniform", simulations=80)
    nodes = dict(copy.deepcopy(result.tree)._nodes)
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(sorted(nodes)))
        nodes[path] = spoilt(nodes[path], data.draw)
    forest = Forest([game], SearchConfig(simulations=60))
    try:
        forest.restore(0, TreeView.of_nodes(game, result.best, nodes))
    except (SearchStateError, ValueError, OverflowError):
        assert forest.tree().root.N == 0
    forest.run("uniform")
    root = forest.tree().root
    assert root.N > 0 and forest.progress().simulations <= 60


def spoilt(node, draw):
    """A node with one number of its own, or of an edge, replaced."""
    of_node = {name: getattr(node, name) for name in ("kind", "seat", "N", "W", "proven", "edges")}
    number = draw(st.sampled_from(NUMBERS))
    whole = abs(int(number)) if abs(number) < 2**40 else 3
    if node.edges and draw(st.booleans()):
        at = draw(st.integers(0, len(node.edges) - 1))
        of = ("action", "N", "W", "P", "bounds", "available")
        edge = {name: getattr(node.edges[at], name) for name in of}
        name = draw(st.sampled_from(of))
        values = {"W": float(number), "P": float(number), "bounds": (float(number), 1.0)}
        edge[name] = values.get(name, whole % 2**32)
        edges = [*node.edges[:at], EdgeStats(*edge.values()), *node.edges[at + 1 :]]
        of_node["edges"] = tuple(edges)
    else:
        name = draw(st.sampled_from(["kind", "seat", "N", "W", "proven", "edges"]))
        values = {
            "kind": draw(st.sampled_from(["leaf", "decision", "chance", "terminal"])),
            "seat": whole % 9,
            "N": whole,
            "W": [float(number)] * draw(st.integers(0, 3)),
            "proven": [float(number), -float(number)],
            "edges": node.edges[: len(node.edges) // 2],
        }
        of_node[name] = values[name]
    return NodeStats(*of_node.values())
