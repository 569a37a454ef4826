"""Nodes that read the core's tree: the base of the nodes of `muzero-chess` and `node-edge-chess`.

A node is made and counted by hand, or it shows a node of a tree in the core. Then its numbers are
read from the core when they are needed: a chess position has thirty unvisited moves for every
visited one, and most are never looked at. A number that is set by hand keeps that value, and the
tree notes the change, because the core does not know it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from sylvan.planning import EdgeView, NodeView, SearchResult, TreeView

__all__ = ["CoreTree", "Path", "Statistic", "TreeNode"]

T = TypeVar("T")
Path = tuple[int, ...]
"""The actions from the root to a node."""


class CoreTree:
    """A tree in the core, as it stands now. Nodes point to it, and it points to no node."""

    def __init__(self, result: Callable[[], SearchResult]) -> None:
        """Read the tree of what `result` returns; its root is evaluated."""
        self._result = result
        self._view: TreeView | None = None
        self._edges: dict[Path, dict[int, EdgeView]] = {}
        self.changed = False
        """Whether a number of a node was set by hand."""

    def refresh(self) -> None:
        """Forget what was read: the search has gone on."""
        self._view = None
        self._edges.clear()

    @property
    def view(self) -> TreeView:
        """The core's own view of the tree."""
        if self._view is None:
            self._view = self._result().tree
        return self._view

    def node(self, path: Path) -> NodeView | None:
        """The node at a path; None if no simulation reached it."""
        node: NodeView | None = self.view.root
        for depth, action in enumerate(path):
            edge = self.edges(path[:depth]).get(action)
            node = None if edge is None else edge.child
        return node

    def edges(self, path: Path) -> dict[int, EdgeView]:
        """The edges of the node at a path, by action; empty if it has none."""
        if path not in self._edges:
            node = self.node(path)
            found = [] if node is None else node.edges
            self._edges[path] = {edge.action: edge for edge in found}
        return self._edges[path]

    def edge(self, path: Path) -> EdgeView:
        """The last edge of a path, which is not empty."""
        return self.edges(path[:-1])[path[-1]]


class Statistic(Generic[T]):
    """A number of a node: the value set by hand, or else the core's."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        """Let `read(node)` return the core's number."""
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self.__dict__.get("_name", f"_{name}")  # an alias keeps the first name

    @overload
    def __get__(self, node: None, owner: type) -> Statistic[T]: ...
    @overload
    def __get__(self, node: TreeNode, owner: type) -> T: ...
    def __get__(self, node: TreeNode | None, owner: type) -> Statistic[T] | T:
        if node is None:
            return self
        own: T = getattr(node, self._name)
        return self._read(node) if own is None and node.tree is not None else own

    def __set__(self, node: TreeNode, value: T) -> None:
        setattr(node, self._name, value)
        if node.tree is not None:
            node.tree.changed = True


class TreeNode:
    """A position or a move, with prior, visits and sum of values."""

    __slots__ = ("_prior", "_total", "_visits", "path", "tree")

    tree: CoreTree | None
    path: Path
    prior = Statistic[float](lambda node: node.tree.edge(node.path).P)
    visits = Statistic[int](lambda node: node.core_visits())
    total = Statistic[float](lambda node: node.core_total())

    def __init__(self, prior: float) -> None:
        """Create an unvisited node."""
        self._prior: float | None = prior
        self._visits: int | None = 0
        self._total: float | None = 0.0
        self.tree, self.path = None, ()

    def show(self, tree: CoreTree, path: Path) -> None:
        """Show a node of the core from now on; a root keeps its prior."""
        self._visits = self._total = None
        self._prior = None if path else self._prior
        self.tree, self.path = tree, path

    def core_visits(self) -> int:
        """The core's count of visits."""
        assert self.tree is not None
        node = self.tree.node(self.path)
        return 0 if node is None else node.N

    def core_total(self) -> float:
        """The core's sum of values, for the player that the document means."""
        raise NotImplementedError

    @property
    def mean(self) -> float:
        """The mean value; 0 before the first visit."""
        return self.total / self.visits if self.visits else 0.0
