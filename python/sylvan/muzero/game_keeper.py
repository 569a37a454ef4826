"""Games whose rules are in Python or in an environment: begins them, makes moves, shows the result.

A keeper lives in the run's process, or in another one (`game_processes.py`): what goes in and comes
out is plain data. An error of one game does not affect the others.

It keeps the environments of games that are over, to use them again, and the episodes that were cut
at the end of a lease, so that continuing them needs no replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game, Observation
from sylvan.games.naming import GameSpec
from sylvan.muzero.starts import Begun, Order, Starts
from sylvan.muzero.turns import CUT, own_score, turn_of
from sylvan.planning.outcomes import OVER
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import verdict

__all__ = ["Beginnings", "GameKeeper", "Opening", "Shown"]


class Shown(NamedTuple):
    """A game after a move, or at its start."""

    turn: int
    """The seat to move, `OVER` or `CUT`."""
    observation: Observation | None
    """None if the game is over."""
    legal: Sequence[int] | None
    """The legal actions; None: all."""
    rewards: tuple[float, ...]
    returns: tuple[float, ...]
    """Zeros while the game goes on."""
    score: float
    """Total reward of seat 0 since the first state, by the environment's own count."""


class Opening(NamedTuple):
    """Plies before the first search of a game."""

    actions: list[int]
    seats: list[int]
    rewards: NDArray[np.float32]
    restarted: bool


Beginnings = dict[int, tuple[Opening, Shown] | Exception]
"""Games that have begun, or the errors that they raised, by slot."""


@dataclass
class _Kept:
    """A game in a slot."""

    state: Game
    paid: float
    """Rewards of seat 0 so far."""


class GameKeeper:
    """Games by slot."""

    def __init__(
        self, spec: GameSpec, config: SelfPlayConfig, encoding: Encoding | None = None
    ) -> None:
        self.starts, self._verdict = Starts(spec, config, encoding), config.verdict
        self._reuses = spec.is_gymnasium
        self._games: dict[int, _Kept] = {}
        self._cut: dict[int, tuple[int, _Kept]] = {}
        """Episodes that were cut: by the game that began them, plies so far and the game."""
        self._idle: list[Game] = []
        """Games that are over, whose environments can be used again."""

    def ready(self) -> bool:
        """Whether the game exists here.

        :raises ConfigError: it does not, such as an environment that another process registered.
        """
        return bool(self.starts.spec.first().num_players)

    def begin(self, slot: int, order: Order) -> tuple[Opening, Shown] | Exception:
        """Begin a game in a slot, or give the error that it raised."""
        try:
            begun = self._continued(order)
            over = self._idle.pop() if begun is None and self._idle else None
            begun = begun or self.starts.begin(order, over)
            state, seats = begun.state, begun.state.num_players
            kept = self._games[slot] = _Kept(state, begun.paid)
            rewards = np.zeros((0, seats), np.float32) if begun.rewards is None else begun.rewards
            opening = Opening(begun.actions, begun.seats, rewards, begun.restarted)
            return opening, _shown(kept, (0.0,) * seats)
        except ConfigError:
            raise
        except Exception as error:
            return error

    def _continued(self, order: Order) -> Begun | None:
        """An episode that was cut here."""
        plies, kept = self._cut.pop(order.episode, (-1, None))
        if kept is None or order.before is None or plies != len(order.before):
            return None
        return Begun(kept.state, paid=kept.paid)

    def begin_all(self, orders: Mapping[int, Order]) -> Beginnings:
        """Begin games, by slot."""
        return {slot: self.begin(slot, order) for slot, order in orders.items()}

    def play_all(self, actions: Mapping[int, int]) -> dict[int, Shown | Exception]:
        """Make moves, by slot."""
        return {slot: self.play(slot, action) for slot, action in actions.items()}

    def play(self, slot: int, action: int) -> Shown | Exception:
        """Make a move, or give the error that it raised."""
        kept = self._games[slot]
        try:
            kept.state.apply(action)
            rewards = tuple(map(float, kept.state.rewards()))
            kept.paid += rewards[0]
            return _shown(kept, rewards)
        except ConfigError:
            raise
        except Exception as error:
            return error

    def verdict(self, slot: int) -> tuple[float, ...]:
        """The returns of a game at the move limit."""
        return tuple(verdict(self._games[slot].state, self._verdict).tolist())

    def keep(self, slot: int, episode: int, plies: int) -> None:
        """Take a game out of its slot that another lease continues."""
        self._cut[episode] = plies, self._games.pop(slot)

    def end(self, slot: int, *, failed: bool = False) -> None:
        """Take a game out of its slot that is over, or that raised an error."""
        kept = self._games.pop(slot, None)
        if kept is not None and self._reuses and not failed:
            self._idle.append(kept.state)

    def discard(self, slot: int) -> None:
        """Take a game out of its slot that raised an error."""
        self.end(slot, failed=True)

    def stop(self) -> None:
        """Forget the games in progress, and the episodes that were cut in the same lease."""
        self._games.clear()
        self._cut.clear()


def _shown(kept: _Kept, rewards: tuple[float, ...]) -> Shown:
    state, turn = kept.state, turn_of(kept.state)
    nothing = (0.0,) * len(rewards)
    if turn == OVER:
        returns = tuple(map(float, state.returns()))
        score = own_score(state, kept.paid + returns[0])
        return Shown(turn, None, None, rewards, returns, score)
    legal: Sequence[int] | None = None
    if turn != CUT:
        legal = state.legal_actions()
        legal = None if len(legal) == state.num_actions else list(legal)
    return Shown(turn, state.observation(), legal, rewards, nothing, own_score(state, kept.paid))
