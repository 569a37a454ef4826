"""Rounds of Blob in lock-step, so that a network evaluates many hands in one batch.

Rounds are independent, also within a game, because points add up. Bots move inside Rust; when all
tables wait for other players, each of these gets one batch for all of its seats.
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
    """A player that chooses for many hands at once."""

    def choose_many(
        self, observations: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return actions `[n]` for observations `[n, 1338]` and legal actions `[n, 66]`."""


def can_play_together(players: Sequence[BlobPlayer]) -> TypeGuard[Sequence[Bot | BatchPlayer]]:
    """Return whether all are bots or batch players."""
    return all(isinstance(player, Bot | BatchPlayer) for player in players)


def play_together(
    rounds: Sequence[Blob],
    casts: Sequence[Sequence[Bot | BatchPlayer]],
    rngs: Sequence[Sequence[_native.Rng]],
    threads: int = 1,
) -> list[tuple[list[int], list[int], list[int]]]:
    """Play rounds; return points, bids and tricks by seat of each.

    :param rounds: dealt games of one round.
    :param casts: players by seat, for each round.
    :param rngs: random generators by seat, for each round.
    """
    bots = [[each.native if isinstance(each, Bot) else None for each in cast] for cast in casts]
    tables = _native.BlobTables(rounds, bots, rngs, threads)
    while True:
        numbers, seats, observations, legal = tables.ask()
        if not len(numbers):
            break
        players = [casts[number][seat] for number, seat in zip(numbers, seats, strict=True)]
        actions = np.zeros(len(numbers), np.int64)
        for player in {id(each): each for each in players}.values():
            assert isinstance(player, BatchPlayer)
            rows = np.array([each is player for each in players])
            actions[rows] = player.choose_many(observations[rows], legal[rows])
        tables.tell(actions.tolist())
    return [
        (tables.points(number), *tables.bids_and_tricks(number)) for number in range(len(tables))
    ]


def tally(
    cards: Sequence[int], outcomes: Sequence[tuple[list[int], list[int], list[int]]]
) -> tuple[NDArray[Any], ...]:
    """Sum up rounds: points `[seats]`, rounds and bids made by cards per hand `[seats, 14]`, zero
    bids `[seats]`, and rounds by tricks minus bid plus 13 `[seats, 27]`.

    :param cards: cards per hand of each round.
    :param outcomes: points, bids and tricks of each round.
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
