"""Games written down as tables, for searches that can be followed with pencil and paper.

    table = decide(0, 0.2, (0.7, end(1)), (0.3, end(-1)))

is a position in which seat 0 moves, which the evaluator values at 0.2 for seat 0, and which has two
moves with priors 0.7 and 0.3 that end the game. Actions are numbered from 0 in the order written.
`run` searches a table with the core and with the reference, and insists that they agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sylvan import Game, Search, SearchConfig, SearchResult, reference


@dataclass(frozen=True)
class Table:
    """One position and all that can follow it."""

    seat: int | None
    """None: chance moves, or the game is over."""
    values: tuple[float, ...]
    """One per seat: the evaluator's, or at the end the returns."""
    weights: tuple[float, ...] = ()
    """Priors, or probabilities where chance moves."""
    after: tuple[Table, ...] = ()
    rewards: tuple[float, ...] = field(default=())
    """The reward per seat of the step to here."""

    def paying(self, *rewards: float) -> Table:
        """The same position, where the step to it pays."""
        return replace(self, rewards=_seats(rewards))


def decide(seat: int, value: float | Sequence[float], *moves: tuple[float, Table]) -> Table:
    """A position in which a seat moves; one value stands for (v, -v)."""
    values = (value,) if isinstance(value, int | float) else tuple(value)
    weights, after = zip(*moves, strict=True)
    return Table(seat, _seats(values), weights, after)


def chance(*outcomes: tuple[float, Table]) -> Table:
    """A position in which chance moves."""
    probabilities, after = zip(*outcomes, strict=True)
    return Table(None, (), probabilities, after)


def end(*returns: float) -> Table:
    """A finished game; one return stands for (v, -v)."""
    return Table(None, _seats(returns))


def _seats(values: Sequence[float]) -> tuple[float, ...]:
    return (values[0], -values[0]) if len(values) == 1 else tuple(values)


class TableGame(Game):
    """A game that follows a table."""

    num_players = 2
    num_actions = 16

    def __init__(self, table: Table, **facts: Any) -> None:
        """Start at `table`; `facts` set `num_players`, `zero_sum` or `value_range`."""
        self.table, self.facts = table, facts
        for name, fact in facts.items():
            setattr(self, name, fact)

    def clone(self) -> TableGame:
        return type(self)(self.table, **self.facts)

    def apply(self, action: int) -> None:
        self.table = self.table.after[action]

    def legal_actions(self) -> Sequence[int]:
        return range(len(self.table.after)) if self.table.seat is not None else ()

    def to_play(self) -> int:
        assert self.table.seat is not None
        return self.table.seat

    def is_terminal(self) -> bool:
        return not self.table.after

    def is_chance(self) -> bool:
        return self.table.seat is None and not self.is_terminal()

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        return list(enumerate(self.table.weights))

    def returns(self) -> Sequence[float]:
        return self.table.values

    def observation(self) -> np.ndarray:
        return np.zeros(1, np.float32)


class PayingTableGame(TableGame):
    """The same with rewards on the way."""

    def rewards(self) -> Sequence[float]:
        return self.table.rewards or (0.0,) * self.num_players


def logits(prior: float) -> float:
    """The logit of a prior; -inf for 0."""
    return math.log(prior) if prior > 0 else -math.inf


def evaluate(states: Sequence[TableGame]) -> list[tuple[list[float], Sequence[float]]]:
    """The table's evaluation of each state, for the reference."""
    return [([logits(p) for p in s.table.weights], s.table.values) for s in states]


def evaluate_leaves(leaves: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same for the core."""
    answers = evaluate(leaves.states)
    flat = [x for row, _ in answers for x in row]
    return np.array(flat, np.float32), np.array([v for _, v in answers], np.float32)


@dataclass(frozen=True)
class Both:
    """One search, done twice."""

    slow: reference.Search
    fast: SearchResult

    @property
    def visits(self) -> list[int]:
        """N of the root's edges, by action."""
        return [child.N for child in self.slow.root.children.values()]

    @property
    def policy(self) -> list[float]:
        """The policy target, by action."""
        return [float(self.fast.policy[action]) for action in self.slow.root.children]


def as_game(table: Table | TableGame, **facts: Any) -> TableGame:
    """A game that starts at a table."""
    return table if isinstance(table, TableGame) else TableGame(table, **facts)


def run(table: Table | TableGame, noise: Sequence[float] | None = None, **settings: Any) -> Both:
    """Search with core and reference alike; proofs are off and priors exact unless asked for."""
    config = SearchConfig(**{"proofs": False, "prior_bits": 32, **settings})
    game = as_game(table)
    slow = reference.Search(game, evaluate, config)
    slow.run(noise)
    fast = Search(evaluate_leaves, config).run(game, noise=noise)
    check_same(slow, fast)
    return Both(slow, fast)


def check_same(slow: reference.Search, fast: SearchResult) -> None:
    """The two searches found the same, to the bit."""
    assert (fast.simulations, fast.stopped_by) == (slow.started, slow.stopped_by)
    assert fast.best == reference.best(slow)
    np.testing.assert_array_equal(fast.policy[list(slow.root.children)], reference.policy(slow))
    waiting: list[tuple[Any, Any]] = [(slow.root, fast.tree.root)]
    while waiting:
        node, view = waiting.pop()
        assert (view.N, list(view.W)) == (node.N, node.W)
        for action, child in node.children.items():
            edge = view.edge(action)
            assert (edge.N, np.float32(edge.P)) == (child.N, child.prior)
            if child.N:
                waiting.append((child, edge.child))


def order(table: Table | TableGame, simulations: int, **settings: Any) -> list[int]:
    """The action that each simulation takes at the root, from searches that are ever longer."""
    counts = [run(table, simulations=n, **settings).visits for n in range(simulations + 1)]
    steps = itertools.pairwise(counts)
    return [int(np.argmax(np.subtract(after, before))) for before, after in steps]


def nearly(a: Any, b: Any, by: float = 1e-6) -> bool:
    """Equal but for rounding, or but for what is allowed."""
    return bool(np.allclose(a, b, rtol=0, atol=by))
