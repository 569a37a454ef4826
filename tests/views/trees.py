"""Test trees: dataclasses that fit the protocol of the views, grown by a small PUCT search.

The search has consistent counts and means, chance, proven ends, any number of seats. `RandomGame`
draws its rules from a seed.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hypothesis import strategies as st

Path = tuple[int, ...]


@dataclass
class Edge:
    action: int
    label: str
    P: float
    N: int = 0
    W: float = 0.0
    bounds: tuple[float, float] | None = None
    child: "Node | None" = None

    @property
    def Q(self) -> float:  # noqa: N802
        return self.W / self.N if self.N else math.nan


@dataclass
class Node:
    kind: str
    seat: int | None
    N: int
    values: tuple[float, ...]
    edges: list[Edge] = field(default_factory=list)
    proven: tuple[float, ...] | None = None


@dataclass
class Tree:
    root: Node


@dataclass
class Result:
    tree: Tree
    game: Any = None
    simulations: int = 0
    seconds: float = 0.5
    nodes: int = 1
    bytes: int = 123_456
    stopped_by: str = "simulations"
    evaluator: str = "Uniform"

    @property
    def line(self) -> list[Edge]:
        """Return the first edges from the root down, to the first unvisited one."""
        line, node = [], self.tree.root
        while node.edges and node.edges[0].N:
            line.append(node.edges[0])
            if node.edges[0].child is None:
                break
            node = node.edges[0].child
        return line

    @property
    def best(self) -> int:
        return self.tree.root.edges[0].action if self.tree.root.edges else -1

    @property
    def pv(self) -> list[int]:
        return [edge.action for edge in self.line]

    @property
    def pv_labels(self) -> list[str]:
        return [edge.label for edge in self.line]

    @property
    def values(self) -> tuple[float, ...]:
        return self.tree.root.values

    @property
    def value(self) -> float:
        return self.values[self.tree.root.seat or 0]


class Rules(Protocol):
    """A game for `grow`; a state is the path of actions that led to it."""

    seats: int

    def turn(self, path: Path) -> tuple[str, int | None]: ...
    def moves(self, path: Path) -> Sequence[tuple[int, str, float]]:
        """Action, label, and prior or probability."""

    def values(self, path: Path) -> tuple[float, ...]:
        """Per seat: exact at the end of a game, an estimate before."""


@dataclass
class RandomGame:
    """Random rules from `seed`, with at most `width` moves and `length` actions."""

    seed: int = 0
    seats: int = 2
    width: int = 6
    length: int = 12
    chance: float = 0.0
    ends: float = 0.1
    letters: Sequence[str] = tuple("abcdefgh")

    def _random(self, path: Path, use: str) -> random.Random:
        return random.Random(f"{self.seed} {path} {use}")

    def turn(self, path: Path) -> tuple[str, int | None]:
        r = self._random(path, "turn")
        if path and (len(path) >= self.length or r.random() < self.ends):
            return "terminal", None
        if path and r.random() < self.chance:
            return "chance", None
        return "decision", len(path) % self.seats

    def moves(self, path: Path) -> list[tuple[int, str, float]]:
        r = self._random(path, "moves")
        n = r.randint(1, self.width)
        weights = [r.gammavariate(0.6, 1.0) + 1e-6 for _ in range(n)]
        return [
            (a, f"{r.choice(self.letters)}{r.randint(1, 8)}", w / sum(weights))
            for a, w in enumerate(weights)
        ]

    def values(self, path: Path) -> tuple[float, ...]:
        r = self._random(path, "values")
        if self.turn(path)[0] == "terminal":
            first = r.choice((-1.0, 0.0, 1.0))
        else:
            first = math.tanh(sum(self._random(path[:i], "drift").gauss(0, 0.3) for i in range(9)))
        if self.seats == 2:
            return first, -first
        return tuple(first if s == 0 else r.uniform(-1, 1) for s in range(self.seats))


def grow(rules: Rules, simulations: int, *, c_puct: float = 1.5) -> Node:
    """Grow a tree; the root's evaluation is not counted in `simulations`."""
    root = _new_node(rules, ())
    for _ in range(simulations):
        node, taken = root, []
        path: Path = ()
        while node.kind in ("decision", "chance"):
            edge = _select(node, c_puct)
            path = (*path, edge.action)
            taken.append((node, edge))
            if edge.child is None:
                edge.child = _new_node(rules, path)
                edge.child.N = 0
                break
            node = edge.child
        _backup(taken, rules.values(path))
    _sort_and_prove(root)
    return root


def _new_node(rules: Rules, path: Path) -> Node:
    kind, seat = rules.turn(path)
    moves = () if kind == "terminal" else rules.moves(path)
    values = rules.values(path)
    proven = values if kind == "terminal" else None
    return Node(kind, seat, 1, values, [Edge(a, label, p) for a, label, p in moves], proven)


def _select(node: Node, c_puct: float) -> Edge:
    if node.kind == "chance":
        return max(node.edges, key=lambda e: e.P / (1 + e.N))
    root = math.sqrt(node.N)
    seat = node.seat or 0
    fpu = node.values[seat] - 0.2
    return max(
        node.edges,
        key=lambda e: (e.Q if e.N else fpu) + c_puct * e.P * root / (1 + e.N),
    )


def _backup(taken: list[tuple[Node, Edge]], values: tuple[float, ...]) -> None:
    for node in [*(n for n, _ in taken), taken[-1][1].child]:
        assert node is not None
        means = (m + (v - m) / (node.N + 1) for m, v in zip(node.values, values, strict=True))
        node.values = tuple(means)
        node.N += 1
    for node, edge in taken:
        edge.N += 1
        edge.W += values[node.seat or 0]


def _sort_and_prove(node: Node) -> None:
    node.edges.sort(key=lambda e: (-e.N, -e.P, e.action))
    for edge in node.edges:
        if edge.child is not None:
            _sort_and_prove(edge.child)
    if node.kind != "decision" or node.seat is None:
        return
    seat = node.seat
    ends = [e.child.proven if e.child else None for e in node.edges]
    for edge, end in zip(node.edges, ends, strict=True):
        edge.bounds = None if end is None else (end[seat], end[seat])
    known = [end for end in ends if end is not None]
    if known and (len(known) == len(ends) or max(end[seat] for end in known) == 1.0):
        node.proven = max(known, key=lambda end: end[seat])


def result_of(rules: Rules, simulations: int, game: Any = None) -> Result:
    root = grow(rules, simulations)
    return Result(Tree(root), game, simulations=simulations, nodes=simulations + 1)


TURNS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that change the reading direction."""

_TROUBLE = f"{TURNS}\0\t\n\r\x1b\x7f\x85\u2028\ud800\ufffe\uffff\U0001ffff\\\"'<>&;#%[]{{}}|"
# Not `st.text`: it would draw the troublesome characters too rarely.
texts = st.lists(st.characters() | st.sampled_from(_TROUBLE), max_size=30).map("".join)
"""Labels with many characters that are special in terminals, XML and Graphviz."""

games = st.builds(
    RandomGame,
    seed=st.integers(0, 10**6),
    seats=st.integers(1, 4),
    width=st.integers(1, 9),
    length=st.integers(1, 12),
    chance=st.sampled_from([0.0, 0.3]),
    ends=st.sampled_from([0.0, 0.1, 0.5]),
    letters=st.lists(texts, min_size=1, max_size=5),
)
"""Random rules with such labels."""

results = st.builds(result_of, games, st.integers(0, 120))
"""Results of searches with 0 to 120 simulations."""
