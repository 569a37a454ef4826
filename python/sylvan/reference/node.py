"""A node of the tree. It is also the edge that leads to it: N, W and P are that edge's statistics.

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
ZERO, ONE, TINY = f32(0), f32(1), np.finfo(f32).tiny  # the least prior that is stored


def total(xs: Iterable[float]) -> float:
    """The sum in order, rounded at each step; from Python 3.12 on `sum` rounds otherwise."""
    return reduce(add, xs, 0.0)


@dataclass
class Node:
    """One position in the tree."""

    prior: f32 = ONE  # P, as the selection uses it: at the root's children with noise
    action: int = 0
    index: int = 0  # the place of `action` among the parent's legal actions
    N: int = 0  # finished visits, its own evaluation included
    in_flight: int = 0  # visits that wait for an evaluation
    W: list[float] = field(default_factory=list)  # sum of values, one per seat
    reward: list[float] = field(default_factory=list)  # what the step into this node paid
    kind: str = "leaf"  # then "decision", "chance" or "terminal"
    seat: int = 0  # the seat that chooses here
    children: dict[int, Node] = field(default_factory=dict)  # by action, in the game's order
    raw: f32 = ZERO  # the evaluator's value for the seat to move
    original: f32 = ONE  # P without noise
    tried: bool = False
    mass: f32 = ZERO  # sum of the priors of the children tried, in the order of trying
    pending: bool = False  # its evaluation was asked for
    bounds: tuple[float, float] = (-1.0, 1.0)  # proven bounds of seat 0's result (duels)
    exact: list[float] | None = None  # the proven result per seat (other games)
    closed: bool = False  # proven not to be worth taking
    available: int = 0  # visits of the parent at which it was legal (information sets)
    amaf: dict[int, tuple[int, float]] = field(default_factory=dict)  # by action: n and sum (RAVE)
    views: dict[bytes, list[f32]] = field(default_factory=dict)  # priors, by what a seat sees here

    @property
    def started(self) -> int:
        """n: visits finished and in flight."""
        return self.N + self.in_flight

    @property
    def proven(self) -> list[float] | None:
        """The proven result per seat, if there is one."""
        low, high = self.bounds
        return self.exact or ([low, -low] if low == high else None)

    @property
    def size(self) -> int:
        """Nodes of its subtree that were reached."""
        return 1 + sum(child.size for child in self.children.values() if child.tried)

    def value(self, seat: int) -> f32:
        """The mean value of the node itself."""
        return f32(self.W[seat] / self.N)
