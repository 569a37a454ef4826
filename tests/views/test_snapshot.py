"""Snapshots: bounds hold, children left out are counted, and files round-trip."""

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.views import load_json, save_json, snapshot
from sylvan.views import protocol as p
from sylvan.views.schema import Row, Snapshot, validate
from tests.views.trees import Edge, Node, RandomGame, Result, Tree, grow, result_of, results

limits = st.fixed_dictionaries(
    {
        "depth": st.none() | st.integers(0, 6),
        "nodes": st.none() | st.integers(1, 60),
        "visits": st.none() | st.integers(0, 9),
    }
)


def edges_below(node: p.Node) -> int:
    return sum(1 + (edges_below(e.child) if e.child is not None else 0) for e in node.edges)


def walk(taken: Snapshot, root: p.Node) -> list[tuple[Row, p.Node | None, p.Edge | None]]:
    """Return each row with its node and edge in the tree."""
    found: list[tuple[Row, p.Node | None, p.Edge | None]] = [(taken["nodes"][0], root, None)]
    for row in taken["nodes"][1:]:
        assert row["parent"] is not None
        parent = found[row["parent"]][1]
        assert parent is not None
        (edge,) = [e for e in parent.edges if e.action == row["action"]]
        found.append((row, edge.child, edge))
    return found


@given(results)
def test_without_bounds_every_edge_is_there(result):
    taken = snapshot(result)
    assert len(taken["nodes"]) == 1 + edges_below(result.tree.root)
    assert not any(row["left_out"] or row["left_out_N"] for row in taken["nodes"])


@given(results, limits)
def test_rows_equal_the_tree(result, limits):
    taken = snapshot(result, **limits)
    for row, node, edge in walk(taken, result.tree.root):
        if edge is not None:
            assert (row["label"], row["N"], row["P"]) == (edge.label, edge.N, edge.P)
            assert row["Q"] == (edge.Q if edge.N else None)
        if node is None:
            assert row["kind"] == "unvisited"
            assert row["values"] is None
        else:
            assert (row["kind"], row["seat"]) == (node.kind, node.seat)
            assert row["values"] == list(node.values)
            assert row["proven"] == (None if node.proven is None else list(node.proven))


@given(results, limits)
def test_bounds_hold_and_the_rest_is_counted(result, limits):
    taken = snapshot(result, **limits)
    rows = taken["nodes"]
    assert len(rows) <= (limits["nodes"] or math.inf)
    assert all(
        row["depth"] <= (math.inf if limits["depth"] is None else limits["depth"]) for row in rows
    )
    assert all(row["N"] >= (limits["visits"] or 0) for row in rows[1:])
    for row, node, _ in walk(taken, result.tree.root):
        kept = [child for child in rows if child["parent"] == row["id"]]
        edges = node.edges if node is not None else []
        assert row["left_out"] == len(edges) - len(kept)
        assert row["left_out_N"] == sum(e.N for e in edges) - sum(child["N"] for child in kept)
        actions = [child["action"] for child in kept]
        assert actions == [e.action for e in edges if e.action in actions]


@given(results, st.integers(1, 40))
def test_the_most_visited_come_first(result, nodes):
    """No left-out child of a kept parent has more visits than a kept node."""
    taken = snapshot(result, nodes=nodes)
    fewest = min((row["N"] for row in taken["nodes"][1:] if not row["pv"]), default=math.inf)
    for row, node, _ in walk(taken, result.tree.root):
        kept = {child["action"] for child in taken["nodes"] if child["parent"] == row["id"]}
        left_out = [e.N for e in node.edges if e.action not in kept] if node is not None else []
        assert max(left_out, default=0) <= fewest


@given(results, limits)
def test_it_is_json_in_preorder_and_always_the_same(result, limits):
    taken = snapshot(result, **limits)
    assert validate(json.loads(json.dumps(taken, allow_nan=False))) == taken
    assert snapshot(result, **limits) == taken
    path: list[int] = []  # the previous row and its ancestors
    for row in taken["nodes"]:
        path = path[: row["depth"]]
        assert row["parent"] == (path[-1] if path else None)
        path.append(row["id"])


def leaf(n: int, *values: float, proven: bool = False) -> Node:
    return Node(
        "terminal" if proven else "leaf", None, n, values, proven=values if proven else None
    )


def proven_against_visits() -> Result:
    """Make a result: the chosen move has 2 visits and is proven won, 20 others have more."""
    edges = [Edge(a, f"m{a}", 0.04, 50, 5.0, child=leaf(50, 0.1, -0.1)) for a in range(20)]
    win = Edge(20, "win", 0.01, 2, 2.0, (1.0, 1.0), leaf(2, 1.0, -1.0, proven=True))
    edges.insert(0, win)

    @dataclass
    class Chosen(Result):
        @property
        def best(self) -> int:
            return 20

        @property
        def line(self) -> list[Edge]:
            return [win]

    root = Node("decision", 0, 1003, (0.1, -0.1), edges, (1.0, -1.0))
    return Chosen(Tree(root), simulations=1002)


def test_the_principal_variation_is_kept_first():
    taken = snapshot(proven_against_visits(), nodes=3)
    assert [(row["label"], row["pv"]) for row in taken["nodes"]] == [
        (None, True),
        ("win", True),
        ("m0", False),
    ]


def test_the_line_of_a_root_is_the_most_visited_one():
    root = grow(RandomGame(seed=4), 200)
    taken = snapshot(root)
    line, node = [], root
    while node.edges and node.edges[0].N and node.edges[0].child is not None:
        line.append(node.edges[0].label)
        node = node.edges[0].child
    assert [row["label"] for row in taken["nodes"] if row["pv"]] == [None, *line]


def test_a_dropped_subtree_keeps_its_numbers():
    root = Node("decision", 0, 9, (0.5,), [Edge(3, "x", 1.0, 8, 4.0, child=None)])
    row = snapshot(root)["nodes"][1]
    assert (row["kind"], row["N"], row["Q"], row["values"]) == ("dropped", 8, 0.5, None)


def test_numbers_without_a_value_become_null():
    edge = Edge(0, "x", math.nan, 1, math.inf, (-math.inf, 2.0), leaf(1, math.nan, 0.0))
    row = snapshot(Node("decision", 0, 2, (0.0, 0.0), [edge]))["nodes"][1]
    assert (row["P"], row["W"], row["Q"]) == (None, None, None)
    assert (row["bounds"], row["values"]) == ([None, 2.0], [None, 0.0])


def test_the_value_range_comes_from_the_game():
    class Game:
        value_range = (0, 200)

    assert snapshot(result_of(RandomGame(), 5, Game()))["value_range"] == [0.0, 200.0]
    assert snapshot(result_of(RandomGame(), 5))["value_range"] is None


@dataclass
class Endless:
    """A node of an infinite tree; children are created on access."""

    N: int = 1000
    values: tuple[float, ...] = (0.0, 0.0)
    seat: int | None = 0
    kind: str = "decision"
    proven: None = None

    @property
    def edges(self) -> list[p.Edge]:
        return [Edge(a, str(a), 0.5, 10, 0.0, child=Endless()) for a in range(2)]  # type: ignore[arg-type]


def test_only_needed_nodes_are_read():
    @dataclass
    class Found:
        tree: Any
        pv: tuple[int, ...] = (0, 1)
        game: Any = None

    taken = snapshot(Found(Tree(Endless())), nodes=25)  # type: ignore[arg-type]
    assert len(taken["nodes"]) == 25


def test_a_line_of_5000_actions_is_saved_and_read(tmp_path):
    node = leaf(1, 0.0)
    for n in range(2, 5002):
        node = Node("decision", 0, n, (0.0,), [Edge(0, "on", 1.0, n - 1, 0.0, child=node)])
    taken = snapshot(node)
    save_json(taken, tmp_path / "long.json")
    assert load_json(tmp_path / "long.json") == taken
    assert taken["nodes"][-1]["depth"] == 5000


@pytest.mark.parametrize("bad", [{"depth": -1}, {"nodes": 0}, {"visits": -5}, {"nodes": 2.5}])
def test_an_invalid_bound_is_refused(bad):
    (name,) = bad
    with pytest.raises(ConfigError, match=f"{name}="):
        snapshot(grow(RandomGame(), 3), **bad)
