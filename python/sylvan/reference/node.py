"""A node of the tree, and the facts about a game that a search needs.

A node is also the edge that leads to it: `N`, `W` and `P` are the statistics of that edge.
Arithmetic is part of the specification. Sums are doubles; `Q`, `P`, `P / (1 + n)` and scores are
single precision (`f32`), each rounded once where it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig

f32 = np.float32


@dataclass(frozen=True)
class Facts:
    """What holds in all states of a game, as the formulas need it."""

    num_players: int
    zero_sum: bool
    has_rewards: bool
    value_range: tuple[float, float]
    duel: bool
    """Two seats play for -1, 0 or 1 alone: proofs are bounds, not exact results."""

    @classmethod
    def of(cls, game: Game, config: SearchConfig) -> Facts:
        from sylvan.games import Game as Default

        rewards = getattr(type(game), "rewards", Default.rewards)
        zero_sum = bool(game.zero_sum) and game.num_players == 2
        has_rewards = rewards is not Default.rewards and isinstance(game, Default)
        plain = not has_rewards and config.discount == 1.0
        low, high = game.value_range
        duel = zero_sum and plain and (low, high) == (-1.0, 1.0)
        return cls(game.num_players, zero_sum, has_rewards, (low, high), duel)

    @property
    def plain(self) -> bool:
        """Only the end pays; with `discount` 1 the range of returns is that of every value."""
        return not self.has_rewards


@dataclass
class Node:
    """One position in the tree."""

    prior: f32 = f32(1.0)
    """P, as the selection uses it: at the root's children with noise."""
    action: int = 0
    index: int = 0
    """The place of `action` among the parent's legal actions."""
    N: int = 0
    """Finished visits, its own evaluation included."""
    in_flight: int = 0
    W: list[float] = field(default_factory=list)
    """Sum of values, one per seat."""
    reward: list[float] = field(default_factory=list)
    """What the step into this node paid each seat."""
    kind: Literal["leaf", "decision", "chance", "terminal"] = "leaf"
    seat: int = 0
    children: dict[int, Node] = field(default_factory=dict)
    """By action, in the game's order; empty before the evaluation."""
    raw: f32 = f32(0.0)
    """The evaluator's value for the seat to move."""
    original: f32 = f32(1.0)
    """P without noise."""
    tried: bool = False
    mass: f32 = f32(0.0)
    """Sum of the priors of the children tried, in the order they were tried."""
    pending: bool = False
    bounds: tuple[float, float] = (-1.0, 1.0)
    """What seat 0's result is proven to lie between (duels)."""
    exact: list[float] | None = None
    """The proven result per seat (other games)."""
    closed: bool = False
    """Proven not to be worth taking."""

    @property
    def started(self) -> int:
        """n: visits finished and in flight."""
        return self.N + self.in_flight

    def value(self, seat: int) -> f32:
        """The mean value of the node itself."""
        return f32(self.W[seat] / self.N)

    def step_bounds(self, seat: int, facts: Facts, discount: float) -> tuple[float, float]:
        """What the step into this node is proven to be worth to a seat."""
        if facts.duel:
            low, high = self.bounds
            return (low, high) if seat == 0 else (-high, -low)
        if self.exact is not None:
            worth = self.reward[seat] + discount * self.exact[seat]
            return worth, worth
        return -np.inf, np.inf

    def q(self, seat: int, facts: Facts, discount: float) -> f32:
        """Q of the step into this node: reward + discount * W / N, held inside its bounds."""
        mean = self.W[seat] / self.N
        low, high = self.step_bounds(seat, facts, discount)
        if facts.duel:
            return f32(min(max(mean, low), high))
        if self.exact is not None:
            return f32(low)
        return f32(self.reward[seat] + discount * mean)

    @property
    def proven(self) -> list[float] | None:
        """The proven result per seat, if there is one."""
        if self.exact is not None:
            return self.exact
        low, high = self.bounds
        return [low, -low] if low == high else None

    def __str__(self) -> str:
        return f"Node(action={self.action}, N={self.N}, P={self.prior:.3f}, W={self.W})"


Rule = Any
"""A selection rule: `(node, search) -> Node`, the child to follow."""
