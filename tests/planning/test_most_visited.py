"""The most visited nodes in one call are those of a reading node by node."""

import numpy as np
import pytest

from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.games.blob import Blob
from sylvan.planning import Forest
from sylvan.planning.most_visited import KINDS, MostVisited
from sylvan.planning.tree import TreeView
from tests.planning import random_games

LIMIT = 300


def read(tree: TreeView, *asked):
    """Without the native call."""
    return MostVisited.of(
        TreeView(tree.read, tree.game, tree.is_current, tree.line, tree.best), *asked
    )


def same(one: MostVisited, other: MostVisited) -> bool:
    return all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype == float)
        for a, b in zip(one, other, strict=True)
    )


GAMES = {
    "chess": (Chess(), {}),
    "a root with noise": (Chess(), {"noise": True, "seed": 3}),
    "proven values": (TicTacToe([0, 3, 1]), {}),
    "positions that several lines reach": (ConnectFour(), {"transpositions": True}),
    "repetitions": (Chess("7k/8/8/8/8/8/8/K5R1 w - - 20 100"), {"transpositions": True}),
    "chance, rewards and three seats": (
        random_games.make(random_games.Shape(4, 3, zero_sum=False, rewards=True, chance=0.3)),
        {"discount": 0.9},
    ),
    "hidden cards": (Blob(players=3, cards=2, seed=1).observe(1), {}),
    "sums over deals": (Blob(players=3, cards=2, seed=1).observe(1), {"hidden": "determinised"}),
}


@pytest.mark.parametrize(("root", "settings"), GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("most", [0, 1, 7, 5000])
def test_one_call_gives_what_a_reading_node_by_node_gives(root, settings, most):
    forest = Forest([root], simulations=600, **settings)
    forest.run("rollout")
    tree = forest.tree()
    first = [edge.action for edge in tree.root.edges if edge.N]
    deep = tuple(tree.line_after(()))[:3]
    for wanted in ([], [()], [(first[-1],), deep], [(10**6, 1)]):
        asked = 0, most, LIMIT, wanted
        found = MostVisited.of(tree, *asked)
        assert same(found, read(tree, *asked))
        assert len(found.N) <= LIMIT and (len(found.N) > 0) == (most > 0)


def test_the_rows_are_those_of_the_tree():
    forest = Forest([ConnectFour()], simulations=400)
    forest.run("uniform")
    tree = forest.tree()
    found = MostVisited.of(tree, 0, 5000, 5000)
    assert len(found.N) == forest.progress().nodes and not found.missing.any()
    paths = []
    for parent, action in zip(found.parents, found.actions, strict=True):
        paths.append(() if parent < 0 else (*paths[parent], int(action)))
    for row, path in enumerate(paths):
        node = tree.read(path)
        assert (found.N[row], KINDS[found.kinds[row]]) == (node.N, node.kind)
        assert found.values[row] == node.W[0] / node.N
