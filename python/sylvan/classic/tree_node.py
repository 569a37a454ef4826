"""What the nodes of all the documents share: prior, visits, a sum of values, children.

A node is built and counted by hand, or it shows a node of a tree that the core has grown. Then its
numbers are read from the core when they are asked for: a chess position has thirty untried moves
for every tried one, and most are never looked at. A number that is set by hand stays as it was set,
and the tree notes that it was changed, because the core knows nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

from sylvan.errors import ConfigError
from sylvan.planning import EdgeView, NodeView, SearchConfig, SearchResult, TreeView
from sylvan.reference.node import f32
from sylvan.reference.selection import puct_score

__all__ = ["Children", "CoreTree", "Statistic", "TreeNode", "puct", "puct_settings", "tempered"]

T = TypeVar("T")
K = TypeVar("K")
N = TypeVar("N", bound="TreeNode")
Path = tuple[int, ...]


class CoreTree:
    """A tree in the core, as it stands now. Nodes point to it, it points to no node."""

    def __init__(self, result: Callable[[], SearchResult]) -> None:
        """Read the tree of what `result` returns; its root has been evaluated."""
        self._result = result
        self._view: TreeView | None = None
        self._edges: dict[Path, dict[int, EdgeView]] = {}
        self.changed = False
        """Whether a number of a node was set by hand."""

    def refresh(self) -> None:
        """Read everything anew: the search has gone on."""
        self._view = None
        self._edges.clear()

    @property
    def view(self) -> TreeView:
        """The core's own view of the tree."""
        if self._view is None:
            self._view = self._result().tree
        return self._view

    def node(self, path: Path) -> NodeView | None:
        """The node after some actions; None where no simulation has been."""
        node: NodeView | None = self.view.root
        for depth, action in enumerate(path):
            edge = self.edges(path[:depth]).get(action)
            node = None if edge is None else edge.child
        return node

    def edges(self, path: Path) -> dict[int, EdgeView]:
        """The edges of the node after some actions, by action; none where it is no inner node."""
        if path not in self._edges:
            node = self.node(path)
            found = [] if node is None else node.edges
            self._edges[path] = {edge.action: edge for edge in found}
        return self._edges[path]

    def edge(self, path: Path) -> EdgeView:
        """The last edge of a path, which is not empty."""
        return self.edges(path[:-1])[path[-1]]

    def reached(self, path: Path) -> list[int]:
        """The actions that simulations took at the node after some actions."""
        return [action for action, edge in self.edges(path).items() if edge.N]


class Statistic(Generic[T]):
    """A number of a node: as it was set by hand, else as the core has it."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        """Let `read(node)` give the core's number."""
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
    """A position, with the numbers of the action that led there."""

    __slots__ = ("_prior", "_total", "_visits", "path", "tree")

    tree: CoreTree | None
    path: Path
    prior = Statistic[float](lambda node: node.tree.edge(node.path).P)
    visits = Statistic[int](lambda node: node.core_visits())
    total = Statistic[float](lambda node: node.core_total())

    def __init__(self, prior: float) -> None:
        """A node that was not visited."""
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
        """The core's sum of values, for the player whose sum the document means."""
        raise NotImplementedError

    @property
    def mean(self) -> float:
        """The mean value; 0 before the first visit."""
        return self.total / self.visits if self.visits else 0.0


class Children(Mapping[K, N]):
    """The children of a node in the core, in the order of their actions, made when asked for."""

    def __init__(self, tree: CoreTree, path: Path, kind: type[N], key: Callable[[int], K]) -> None:
        """Make nodes of a `kind`, by what `key` makes of the code of an action."""
        self._tree, self._path, self._kind, self._key = tree, path, kind, key
        self._made: dict[int, N] = {}
        self._codes: dict[K, int] = {}

    def _actions(self) -> dict[K, int]:
        """Codes by key; they stay the same once the node is expanded."""
        if not self._codes:
            edges = self._tree.edges(self._path)
            self._codes = {self._key(action): action for action in sorted(edges)}
        return self._codes

    def _node(self, action: int) -> N:
        if action not in self._made:
            node = self._made[action] = self._kind(0.0)
            node.show(self._tree, (*self._path, action))
        return self._made[action]

    def __getitem__(self, key: K) -> N:
        return self._node(self._actions()[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self._actions())

    def __len__(self) -> int:
        return len(self._actions())

    def reached(self) -> Iterator[tuple[int, N]]:
        """Actions that were taken, also by hand, and their nodes: few of many."""
        by_hand = [action for action, node in self._made.items() if node.visits]
        for action in sorted({*self._tree.reached(self._path), *by_hand}):
            yield action, self._node(action)


def puct(config: SearchConfig, q: float, prior: float, visits: int, parent_visits: int) -> float:
    """Score a child: Q + c * P * sqrt(parent N) / (1 + N), in the core's precision."""
    explore = f32(config.exploration(float(parent_visits)))
    return float(puct_score(f32(q), f32(prior), visits, explore))


@lru_cache(maxsize=16)
def puct_settings(c_puct: float) -> SearchConfig:
    """Settings with a constant of exploration."""
    return SearchConfig(c_puct=c_puct)


def tempered(weights: Mapping[K, float], temperature: float) -> dict[K, float]:
    """Shares of weights to the power of 1 / temperature; equal ones where no weight is above 0.

    Logarithms keep small temperatures from underflowing.

    >>> tempered({"a": 3, "b": 1}, 1.0), tempered({"a": 3, "b": 1}, 1e-300)
    ({'a': 0.75, 'b': 0.25}, {'a': 1.0, 'b': 0.0})
    """
    is_number = isinstance(temperature, int | float)  # callers may be untyped
    if not (is_number and 0 < temperature < math.inf):
        raise ConfigError(f"temperature is {temperature!r}: it must be a number from 0 on.")
    top = max(weights.values())
    if top == 0:
        return dict.fromkeys(weights, 1 / len(weights))
    powers = {
        key: math.exp(math.log(weight / top) / temperature) if weight else 0.0
        for key, weight in weights.items()
    }
    total = sum(powers.values())
    return {key: power / total for key, power in powers.items()}
