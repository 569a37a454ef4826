"""Where games start: the first state, some random moves later, or where an earlier game erred.

A start is a row of actions from the game's first state, so a game can always be played again. All
that is random about a game's start comes from the run's seed and the number of the game.
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
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.plies import Plies

__all__ = ["Start", "Starts", "after", "most_mistaken", "replayed"]

ATTEMPTS = 100
"""Random openings to try before a game starts at its first state after all: in a short game they
can end it."""


@dataclass(frozen=True)
class Start:
    """A new game."""

    number: int
    seed: int
    state: Game
    """A seat is to move."""
    plies: Plies
    """What led there."""
    restarted: bool = False
    """It starts inside an earlier game."""


class Starts:
    """Starts of games, one after another."""

    def __init__(
        self, spec: GameSpec, config: SelfPlayConfig, seed: int, encoding: Encoding | None = None
    ) -> None:
        self.spec, self.config, self.seed, self.encoding = spec, config, seed, encoding
        self.count = 0
        """Games started so far."""
        self._mistaken: list[tuple[float, int, bytes]] = []
        """A heap of positions to start from: how mistaken, the number of the game, its actions."""
        self._nothing: Plies | None = None

    def copy(self) -> Starts:
        """Another row of starts that goes on from here."""
        other = copy.copy(self)
        other._mistaken = list(self._mistaken)
        return other

    def first(self) -> Game:
        """The game's first state, as the network sees it."""
        return self.spec.first() if self.spec.is_gymnasium else self._first.clone()

    def begin(self, seed: int, over: Game | None = None) -> Game:
        """The first state of the game with this seed: `first`, but of an environment.

        :param over: a game that is no longer needed, whose environment can be used again.
        """
        return self.spec.episode(seed, over) if self.spec.is_gymnasium else self.first()

    @cached_property
    def _first(self) -> Game:
        state = self.spec.first()
        return state if self.encoding is None else state.encoded(self.encoding)

    def next(self, example: NDArray[Any] | None = None, over: Game | None = None) -> Start:
        """The next game; `example` is an observation where they are kept, `over` as in `begin`."""
        number = self.count
        seed = mix(self.seed, number)
        rng = Rng(seed)
        kind, config = rng.uniform(), self.config
        actions: list[int] = []
        restarted = kind < config.restart_share and bool(self._mistaken)
        if restarted:
            place = rng.below(len(self._mistaken))
            _, _, prefix = self._mistaken.pop(place)
            heapq.heapify(self._mistaken)
            actions = np.frombuffer(prefix, np.int32).tolist()
        elif config.restart_share <= kind < config.restart_share + config.opening_share:
            actions = self._random_opening(rng, seed)
        state = self.begin(seed, over)
        if actions or _is_chance(state):
            state, plies = replayed(state, actions, rng, example)
        else:
            plies = self._no_plies(example)
        if state.is_terminal():
            raise GameContractError(
                f"{type(state).__name__} is over before anybody has moved: let is_terminal() be "
                "False in a state to start from."
            )
        self.count += 1
        return Start(number, seed, state, plies, restarted)

    def _no_plies(self, example: NDArray[Any] | None) -> Plies:
        """The same empty stretch for all games that start at the first state."""
        if self._nothing is None:
            none = np.zeros((0, self._first.num_players), np.float32)
            self._nothing = Plies.unsearched([], [], none, example)
        return self._nothing

    def _random_opening(self, rng: Rng, seed: int) -> list[int]:
        """Random moves, of chance too, that do not end the game."""
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
        """Remember where a game was most mistaken, if restarts are wanted."""
        if self.config.restart_share == 0:
            return
        ply, regret = most_mistaken(record)
        if ply > 0:
            entry = (regret, self.count, record.actions[:ply].tobytes())
            if len(self._mistaken) < self.config.restart_memory:
                heapq.heappush(self._mistaken, entry)
            else:
                heapq.heappushpop(self._mistaken, entry)

    @property
    def positions(self) -> int:
        """Positions that games may start from."""
        return len(self._mistaken)

    def state_dict(self) -> dict[str, Any]:
        """Plain data from which `load_state_dict` goes on."""
        prefixes = [np.frombuffer(prefix, np.int32) for _, _, prefix in self._mistaken]
        return {
            "games_started": self.count,
            "restart_regrets": np.array([regret for regret, _, _ in self._mistaken], np.float64),
            "restart_games": np.array([game for _, game, _ in self._mistaken], np.int64),
            "restart_lengths": np.array([len(prefix) for prefix in prefixes], np.int64),
            "restart_actions": np.concatenate([np.zeros(0, np.int32), *prefixes]),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.count = int(state["games_started"])
        ends = np.cumsum(state["restart_lengths"])[:-1]
        prefixes = np.split(np.asarray(state["restart_actions"], np.int32), ends)
        self._mistaken = [
            (float(regret), int(game), prefix.tobytes())
            for regret, game, prefix in zip(
                state["restart_regrets"], state["restart_games"], prefixes, strict=False
            )
        ]


def after(state: Game, actions: list[int]) -> Game:
    """The state after some actions, which are taken in place."""
    for action in actions:
        state.apply(action)
    return state


def replayed(
    state: Game, actions: list[int], rng: Rng, example: NDArray[Any] | None = None
) -> tuple[Game, Plies]:
    """The state after some actions, and after those of chance that follow them, and the plies."""
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
    paid = np.array(rewards, np.float32).reshape(len(played), state.num_players)
    return state, Plies.unsearched(played, seats, paid, example)


def most_mistaken(record: GameRecord) -> tuple[int, float]:
    """The searched ply at which a seat was most wrong about what it would get, and by how much."""
    searched = record.searched
    searched = searched[searched > 0]
    if not len(searched):
        return 0, 0.0
    to_come = np.broadcast_to(record.returns.astype(np.float64), record.values.shape)
    if record.rewards is not None:
        to_come = to_come + np.cumsum(record.rewards[::-1].astype(np.float64), axis=0)[::-1]
    seats = record.seats[searched]
    regrets = np.abs(to_come[searched, seats] - record.values[searched, seats])
    worst = int(np.argmax(regrets))
    return int(searched[worst]), float(regrets[worst])


def _is_chance(state: Game) -> bool:
    return bool(getattr(state, "is_chance", bool)())


def _outcome(state: Game, rng: Rng) -> int:
    outcomes = state.chance_outcomes()
    return outcomes[rng.pick([p for _, p in outcomes])][0]
