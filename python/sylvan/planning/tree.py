"""Read a search tree lazily: nodes and edges are copied from the core on first use.

Statistics have the papers' names: `N` visits, `W` sum of values, `Q = W / N`, `P` prior; those of
an edge are for the seat that chooses there.

Nodes that were read stay readable when the search continues: `TreeView` keeps their statistics.
`NodeView` and `EdgeView` refer to it, never the other way round, so that no reference cycle keeps a
tree's memory alive.

A pickle or a deep copy has the most visited nodes, and those that were read. In it, an edge to a
node that is left out has no child.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never

from numpy.typing import NDArray

from sylvan.errors import SearchStateError

if TYPE_CHECKING:
    from sylvan._native import EdgeStats, NodeStats
    from sylvan.games import Game

__all__ = ["EdgeView", "NodeView", "TreeView", "label"]

COPIED = 1000
"""Nodes of a tree that a copy has, at least if there are so many."""


def label(state: Game, action: int) -> str:
    """An action in the game's notation; in chess SAN."""
    san = getattr(state, "san", None)
    text = san(action) if san is not None else state.action_to_string(action)
    return str(text)


@dataclass(frozen=True)
class TreeView:
    """A tree at one moment of its search."""

    read: Callable[[tuple[int, ...]], NodeStats | None]
    """The statistics of the node after a path of actions; None if the tree does not have it."""
    game: Game
    is_current: Callable[[], bool]
    """Whether the tree has not changed since."""
    line: Callable[[tuple[int, ...]], list[int]]
    """The expected actions after a path."""
    best: int | None = None
    """The root's best action; None if the root is not evaluated."""
    most_visited: Callable[[int, int, int, list[list[int]]], tuple[NDArray[Any], ...]] | None = None
    """`MostVisited.of` in one call; None: it reads node by node."""
    is_copy: bool = False
    """Whether it has only the nodes that were read before it was copied."""
    _nodes: dict[tuple[int, ...], NodeStats] = field(
        default_factory=dict, repr=False, compare=False
    )
    _lines: dict[tuple[int, ...], list[int]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of_nodes(
        cls, game: Game, best: int | None, nodes: dict[tuple[int, ...], NodeStats]
    ) -> TreeView:
        """A copy of a tree that has these nodes."""
        return _copied(game, best, nodes)

    @property
    def root(self) -> NodeView:
        """The node of the position that was searched."""
        return NodeView(self, ())

    def node_after(self, path: tuple[int, ...]) -> NodeStats:
        """The statistics of the node after a path; read once.

        :raises SearchStateError: the tree has changed before, or does not have the node.
        """
        if path not in self._nodes:
            self._need_current()
            node = self.read(path)
            if node is None:
                raise SearchStateError(f"The tree has no node after the actions {list(path)}.")
            self._nodes[path] = node
        return self._nodes[path]

    def line_after(self, path: tuple[int, ...]) -> list[int]:
        """The expected actions after a path; read once.

        :raises SearchStateError: the tree has changed before.
        """
        if self.is_copy:
            return self._best_line(path)
        if path not in self._lines:
            self._need_current()
            self._lines[path] = self.line(path)
        return self._lines[path]

    def find(self, path: tuple[int, ...]) -> NodeView | None:
        """The node after a path; None if the tree does not have it."""
        if path not in self._nodes and not self.is_copy:
            self._need_current()
            node = self.read(path)
            if node is not None:
                self._nodes[path] = node
        return NodeView(self, path) if path in self._nodes else None

    def known(self, path: tuple[int, ...]) -> NodeStats | None:
        """The statistics of a node that was read before."""
        return self._nodes.get(path)

    def has(self, path: tuple[int, ...]) -> bool:
        """Whether a visited node can be read; a copy has only some."""
        return not self.is_copy or path in self._nodes

    def all_nodes(self) -> list[tuple[int | None, int, NodeStats]]:
        """All nodes, parents first: the number of the parent (None at the root), the action that
        leads here, the statistics.

        :raises SearchStateError: the tree has changed.
        """
        found: list[tuple[int | None, int, NodeStats]] = []
        waiting: list[tuple[int | None, tuple[int, ...]]] = [(None, ())]
        while waiting:
            parent, path = waiting.pop()
            if not self.has(path):
                continue
            node, number = self.node_after(path), len(found)
            found.append((parent, path[-1] if path else 0, node))
            waiting += [(number, (*path, edge.action)) for edge in node.edges if edge.N]
        return found

    def top(self) -> TreeView:
        """A copy with the most visited nodes, and those that were read."""
        if self.is_current() and not self.is_copy:
            self._read_top()
        return _copied(self.game, self.best, dict(self._nodes))

    def __reduce__(self) -> tuple[object, ...]:
        copy = self.top()
        return _copied, (copy.game, copy.best, copy._nodes)

    def _read_top(self) -> None:
        """Read the most visited nodes."""
        waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for _ in range(COPIED):
            if not waiting:
                return
            node = NodeView(self, heapq.heappop(waiting)[1])
            for edge in node.edges:
                if edge.N:
                    heapq.heappush(waiting, (-edge.N, (*node.path, edge.action)))

    def __repr__(self) -> str:
        root = self.root
        best = "" if self.best is None else f" best={label(self.game, self.best)}"
        return f"<tree N={root.N}{best} edges={len(root.edges)}>"

    def _need_current(self) -> None:
        if not self.is_current():
            raise SearchStateError(
                "The search has moved on, and this part of its tree was never read: "
                "read or save a tree before advancing or searching again."
            )

    def _best_line(self, path: tuple[int, ...]) -> list[int]:
        """Follow the best edges of a copy."""
        line: list[int] = []
        node: NodeView | None = NodeView(self, path)
        while node is not None and node.edges and node.edges[0].N:
            line.append(node.edges[0].action)
            node = node.edges[0].child
        return line


def _copied(game: Game, best: int | None, nodes: dict[tuple[int, ...], NodeStats]) -> TreeView:
    """Make the copy of a tree from the nodes that it has."""

    def unread(_: tuple[int, ...]) -> Never:
        raise SearchStateError("This copy of a tree does not have the node: copy a smaller tree.")

    return TreeView(unread, game, lambda: True, unread, best, None, True, nodes)


class NodeView:
    """A node of a tree."""

    def __init__(self, tree: TreeView, path: tuple[int, ...]) -> None:
        """The node after `path`, the actions from the root."""
        self._tree = tree
        self.path = path

    @cached_property
    def _stats(self) -> NodeStats:
        return self._tree.node_after(self.path)

    @cached_property
    def state(self) -> Game:
        """A copy of the position of this node."""
        state = self._tree.game.clone()
        for action in self.path:
            state.apply(action)
        return state

    @property
    def kind(self) -> str:
        """`decision`, `chance`, `terminal`, or `leaf` if it has no edges yet."""
        return self._stats.kind

    @property
    def seat(self) -> int | None:
        """The seat that chooses here; None if the node is not a decision."""
        return self._stats.seat if self.kind == "decision" else None

    @property
    def shared(self) -> int | None:
        """With transpositions: the number of the position, if several edges lead to it."""
        return self._stats.shared

    @property
    def N(self) -> int:
        """Visits."""
        return self._stats.N

    @property
    def W(self) -> tuple[float, ...]:
        """Sum of values per seat."""
        return tuple(self._stats.W)

    @property
    def values(self) -> tuple[float, ...]:
        """Value per seat: the proven one if there is one, else the mean."""
        if self.proven is not None:
            return self.proven
        return tuple(w / self.N if self.N else math.nan for w in self.W)

    @property
    def proven(self) -> tuple[float, ...] | None:
        """The exact value per seat, if it is proven."""
        proven = self._stats.proven
        return None if proven is None else tuple(proven)

    @property
    def edges(self) -> list[EdgeView]:
        """All legal actions, best first: at the root `SearchResult.best`, then by falling `N` and
        `P`, then by action. Actions that a proof rules out come last.
        """
        edges = [EdgeView(self, stats) for stats in self._stats.edges]
        best, worse = self._tree.best if not self.path else None, self._ruled_out(edges)

        def key(edge: EdgeView) -> tuple[float, ...]:
            is_worse = edge.action in worse
            return edge.action != best, is_worse, -edge.N, -edge.P, edge.action

        return sorted(edges, key=key)

    def _ruled_out(self, edges: list[EdgeView]) -> set[int]:
        """The actions that are proven worse than another, or lost; empty if all are."""
        lows = [edge.bounds[0] for edge in edges if edge.bounds]
        if self.seat is None or not lows:
            return set()
        surely = self.proven[self.seat] if self.proven else max(lows)
        lowest = self._tree.game.value_range[0]
        worse = {
            edge.action
            for edge in edges
            if edge.bounds and (edge.bounds[1] < surely or edge.bounds[1] <= lowest)
        }
        if self.proven:  # an unproven action does not achieve the proven value
            worse |= {edge.action for edge in edges if not edge.bounds or edge.bounds[0] < surely}
        return worse if len(worse) < len(edges) else set()

    @property
    def line(self) -> list[int]:
        """The expected actions from here on.

        After a proven win or loss, the winner takes the shortest way to the end of the game and the
        loser the longest.
        """
        return self._tree.line_after(self.path)

    def edge(self, action: int | str) -> EdgeView:
        """The edge of an action, given by its code or as people write it: `edge("e4")`."""
        if isinstance(action, str):
            action = self.state.string_to_action(action)
        for edge in self.edges:
            if edge.action == action:
                return edge
        raise SearchStateError(f"Action {action} is not among the {len(self.edges)} edges here.")

    def __repr__(self) -> str:
        return f"<node {self.kind} N={self.N} values={self.values} edges={len(self.edges)}>"


class EdgeView:
    """An edge of a tree: an action with its statistics."""

    def __init__(self, node: NodeView, stats: EdgeStats) -> None:
        """An edge of `node`."""
        self.node = node
        """The node that the edge leaves."""
        self.action = stats.action
        """The game's code of the action."""
        self.N = stats.N
        """Visits."""
        self.W = stats.W
        """Sum of values for the seat that chooses."""
        self.P = stats.P
        """Prior, with the root's noise; at a chance node the probability."""
        self.available = stats.available
        """Visits of the node at which the action was legal; with hidden information it may be legal
        in some deals only."""
        low, high = stats.bounds
        known = low > -math.inf or high < math.inf
        self.bounds: tuple[float, float] | None = (low, high) if known else None
        """Proven bounds of the result; None if nothing is proven."""

    @property
    def Q(self) -> float:
        """Mean value for the seat that chooses; NaN before the first visit."""
        return self.W / self.N if self.N else math.nan

    @property
    def proven(self) -> float | None:
        """The exact value for the seat that chooses, if it is proven."""
        return self.bounds[0] if self.bounds and self.bounds[0] == self.bounds[1] else None

    @cached_property
    def label(self) -> str:
        """The action in the game's notation."""
        return label(self.node.state, self.action)

    @cached_property
    def child(self) -> NodeView | None:
        """The node behind the edge; None before the first visit, or if a copy leaves it out."""
        tree, path = self.node._tree, (*self.node.path, self.action)
        return NodeView(tree, path) if self.N and tree.has(path) else None

    @property
    def line(self) -> list[int]:
        """This action and the expected ones after it."""
        return [self.action] if self.child is None else [self.action, *self.child.line]

    def __repr__(self) -> str:
        return f"<edge {self.label} N={self.N} Q={self.Q:.3f} P={self.P:.3f}>"
