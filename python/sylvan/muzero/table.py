"""Games side by side that are played, not searched: what their seats see, and a move in each.

Planning happens in a model. Of the games themselves nothing is asked but what a player at the table
gets to know: what the seat to move sees, which actions it has, what a move paid and whether the
game is over. Native games are shown and moved all at once; others one after another, and one that
fails takes no other with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.errors import ConfigError
from sylvan.games.game import Game, Observation
from sylvan.games.naming import GameSpec
from sylvan.planning import Forest
from sylvan.planning.outcomes import CHANCE, OVER, UNMOVED, Landings

__all__ = ["CUT", "FAILED", "NativeTable", "PythonTable", "Table", "Views", "table_of"]

CUT, FAILED = -4, -5
"""`Landings.turns` of an episode that was cut off, and of a game that raised an error."""


TRIED = 200
"""Moves by which a game is tried out."""


class Views(NamedTuple):
    """What there is to plan from in N games."""

    observations: Observation
    """`[N, ...]`"""
    legal: NDArray[np.bool_]
    """`[N, A]`"""
    seats: NDArray[np.int64]
    """`[N]` to move."""
    cut: NDArray[np.bool_]
    """`[N]` episodes that were cut off: nobody moves there any more, but it would have gone on."""


class Table(Protocol):
    """N games, numbered by their places."""

    faults: dict[int, Exception]
    """What games raised in the last `play`, by place."""

    def state(self, place: int) -> Game:
        """The game in a place."""

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""

    def views(self) -> Views:
        """What there is to plan from."""

    def play(self, actions: NDArray[np.int64]) -> Landings:
        """Make a move in every game; none where it is negative."""


def table_of(spec: GameSpec, states: Sequence[Game], threads: int = 1) -> Table:
    """A table with these games, at least one; `threads` share the work where rules are native."""
    return NativeTable(states, threads) if spec.is_native else PythonTable(states)


class NativeTable:
    """Games whose rules are in Rust: trees that are never searched, only their roots moved."""

    def __init__(self, states: Sequence[Game], threads: int = 1) -> None:
        self._forest = Forest(states, simulations=1, threads=threads)
        self._cut = np.zeros(len(states), bool)
        self.faults: dict[int, Exception] = {}

    def state(self, place: int) -> Game:
        """The game in a place."""
        return self._forest.state(place)

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""
        self._forest.plant(place, state)

    def views(self) -> Views:
        """What there is to plan from: what the leaves of a search would be, before it began."""
        self._forest.begin()
        leaves = self._forest.select()
        assert leaves is not None and len(leaves) == len(self._cut)
        views = Views(leaves.observations, leaves.mask, leaves.seats, self._cut)
        self._forest.abandon()
        return views

    def play(self, actions: NDArray[np.int64]) -> Landings:
        """Make a move in every game; none where it is negative."""
        return self._forest.play(actions, keep=False)


class PythonTable:
    """Games whose rules are in Python, or in an environment."""

    def __init__(self, states: Sequence[Game]) -> None:
        self._states = list(states)
        first = self._states[0]
        self.num_actions, self.seats = first.num_actions, first.num_players
        self.faults: dict[int, Exception] = {}

    def state(self, place: int) -> Game:
        """The game in a place."""
        return self._states[place]

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""
        self._states[place] = state

    def views(self) -> Views:
        """What there is to plan from; where an episode was cut off every action is open."""
        states = self._states
        cut = np.array([was_cut(state) for state in states])
        legal = np.zeros((len(states), self.num_actions), bool)
        for place, state in enumerate(states):
            actions = state.legal_actions()
            if cut[place] or len(actions) == self.num_actions:
                legal[place] = True
            else:
                legal[place, actions] = True
        seats = [0 if cut[place] else state.to_play() for place, state in enumerate(states)]
        seen = np.stack([state.observation() for state in states])
        return Views(seen, legal, np.array(seats, np.int64), cut)

    def play(self, actions: NDArray[np.int64]) -> Landings:
        """Make a move in every game; none where it is negative."""
        turns = np.full(len(self._states), UNMOVED, np.int8)
        returns, rewards = (np.zeros((len(turns), self.seats), np.float32) for _ in "ab")
        self.faults = {}
        for place, action in enumerate(actions.tolist()):
            if action < 0:
                continue
            state = self._states[place]
            try:
                state.apply(action)
                rewards[place] = state.rewards()
                turns[place] = turn_of(state)
                if turns[place] == OVER:
                    returns[place] = state.returns()
            except Exception as error:
                self.faults[place] = error
                turns[place], rewards[place] = FAILED, 0
        return Landings(turns, returns, rewards)


def was_cut(state: Game) -> bool:
    """Whether a game was cut off, as a time limit does, rather than ended."""
    return bool(getattr(state, "truncated", False))


def turn_of(state: Game) -> int:
    """The seat to move, or why there is none."""
    if was_cut(state):
        return CUT
    if state.is_terminal():
        return OVER
    return CHANCE if need_no_chance(state) else state.to_play()


def need_no_chance(state: Game) -> bool:
    """:raises ConfigError: chance is to move."""
    if getattr(state, "is_chance", bool)():
        raise ConfigError(
            f"{type(state).__name__} has moves of chance, but a learned model foresees one "
            "consequence of each action: train it with its rules, --algorithm alphazero."
        )
    return False


def need_turns(name: str, before: NDArray[Any], after: NDArray[Any], seats: int) -> None:
    """:raises ConfigError: seats do not move one after another, as a search over a model supposes.

    :param before: `[N]` who moved.
    :param after: `[N]` who moves then; negative: nobody.
    """
    wrong = (after >= 0) & (after != (before + 1) % seats)
    if wrong.any():
        place = int(wrong.argmax())
        raise ConfigError(
            f"In {name} seat {after[place]} moves after seat {before[place]}, but a search over a "
            "learned model lets the seats move one after another: train it with its rules, "
            "--algorithm alphazero."
        )


def try_out(state: Game, name: str, seed: int) -> None:
    """Play at random for a while, in place, so that what cannot be learned is said at once.

    :raises ConfigError: chance moves, or the seats do not move one after another.
    """
    rng, mover = Rng(seed), -1
    for _ in range(TRIED):
        turn = turn_of(state)
        if mover >= 0:
            need_turns(name, np.array([mover]), np.array([turn]), state.num_players)
        if turn < 0:
            return
        legal = state.legal_actions()
        state.apply(legal[rng.below(len(legal))])
        mover = turn
