"""A node of the tree. It also stores the edge into it: N, W and P are the edge's statistics.

With transpositions, several edges may lead to one position (`graph`): then `shared` is its node,
and N, W and `in_flight` of the edge are the edge's alone. `at` is the position behind any edge.

Arithmetic is part of the specification. Sums are doubles; Q, P, P / (1 + n) and scores are single
precision (`f32`), each rounded once where it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np

f32 = np.float32
ZERO, ONE, TINY = f32(0), f32(1), np.finfo(f32).tiny  # the smallest stored prior


def total(xs: Iterable[float]) -> float:
    """Sum in order, rounding at each step; `sum` of Python 3.12 and later rounds differently."""
    return reduce(add, xs, 0.0)


@dataclass
class Node:
    """One position in the tree."""

    prior: f32 = ONE  # P as used by selection: with noise at the root's children
    action: int = 0
    index: int = 0  # index of `action` in the parent's legal actions
    N: int = 0  # finished visits, its own evaluation included
    in_flight: int = 0  # visits that wait for an evaluation
    W: list[float] = field(default_factory=list)  # sum of values, one per seat
    reward: list[float] = field(default_factory=list)  # reward of the step into this node
    kind: str = "leaf"  # then "decision", "chance" or "terminal"
    seat: int = 0  # the seat that chooses here
    children: dict[int, Node] = field(default_factory=dict)  # by action, in the game's order
    square: f32 = ZERO  # mean of squared values for `seat` (`deviation`)
    raw: f32 = ZERO  # the evaluator's value for the seat to move
    original: f32 = ONE  # P without noise
    tried: bool = False
    slot: int = 0  # its number among the tried children, in the order of first visits
    mass: f32 = ZERO  # sum of the priors of the tried children, in the order of first visits
    pending: bool = False  # waits for its evaluation
    bounds: tuple[float, float] = (-1.0, 1.0)  # proven bounds of seat 0's result (duels)
    exact: list[float] | None = None  # proven result per seat (other games)
    closed: bool = False  # proven not better than another edge
    available: int = 0  # visits of the parent at which it was legal (information sets)
    amaf: dict[int, tuple[int, float]] = field(default_factory=dict)  # by action: n and sum (RAVE)
    views: dict[bytes, list[f32]] = field(default_factory=dict)  # priors by observation
    shared: Node | None = None  # the position behind this edge, if it has a node of its own
    repeats: int = 0  # visits of this edge that ended here, in a draw by repetition

    @property
    def at(self) -> Node:
        """The position that the edge leads to."""
        return self.shared or self

    @property
    def started(self) -> int:
        """n: finished visits and visits in flight."""
        return self.N + self.in_flight

    @property
    def proven(self) -> list[float] | None:
        """The proven result per seat, or None."""
        low, high = self.bounds
        return self.exact or ([low, -low] if low == high else None)

    def value(self, seat: int) -> f32:
        """Return the mean value of the node for a seat."""
        return f32(self.W[seat] / self.N)
