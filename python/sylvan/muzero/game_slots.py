"""Game slots: N real games played side by side, whose moves are planned in a learned model.

The games give only what a player learns: the observation of the seat to move, its legal
actions, the rewards of a move and whether the game is over. Native games move in one call;
others one by one, and an exception in one does not affect the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.errors import ConfigError
from sylvan.games.game import Game, Observation
from sylvan.games.gymnasium import GymnasiumGame
from sylvan.games.naming import GameSpec
from sylvan.planning import BulkForest
from sylvan.planning.outcomes import CHANCE, OVER, UNMOVED, Transitions

__all__ = [
    "CUT",
    "FAILED",
    "GameSlots",
    "NativeGameSlots",
    "PythonGameSlots",
    "Views",
    "make_game_slots",
]

CUT, FAILED = -4, -5
"""`Transitions.turns` of an episode that was cut off, and of a game that raised an error."""


PROBE_MOVES = 200
"""Random moves that `try_out` plays."""


class Views(NamedTuple):
    """The inputs of planning in N games."""

    observations: Observation
    """`[N, ...]`"""
    legal: NDArray[np.bool_]
    """`[N, A]`"""
    seats: NDArray[np.int64]
    """`[N]` to move."""
    cut: NDArray[np.bool_]
    """`[N]` truncated episodes: no seat moves, but the value is not zero."""


class GameSlots(Protocol):
    """N games, by slot number."""

    faults: dict[int, Exception]
    """Exceptions that games raised in the last `play`, by slot."""

    def state(self, slot: int) -> Game:
        """Return the game in a slot."""

    def plant(self, slot: int, state: Game) -> None:
        """Put another game in a slot."""

    def views(self) -> Views:
        """Return the observations, legal actions and seats to plan from."""

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip games whose action is negative."""


def make_game_slots(spec: GameSpec, states: Sequence[Game], threads: int = 1) -> GameSlots:
    """Make slots for these games, at least one; native rules use `threads` threads."""
    return NativeGameSlots(states, threads) if spec.is_native else PythonGameSlots(states)


class NativeGameSlots:
    """Games whose rules are in Rust: a forest that is never searched, only moved."""

    def __init__(self, states: Sequence[Game], threads: int = 1) -> None:
        self._forest = BulkForest(states, simulations=1, threads=threads)
        self._cut = np.zeros(len(states), bool)
        self.faults: dict[int, Exception] = {}

    def state(self, slot: int) -> Game:
        """Return the game in a slot."""
        return self._forest.state(slot)

    def plant(self, slot: int, state: Game) -> None:
        """Put another game in a slot."""
        self._forest.plant(slot, state)

    def views(self) -> Views:
        """Return the leaves that a search would evaluate first."""
        self._forest.begin()
        leaves = self._forest.select()
        assert leaves is not None and len(leaves) == len(self._cut)
        views = Views(leaves.observations, leaves.mask, leaves.seats, self._cut)
        self._forest.abandon()
        return views

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip games whose action is negative."""
        return self._forest.play(actions, keep=False)


class PythonGameSlots:
    """Games whose rules are in Python, or in an environment."""

    def __init__(self, states: Sequence[Game]) -> None:
        self._states = list(states)
        first = self._states[0]
        self.num_actions, self.seats = first.num_actions, first.num_players
        self.faults: dict[int, Exception] = {}

    def state(self, slot: int) -> Game:
        """Return the game in a slot."""
        return self._states[slot]

    def plant(self, slot: int, state: Game) -> None:
        """Put another game in a slot."""
        self._states[slot] = state

    def views(self) -> Views:
        """Return the inputs of planning; in a truncated episode every action counts as legal."""
        states = self._states
        cut = np.array([was_cut(state) for state in states])
        legal = np.zeros((len(states), self.num_actions), bool)
        for slot, state in enumerate(states):
            actions = state.legal_actions()
            if cut[slot] or len(actions) == self.num_actions:
                legal[slot] = True
            else:
                legal[slot, actions] = True
        seats = [0 if cut[slot] else state.to_play() for slot, state in enumerate(states)]
        seen = np.stack([state.observation() for state in states])
        return Views(seen, legal, np.array(seats, np.int64), cut)

    def play(self, actions: NDArray[np.int64]) -> Transitions:
        """Apply an action in every game; skip games whose action is negative."""
        turns = np.full(len(self._states), UNMOVED, np.int8)
        returns, rewards = (np.zeros((len(turns), self.seats), np.float32) for _ in "ab")
        self.faults = {}
        for slot, action in enumerate(actions.tolist()):
            if action < 0:
                continue
            state = self._states[slot]
            try:
                state.apply(action)
                rewards[slot] = state.rewards()
                turns[slot] = turn_of(state)
                if turns[slot] == OVER:
                    returns[slot] = state.returns()
            except Exception as error:
                self.faults[slot] = error
                turns[slot], rewards[slot] = FAILED, 0
        return Transitions(turns, returns, rewards)


def was_cut(state: Game) -> bool:
    """Return whether a game was truncated, for example by a time limit."""
    return isinstance(state, GymnasiumGame) and state.truncated


def own_score(state: Game, total: float) -> float:
    """Return an environment's own sum of rewards; `total` for other games."""
    return float(state.score) if isinstance(state, GymnasiumGame) else total


def turn_of(state: Game) -> int:
    """Return the seat to move, or the code of why there is none."""
    if was_cut(state):
        return CUT
    if state.is_terminal():
        return OVER
    return CHANCE if need_no_chance(state) else state.to_play()


def need_no_chance(state: Game) -> bool:
    """Return False.

    :raises ConfigError: the state is a chance node.
    """
    if getattr(state, "is_chance", bool)():
        raise ConfigError(
            f"{type(state).__name__} has chance nodes, but a learned model predicts one outcome "
            "per action: train it with its rules, --algorithm alphazero."
        )
    return False


def need_turns(name: str, before: NDArray[Any], after: NDArray[Any], seats: int) -> None:
    """:raises ConfigError: the seats do not move in turn, as a search over a model requires.

    :param before: `[N]` the seat that moved.
    :param after: `[N]` the next seat to move; negative: none.
    """
    wrong = (after >= 0) & (after != (before + 1) % seats)
    if wrong.any():
        slot = int(wrong.argmax())
        raise ConfigError(
            f"In {name} seat {after[slot]} moves after seat {before[slot]}, but a search over a "
            "learned model needs seats that move in turn: train it with its rules, "
            "--algorithm alphazero."
        )


def try_out(state: Game, name: str, seed: int) -> None:
    """Play random moves, in place, to report early that a game cannot be learned.

    :raises ConfigError: chance moves, or the seats do not move in turn.
    """
    rng, mover = Rng(seed), -1
    for _ in range(PROBE_MOVES):
        turn = turn_of(state)
        if mover >= 0:
            need_turns(name, np.array([mover]), np.array([turn]), state.num_players)
        if turn < 0:
            return
        legal = state.legal_actions()
        state.apply(legal[rng.below(len(legal))])
        mover = turn
