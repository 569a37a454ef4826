"""Shared state of the games of a lease: the next to begin, the moves played, the ended ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.muzero.ply_log import PlyLog
from sylvan.muzero.starts import Order, drawn_position
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.game_columns import ENDINGS
from sylvan.selfplay.leases import Lease

__all__ = ["LeaseBook"]


class LeaseBook:
    """A lease being played.

    :param seed: of all games of the run.
    :param observed: whether observations are kept.
    """

    def __init__(
        self, lease: Lease, config: SelfPlayConfig, seed: int, seats: int, *, observed: bool
    ) -> None:
        self.log = PlyLog(lease.first, lease.count, seats, observed=observed)
        self.dropped: list[tuple[int, Exception]] = []
        """Number and error of the games that raised one."""
        self.over = self.positions = self.simulations = self.batches = self.rows = 0
        """Games over; positions and simulations searched; calls of the model and rows in them."""
        self._lease, self._config, self._seed = lease, config, seed
        self._orders = self._all_orders()

    def orders(self, slots: Sequence[int]) -> dict[int, Order]:
        """The next games, for some slots; fewer at the end of the lease."""
        return dict(zip(slots, self._orders, strict=False))

    def _all_orders(self) -> Iterator[Order]:
        lease, games = self._lease, self.log.games
        for game in range(lease.count):
            going_on = lease.unfinished[game] if game < len(lease.unfinished) else None
            episode = lease.first + game if going_on is None else going_on.number
            seed = mix(self._seed, episode)
            games["episodes"][game], games["seeds"][game] = episode, seed
            if going_on is None:
                position = drawn_position(self._config, lease.positions, seed)
                yield Order(game, episode, seed, position)
            else:
                games["begins"][game] = len(going_on.actions)
                before, seen = going_on.actions, going_on.seen
                yield Order(game, episode, seed, before=before, seen=seen)

    def instead(self, order: Order) -> Order:
        """A new episode in place of one that cannot be continued."""
        games = self.log.games
        episode = int(games["numbers"][order.game])
        games["begins"][order.game], games["episodes"][order.game] = 0, episode
        games["seeds"][order.game] = seed = mix(self._seed, episode)
        return Order(order.game, episode, seed)

    def end(self, game: int, ending: str, returns: NDArray[np.float32], score: float) -> None:
        """Note the end of a game, or of its part in this lease."""
        games = self.log.games
        games["endings"][game] = ENDINGS.index(ending)
        games["returns"][game], games["scores"][game] = returns, score
        self.over += 1

    def drop(self, game: int, error: Exception) -> None:
        """Leave out a game that raised an error."""
        self.dropped.append((int(self.log.games["numbers"][game]), error))
