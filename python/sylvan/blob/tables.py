"""Rounds of Blob side by side, so that a network is asked about many hands at once.

Rounds are independent of each other, those of one game too: points add up. So the rounds of many
games are played in lock-step. Seats of bots move inside Rust; whenever all tables wait for others,
each player is asked once for all of its seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.blob.players import BlobPlayer, Bot
from sylvan.games.blob import Blob

__all__ = ["BatchPlayer", "can_play_together", "play_together"]


@runtime_checkable
class BatchPlayer(Protocol):
    """A player that can be asked about many hands at once."""

    def choose_many(
        self, observations: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """An action `[n]` for each of what n seats see, `[n, 1338]`, and may do, `[n, 66]`."""


def can_play_together(players: Sequence[BlobPlayer]) -> TypeGuard[Sequence[Bot | BatchPlayer]]:
    """Whether all of them are bots, or can be asked about many hands at once."""
    return all(isinstance(player, Bot | BatchPlayer) for player in players)


def play_together(
    rounds: Sequence[Blob],
    casts: Sequence[Sequence[Bot | BatchPlayer]],
    rngs: Sequence[Sequence[_native.Rng]],
    threads: int = 1,
) -> list[tuple[list[int], list[int], list[int]]]:
    """Points, bids and tricks by seat of each round.

    :param rounds: dealt; each ends with its round.
    :param casts: who sits where in each.
    :param rngs: what each seat draws from.
    """
    bots = [[each.native if isinstance(each, Bot) else None for each in cast] for cast in casts]
    tables = _native.BlobTables(rounds, bots, rngs, threads)
    while True:
        places, seats, observations, legal = tables.ask()
        if not len(places):
            break
        asked = [casts[place][seat] for place, seat in zip(places, seats, strict=True)]
        actions = np.zeros(len(places), np.int64)
        for player in {id(each): each for each in asked}.values():
            assert isinstance(player, BatchPlayer)
            rows = np.array([each is player for each in asked])
            actions[rows] = player.choose_many(observations[rows], legal[rows])
        tables.tell(actions.tolist())
    return [(tables.points(place), *tables.bids_and_tricks(place)) for place in range(len(tables))]


def tally(
    cards: Sequence[int], outcomes: Sequence[tuple[list[int], list[int], list[int]]]
) -> tuple[NDArray[Any], ...]:
    """Points `[seats]`, rounds and bids made by cards `[seats, 14]`, bids of none `[seats]` and
    rounds by tricks less bid plus 13 `[seats, 27]`, of rounds with so many cards.
    """
    seats = len(outcomes[0][0])
    points, zero_bids = np.zeros(seats, np.int64), np.zeros(seats, np.int64)
    rounds, made = np.zeros((seats, 14), np.int64), np.zeros((seats, 14), np.int64)
    off = np.zeros((seats, 27), np.int64)
    for size, (paid, bids, tricks) in zip(cards, outcomes, strict=True):
        for seat, (bid, took) in enumerate(zip(bids, tricks, strict=True)):
            rounds[seat, size] += 1
            made[seat, size] += bid == took
            zero_bids[seat] += bid == 0
            off[seat, 13 + took - bid] += 1
        points += paid
    return points, rounds, made, zero_bids, off
