"""The interface that the views read: statistics of a tree and of its search.

These are protocols: the classes of `sylvan.planning` fit them without importing this module. Names
and units are those of the papers:

- `N` visits; `W` sum and `Q = W / N` mean of the returns of *the seat that chooses* at the node
  the edge leaves (`nan` before the first visit); `P` the prior, or the probability of an outcome.
- `values` holds one mean return per seat; `proven` one exact return per seat, or `None`.
"""

# ruff: noqa: N802

from collections.abc import Sequence
from typing import Protocol


class Node(Protocol):
    """A position that the search has visited."""

    @property
    def N(self) -> int: ...
    @property
    def values(self) -> Sequence[float]: ...
    @property
    def seat(self) -> int | None:
        """The seat to move; `None` if chance moves or the game is over."""

    @property
    def kind(self) -> str:
        """`decision`, `chance`, `terminal`, or `leaf`: not expanded, so its edges are unknown."""

    @property
    def proven(self) -> Sequence[float] | None: ...
    @property
    def edges(self) -> "Sequence[Edge]":
        """All legal actions, unvisited included, best first."""


class Edge(Protocol):
    """An action at a node."""

    @property
    def action(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def N(self) -> int: ...
    @property
    def W(self) -> float: ...
    @property
    def Q(self) -> float: ...
    @property
    def P(self) -> float: ...
    @property
    def bounds(self) -> tuple[float, float] | None:
        """Proven lower and upper bound of `Q`; `None`: nothing is proven."""

    @property
    def child(self) -> Node | None:
        """`None` before the first visit, and if the subtree was freed to save memory."""


class Tree(Protocol):
    """A tree, given by its root."""

    @property
    def root(self) -> Node: ...


class Result(Protocol):
    """The result and the cost of a search."""

    @property
    def game(self) -> object:
        """The state at the root. Used if it has them: `value_range`, `seat_name(seat)`,
        `pawns(value)`, `board()`, `_repr_svg_()`.
        """

    @property
    def tree(self) -> Tree: ...
    @property
    def best(self) -> int: ...
    @property
    def pv(self) -> Sequence[int]: ...
    @property
    def pv_labels(self) -> Sequence[str]: ...
    @property
    def value(self) -> float: ...
    @property
    def values(self) -> Sequence[float]: ...
    @property
    def simulations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def stopped_by(self) -> str: ...
    @property
    def evaluator(self) -> str: ...
