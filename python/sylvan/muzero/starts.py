"""How a game of a lease starts: at the first state, after random moves, at a position of the lease,
or where an earlier lease left an episode.

A start is a sequence of actions from the first state, so a game can always be replayed. All random
choices come from the game's stream for its start, as in `selfplay/openings.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.errors import GameContractError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.turns import need_no_chance
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.restarts import Position

__all__ = ["Begun", "Order", "Starts", "checksum", "drawn_position"]

ATTEMPTS = 100
"""Number of random openings to try until one does not end the game; else start at the first state.
"""


@dataclass(frozen=True)
class Order:
    """A game to begin."""

    game: int
    """Its index in the lease."""
    episode: int
    """The game that began the episode."""
    seed: int
    """Of the episode."""
    position: Sequence[int] | None = None
    """The position of the lease to begin at, if one was drawn."""
    before: Sequence[int] | None = None
    """The actions of an episode to continue; None: begin a new one."""
    seen: int = 0
    """The checksum of the observation after them."""


@dataclass(frozen=True)
class Begun:
    """A game that has begun."""

    state: Game
    actions: list[int] = field(default_factory=list)
    """Of the opening; of an episode that goes on, nothing."""
    seats: list[int] = field(default_factory=list)
    rewards: NDArray[np.float32] | None = None
    """`[T, S]` of the opening."""
    paid: float = 0.0
    """Total reward of seat 0 so far."""
    restarted: bool = False


def drawn_position(
    config: SelfPlayConfig, positions: Sequence[Position], seed: int
) -> Position | None:
    """The position of a lease where the game with this seed begins; None: elsewhere."""
    rng = Rng(seed, 0)
    drawn = positions and rng.uniform() < config.restart_share
    return positions[rng.below(len(positions))] if drawn else None


class Starts:
    """Begins the games of a run."""

    def __init__(
        self, spec: GameSpec, config: SelfPlayConfig, encoding: Encoding | None = None
    ) -> None:
        self.spec, self.config, self.encoding = spec, config, encoding
        self._first: Game | None = None

    def first(self, seed: int, over: Game | None = None) -> Game:
        """The first state of the game with this seed; only environments depend on the seed.

        :param over: a game that is no longer needed, whose environment can be reused.
        """
        if self.spec.is_gymnasium:
            return self.spec.episode(seed, over)
        if self._first is None:
            state = self.spec.first()
            self._first = state if self.encoding is None else state.encoded(self.encoding)
        return self._first.clone()

    def begin(self, order: Order, over: Game | None = None) -> Begun:
        """Begin or continue a game.

        :raises GameContractError: it is over before the first move, or does not repeat itself.
        """
        if order.before is not None:
            return self._continued(order, order.before, over)
        rng, config = Rng(order.seed, 0), self.config
        kind = rng.uniform()
        actions: Sequence[int] = ()
        if order.position is not None:
            actions = order.position
        elif config.restart_share <= kind < config.restart_share + config.opening_share:
            actions = self._random_opening(rng, order.seed)
        state = self.first(order.seed, over)
        need_no_chance(state)
        if state.is_terminal():
            raise GameContractError(
                f"{type(state).__name__} is over before the first move: is_terminal() must be "
                "False in the first state."
            )
        seats, rewards = _replay(state, actions)
        paid = float(rewards[:, 0].sum())
        return Begun(state, list(actions), seats, rewards, paid, order.position is not None)

    def _continued(self, order: Order, before: Sequence[int], over: Game | None) -> Begun:
        """Replay an episode up to where it was cut."""
        state = self.first(order.seed, over)
        _, rewards = _replay(state, before)
        if state.is_terminal() or checksum(state.observation()) != order.seen:
            raise GameContractError(
                f"{self.spec.short_name} shows other observations for the same seed and actions, "
                "so its episodes cannot be continued"
            )
        return Begun(state, paid=float(rewards[:, 0].sum()))

    def _random_opening(self, rng: Rng, seed: int) -> list[int]:
        """Random moves that do not end the game."""
        for _ in range(ATTEMPTS):
            state, actions = self.first(seed), list[int]()
            moves = 1 + rng.below(self.config.opening_plies)
            while moves and not state.is_terminal():
                need_no_chance(state)
                legal = state.legal_actions()
                actions.append(int(legal[rng.below(len(legal))]))
                moves -= 1
                state.apply(actions[-1])
            if not state.is_terminal():
                return actions
        return []


def checksum(observation: Any) -> int:
    """A checksum of an observation."""
    return crc32(np.ascontiguousarray(observation).tobytes())


def _replay(state: Game, actions: Sequence[int]) -> tuple[list[int], NDArray[np.float32]]:
    """Apply some actions in place; return the seats that took them, and the rewards `[T, S]`."""
    seats, rewards = list[int](), list[Sequence[float]]()
    has_rewards = type(state).rewards is not Game.rewards
    nothing = (0.0,) * state.num_players
    for action in actions:
        seats.append(state.to_play())
        state.apply(action)
        rewards.append(state.rewards() if has_rewards else nothing)
    return seats, np.array(rewards, np.float32).reshape(len(seats), state.num_players)
