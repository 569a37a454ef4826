"""Game slots: N real games played side by side, whose moves are planned in a learned model.

The games give only what a player learns: the observation of the seat to move, its legal
actions, the rewards of a move and whether the game is over. Native games move in one call; others
one by one, here or in other processes, and an exception in one does not affect the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game, Observation
from sylvan.muzero.game_keeper import Beginnings, Opening, Shown
from sylvan.muzero.starts import Order, Starts
from sylvan.muzero.turns import CUT, FAILED
from sylvan.planning import BulkForest
from sylvan.planning.outcomes import OVER, UNMOVED, Transitions
from sylvan.selfplay.ending import verdict

__all__ = ["GameSlots", "Keeps", "NativeGameSlots", "PythonGameSlots", "Views"]

Begin = Mapping[int, Order]
"""Games to begin, by slot."""
Openings = dict[int, Opening | Exception]
"""The openings of games that have begun, or the errors that they raised, by slot."""


class Views(NamedTuple):
    """The inputs of planning in n games."""

    observations: Observation
    """`[n, ...]`"""
    legal: NDArray[np.bool_]
    """`[n, A]`; in a truncated episode every action counts as legal."""
    seats: NDArray[np.int64]
    """`[n]` to move."""
    cut: NDArray[np.bool_]
    """`[n]` truncated episodes: no seat moves, but the value is not zero."""


class GameSlots(Protocol):
    """N games, by slot number."""

    faults: dict[int, Exception]
    """Exceptions that games raised in the last `play`, by slot."""

    def begin(self, orders: Begin) -> Openings:
        """Begin games."""

    def views(self, slots: NDArray[np.int64]) -> Views:
        """The inputs of planning in some slots."""

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip slots whose action is negative."""

    def verdict(self, slot: int) -> NDArray[np.float32]:
        """The returns of a game at the move limit."""

    def score(self, slot: int) -> float:
        """The total reward of seat 0, by an environment's own count."""

    def keep(self, slot: int, episode: int, plies: int) -> None:
        """Take a game out of its slot that another lease continues."""

    def end(self, slot: int, *, failed: bool = False) -> None:
        """Take a game out of its slot that is over, or that raised an error."""


class NativeGameSlots:
    """Games whose rules are in Rust: a forest that is never searched, only moved."""

    def __init__(self, starts: Starts, rule: str, slots: int, threads: int = 1) -> None:
        """Make empty slots.

        :param rule: `selfplay.verdict`.
        """
        self._starts, self._rule = starts, rule
        self._first = starts.first(0)
        self._forest = BulkForest([self._first] * slots, simulations=1, threads=threads)
        self._paid = np.zeros(slots)
        self.faults: dict[int, Exception] = {}

    def begin(self, orders: Begin) -> Openings:
        """Begin games."""
        openings: Openings = {}
        for slot, order in orders.items():
            begun = self._starts.begin(order)
            self._forest.plant(slot, begun.state)
            assert begun.rewards is not None
            self._paid[slot] = begun.paid
            openings[slot] = Opening(begun.actions, begun.seats, begun.rewards, begun.restarted)
        return openings

    def views(self, slots: NDArray[np.int64]) -> Views:
        """The leaves that a search would evaluate first."""
        self._forest.begin()
        leaves = self._forest.select()
        assert leaves is not None
        legal, seats = leaves.mask[slots], leaves.seats[slots]
        views = Views(leaves.observations[slots], legal, seats, np.zeros(len(slots), bool))
        self._forest.abandon()
        return views

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip slots whose action is negative."""
        transitions = self._forest.play(actions, keep=False)
        self._paid += transitions.rewards[:, 0] + transitions.returns[:, 0]
        return transitions

    def verdict(self, slot: int) -> NDArray[np.float32]:
        """The returns of a game at the move limit."""
        return verdict(self._forest.state(slot), self._rule)

    def score(self, slot: int) -> float:
        """The total reward of seat 0."""
        return float(self._paid[slot])

    def keep(self, slot: int, episode: int, plies: int) -> None:  # noqa: ARG002
        """Empty a slot."""
        self.end(slot)

    def end(self, slot: int, *, failed: bool = False) -> None:  # noqa: ARG002
        """Empty a slot: it holds a first state, which has a leaf like the others."""
        self._forest.plant(slot, self._first)


class Keeps(Protocol):
    """Games by slot: a `GameKeeper`, or several in other processes."""

    def begin_all(self, orders: Begin) -> Beginnings:
        """Begin games."""

    def play_all(self, actions: Mapping[int, int]) -> dict[int, Shown | Exception]:
        """Make moves, by slot."""

    def verdict(self, slot: int) -> tuple[float, ...]:
        """The returns of a game at the move limit."""

    def keep(self, slot: int, episode: int, plies: int) -> None:
        """Take a game out of its slot that another lease continues."""

    def end(self, slot: int, *, failed: bool = False) -> None:
        """Take a game out of its slot."""

    def stop(self) -> None:
        """Forget all games."""


class PythonGameSlots:
    """Games whose rules are in Python, or in an environment."""

    def __init__(self, keeper: Keeps, example: Game, slots: int, base: int = 0) -> None:
        """Make empty slots.

        :param example: any state; gives the numbers of actions and seats.
        :param base: the keeper's number of slot 0.
        """
        self._keeper, self.seats, self._base = keeper, example.num_players, base
        self._observations: NDArray[Any] | None = None
        self._legal = np.ones((slots, example.num_actions), bool)
        self._masked = np.zeros(slots, bool)
        """Slots where not all actions are legal."""
        self._turns = np.zeros(slots, np.int64)
        self._scores = np.zeros(slots)
        self.faults: dict[int, Exception] = {}

    def begin(self, orders: Begin) -> Openings:
        """Begin games."""
        openings: Openings = {}
        kept = {self._base + slot: order for slot, order in orders.items()}
        for number, begun in self._keeper.begin_all(kept).items():
            slot = number - self._base
            if isinstance(begun, Exception):
                openings[slot] = begun
                continue
            openings[slot], shown = begun
            self._show(slot, shown)
        return openings

    def _show(self, slot: int, shown: Shown) -> None:
        """Take in what a game shows."""
        self._turns[slot], self._scores[slot] = shown.turn, shown.score
        if shown.observation is None:
            return
        if self._observations is None:
            seen = np.asarray(shown.observation)
            self._observations = np.zeros((len(self._turns), *seen.shape), seen.dtype)
        self._observations[slot] = shown.observation
        if shown.legal is None:
            if self._masked[slot]:
                self._legal[slot], self._masked[slot] = True, False
        else:
            self._legal[slot], self._masked[slot] = False, True
            self._legal[slot, shown.legal] = True

    def views(self, slots: NDArray[np.int64]) -> Views:
        """The inputs of planning in some slots."""
        assert self._observations is not None
        turns = self._turns[slots]
        cut = turns == CUT
        seen, legal = self._observations[slots], self._legal[slots]
        return Views(seen, legal, np.where(cut, 0, turns), cut)

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip slots whose action is negative."""
        turns = np.full(len(self._turns), UNMOVED, np.int8)
        returns, rewards = (np.zeros((len(turns), self.seats), np.float32) for _ in "ab")
        self.faults = {}
        moves = dict(enumerate(actions.tolist(), self._base))
        played = self._keeper.play_all({slot: move for slot, move in moves.items() if move >= 0})
        for number, shown in played.items():
            slot = number - self._base
            if isinstance(shown, Exception):
                self.faults[slot], turns[slot] = shown, FAILED
                continue
            self._show(slot, shown)
            turns[slot], rewards[slot] = shown.turn, shown.rewards
            if shown.turn == OVER:
                returns[slot] = shown.returns
        return Transitions(turns, returns, rewards)

    def verdict(self, slot: int) -> NDArray[np.float32]:
        """The returns of a game at the move limit."""
        return np.array(self._keeper.verdict(self._base + slot), np.float32)

    def score(self, slot: int) -> float:
        """The total reward of seat 0, by an environment's own count."""
        return float(self._scores[slot])

    def keep(self, slot: int, episode: int, plies: int) -> None:
        """Take a game out of its slot that another lease continues."""
        self._keeper.keep(self._base + slot, episode, plies)

    def end(self, slot: int, *, failed: bool = False) -> None:
        """Take a game out of its slot that is over, or that raised an error."""
        self._keeper.end(self._base + slot, failed=failed)
