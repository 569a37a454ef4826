"""How games start: at the first state, after random moves, or inside an earlier game.

A start is a sequence of actions from the first state, so a game can always be replayed. All random
choices of a start depend only on the run's seed and the number of the game.
"""

from __future__ import annotations

import copy
import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng, mix
from sylvan.errors import GameContractError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.plies import Plies
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.restarts import largest_value_error

__all__ = ["Start", "Starts", "after", "replayed"]

ATTEMPTS = 100
"""Number of random openings to try until one does not end the game; else start at the first state.
"""


@dataclass(frozen=True)
class Start:
    """A new game."""

    number: int
    seed: int
    state: Game
    """Neither terminal nor a chance node."""
    plies: Plies
    """The plies that lead to `state`."""
    restarted: bool = False
    """Whether it starts inside an earlier game."""


class Starts:
    """Creates the starts of games, one after another."""

    def __init__(
        self, spec: GameSpec, config: SelfPlayConfig, seed: int, encoding: Encoding | None = None
    ) -> None:
        self.spec, self.config, self.seed, self.encoding = spec, config, seed, encoding
        self.count = 0
        """Games started so far."""
        self._restarts: list[tuple[float, int, bytes]] = []
        """A heap of positions to start from: value error, number of the game, its actions."""
        self._no_plies: Plies | None = None

    def copy(self) -> Starts:
        """An independent copy that continues from here."""
        other = copy.copy(self)
        other._restarts = list(self._restarts)
        return other

    def first(self) -> Game:
        """The game's first state, with the network's encoding."""
        return self.spec.first() if self.spec.is_gymnasium else self._first.clone()

    def begin(self, seed: int, over: Game | None = None) -> Game:
        """The first state of the game with this seed; only environments depend on the seed.

        :param over: a game that is no longer needed, whose environment can be reused.
        """
        return self.spec.episode(seed, over) if self.spec.is_gymnasium else self.first()

    @cached_property
    def _first(self) -> Game:
        state = self.spec.first()
        return state if self.encoding is None else state.encoded(self.encoding)

    def next(self, example: NDArray[Any] | None = None, over: Game | None = None) -> Start:
        """Start the next game.

        :param example: an observation, if observations are stored.
        :param over: as in `begin`.
        """
        number = self.count
        seed = mix(self.seed, number)
        rng = Rng(seed)
        kind, config = rng.uniform(), self.config
        actions: list[int] = []
        restarted = kind < config.restart_share and bool(self._restarts)
        if restarted:
            _, _, prefix = self._restarts.pop(rng.below(len(self._restarts)))
            heapq.heapify(self._restarts)
            actions = np.frombuffer(prefix, np.int32).tolist()
        elif config.restart_share <= kind < config.restart_share + config.opening_share:
            actions = self._random_opening(rng, seed)
        state = self.begin(seed, over)
        if actions or _is_chance(state):
            state, plies = replayed(state, actions, rng, example)
        else:
            plies = self._empty_plies(example)
        if state.is_terminal():
            raise GameContractError(
                f"{type(state).__name__} is over before the first move: is_terminal() must be "
                "False in the first state."
            )
        self.count += 1
        return Start(number, seed, state, plies, restarted)

    def _empty_plies(self, example: NDArray[Any] | None) -> Plies:
        """An empty sequence, shared by all games that start at the first state."""
        if self._no_plies is None:
            rewards = np.zeros((0, self._first.num_players), np.float32)
            self._no_plies = Plies.unsearched([], [], rewards, example)
        return self._no_plies

    def _random_opening(self, rng: Rng, seed: int) -> list[int]:
        """Random moves and chance outcomes that do not end the game."""
        for _ in range(ATTEMPTS):
            state, actions = self.begin(seed), list[int]()
            moves = 1 + rng.below(self.config.opening_plies)
            while moves and not state.is_terminal():
                if _is_chance(state):
                    actions.append(_outcome(state, rng))
                else:
                    legal = state.legal_actions()
                    actions.append(legal[rng.below(len(legal))])
                    moves -= 1
                state.apply(actions[-1])
            if not state.is_terminal():
                return actions
        return []

    def learn(self, record: GameRecord) -> None:
        """Store the position with a game's largest value error, if restarts are enabled."""
        if self.config.restart_share == 0:
            return
        ply, error = largest_value_error(record)
        if ply > 0:
            entry = (error, self.count, record.actions[:ply].tobytes())
            if len(self._restarts) < self.config.restart_memory:
                heapq.heappush(self._restarts, entry)
            else:
                heapq.heappushpop(self._restarts, entry)

    @property
    def positions(self) -> int:
        """Number of stored positions to restart from."""
        return len(self._restarts)

    def state_dict(self) -> dict[str, Any]:
        """The state for `load_state_dict`: arrays and numbers."""
        prefixes = [np.frombuffer(prefix, np.int32) for _, _, prefix in self._restarts]
        return {
            "games_started": self.count,
            "restart_regrets": np.array([error for error, _, _ in self._restarts], np.float64),
            "restart_games": np.array([game for _, game, _ in self._restarts], np.int64),
            "restart_lengths": np.array([len(prefix) for prefix in prefixes], np.int64),
            "restart_actions": np.concatenate([np.zeros(0, np.int32), *prefixes]),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        self.count = int(state["games_started"])
        ends = np.cumsum(state["restart_lengths"])[:-1]
        prefixes = np.split(np.asarray(state["restart_actions"], np.int32), ends)
        self._restarts = [
            (float(error), int(game), prefix.tobytes())
            for error, game, prefix in zip(
                state["restart_regrets"], state["restart_games"], prefixes, strict=False
            )
        ]


def after(state: Game, actions: list[int]) -> Game:
    """Apply some actions in place and return the state."""
    for action in actions:
        state.apply(action)
    return state


def replayed(
    state: Game, actions: list[int], rng: Rng, example: NDArray[Any] | None = None
) -> tuple[Game, Plies]:
    """Apply some actions in place, then chance outcomes until a seat is to move.

    Return the state and the plies.
    """
    played, seats, rewards = list[int](), list[int](), list[Any]()
    has_rewards = type(state).rewards is not Game.rewards
    remaining = iter(actions)
    while True:
        action = next(remaining, None)
        if action is None and (state.is_terminal() or not _is_chance(state)):
            break
        seats.append(-1 if _is_chance(state) else state.to_play())
        if action is None:
            action = _outcome(state, rng)
        played.append(action)
        state.apply(action)
        rewards.append(state.rewards() if has_rewards else (0.0,) * state.num_players)
    per_ply = np.array(rewards, np.float32).reshape(len(played), state.num_players)
    return state, Plies.unsearched(played, seats, per_ply, example)


def _is_chance(state: Game) -> bool:
    return bool(getattr(state, "is_chance", bool)())


def _outcome(state: Game, rng: Rng) -> int:
    outcomes = state.chance_outcomes()
    return outcomes[rng.pick([p for _, p in outcomes])][0]
