"""Matches of Blob: one player against copies of another, on repeatable deals.

Most of a game's score is luck of the deal, so a match fixes the deals: a numbered *deal document*
holds the cards of every round of a game, and each document is played once with the focal player in
every seat, all other seats being copies of one player. The score is the focal player's points minus
the others' mean. The games of one document are one observation, so intervals are over deals. Two
players with the same opponents on the same documents are compared by their paired difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.blob.players import BlobPlayer, Bot
from sylvan.blob.tables import can_play_together, play_together, tally
from sylvan.errors import ConfigError
from sylvan.games.blob import Blob

__all__ = ["BUCKETS", "BlobReport", "deal_document", "paired_difference", "play_match"]

BUCKETS = {"1": range(1, 2), "2-4": range(2, 5), "5-8": range(5, 9), "9-13": range(9, 14)}
"""Groups of rounds by cards per hand, for the report of bids made."""

_TOGETHER = 20
"""Documents whose rounds are played in lock-step, for batch players."""


@dataclass(frozen=True)
class BlobReport:
    """The result of a match."""

    first: int
    """The number of the first deal document."""
    differences: NDArray[np.float64]
    """`[deals]` the focal player's points minus the others' mean, over all focal seats."""
    wins: NDArray[np.float64]
    """`[deals]` share of games won by the focal player, ties split."""
    rounds: NDArray[np.int64]
    """`[2, 14]` rounds by cards per hand: the focal player's, the others'."""
    made: NDArray[np.int64]
    """`[2, 14]` bids made, in the same order."""
    zero_bids: NDArray[np.int64]
    """`[2]` bids of zero."""
    off: NDArray[np.int64]
    """`[2, 27]` rounds by tricks minus bid, from -13 to 13."""

    @classmethod
    def joined(cls, reports: Sequence[BlobReport]) -> BlobReport:
        """Concatenate reports of matches on consecutive documents.

        :raises ConfigError: the documents are not consecutive.
        """
        deals = [len(report.differences) for report in reports]
        following = [one.first + count for one, count in zip(reports, deals, strict=True)][:-1]
        if not reports or following != [report.first for report in reports[1:]]:
            raise ConfigError(
                "The matches are not on consecutive deals: give them in order, without gaps."
            )
        return cls(
            reports[0].first,
            np.concatenate([report.differences for report in reports]),
            np.concatenate([report.wins for report in reports]),
            *(
                np.sum([getattr(report, name) for report in reports], axis=0)
                for name in ("rounds", "made", "zero_bids", "off")
            ),
        )

    @property
    def difference(self) -> float:
        """Points per game above the others' mean."""
        return float(self.differences.mean())

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval of `difference`, over deals."""
        return _half_width(self.differences)

    @property
    def win_share(self) -> float:
        """Share of games won, ties split."""
        return float(self.wins.mean())

    @property
    def made_share(self) -> tuple[float, float]:
        """Share of bids made by the focal player, and by the others."""
        shares = self.made.sum(1) / np.maximum(self.rounds.sum(1), 1)
        return float(shares[0]), float(shares[1])

    def made_by_cards(self) -> dict[str, tuple[float, float]]:
        """Return the shares of bids made by cards per hand: the focal player's and the others'."""
        shares = {}
        for name, cards in BUCKETS.items():
            rounds = self.rounds[:, cards].sum(1)
            if rounds.any():
                focal, others = self.made[:, cards].sum(1) / np.maximum(rounds, 1)
                shares[name] = (float(focal), float(others))
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        focal = self.off[0] / max(1, self.off[0].sum())
        rounds = max(1, int(self.rounds[0].sum()))
        return {
            "deals": len(self.differences),
            "first_deal": self.first,
            "difference": self.difference,
            "half_width": self.half_width,
            "win_share": self.win_share,
            "made": self.made_share,
            "made_by_cards": self.made_by_cards(),
            "zero_bids": float(self.zero_bids[0] / rounds),
            "tricks_less_bid": {
                str(off): round(float(share), 4)
                for off, share in zip(range(-13, 14), focal, strict=True)
                if share
            },
        }

    def __str__(self) -> str:
        made = self.made_share
        by_cards = ", ".join(
            f"{name} cards {100 * focal:.1f} / {100 * others:.1f}"
            for name, (focal, others) in self.made_by_cards().items()
        )
        return (
            f"{self.difference:+.2f} ± {self.half_width:.2f} points a game over "
            f"{len(self.differences)} deals, {100 * self.win_share:.1f} % won, bids made "
            f"{100 * made[0]:.1f} / {100 * made[1]:.1f} % ({by_cards})"
        )


def play_match(
    focal: BlobPlayer,
    others: BlobPlayer,
    deals: int,
    *,
    first: int = 0,
    rules: Blob | None = None,
    seats: Sequence[int] | None = None,
    progress: Callable[[int], object] | None = None,
) -> BlobReport:
    """Play `deals` documents, each with the focal player in every seat.

    :param first: the number of the first document.
    :param rules: a game with the rules to use; default: five players, seven cards.
    :param seats: the focal seats of each document; default: all.
    :param progress: called with the number of documents done.
    :raises ConfigError: there are no deals or no seats.
    """
    rules = rules or Blob(5, 7)
    seats = range(rules.num_players) if seats is None else seats
    if deals < 1 or not seats:
        raise ConfigError(f"deals is {deals} and seats {list(seats)}: a match needs one of each.")
    count = _Count(rules.num_players)
    differences, wins = np.zeros(deals), np.zeros(deals)
    together = _TOGETHER if can_play_together([focal, others]) else 1
    for begin in range(0, deals, together):
        some = range(begin, min(begin + together, deals))
        games = [
            ([focal if other == seat else others for other in range(rules.num_players)], number)
            for number in some
            for seat in seats
        ]
        played = iter(_play(rules, [(table, first + number) for table, number in games]))
        for deal in some:
            for seat in seats:
                points = count.add(next(played), seat)
                rest = np.delete(points, seat)
                differences[deal] += (points[seat] - rest.mean()) / len(seats)
                best = points.max()
                if points[seat] == best:
                    wins[deal] += 1 / (points == best).sum() / len(seats)
        if progress is not None:
            progress(some.stop)
    return BlobReport(
        first, differences, wins, count.rounds, count.made, count.zero_bids, count.off
    )


def paired_difference(one: BlobReport, two: BlobReport) -> tuple[float, float]:
    """Return the mean difference of two matches on the same documents, and the half-width of its
    95 % interval.

    :raises ConfigError: the matches are not on the same documents.
    """
    if one.first != two.first or len(one.differences) != len(two.differences):
        raise ConfigError("The matches are on different deals: play both on the same ones.")
    gains = one.differences - two.differences
    return float(gains.mean()), _half_width(gains)


def deal_document(rules: Blob, number: int) -> dict[str, Any]:
    """Return the cards of all rounds of a document, as plain values."""
    rounds = []
    for index in range(len(rules.sequence)):
        game = _round(rules, number, index)
        hands = [game.hand(seat) for seat in range(game.num_players)]
        rounds.append({"cards": game.cards, "dealer": game.dealer, "trump": game.trump,
                       "turned_up": game.turned_up, "hands": hands})  # fmt: skip
    return {"number": number, "rounds": rounds}


class _Count:
    """Sums over the games of a match, for the focal player and for the others."""

    def __init__(self, players: int) -> None:
        self.players = players
        self.rounds = np.zeros((2, 14), np.int64)
        self.made = np.zeros((2, 14), np.int64)
        self.zero_bids = np.zeros(2, np.int64)
        self.off = np.zeros((2, 27), np.int64)

    def add(self, game: tuple[NDArray[Any], ...], seat: int) -> NDArray[Any]:
        """Add a game; return its points."""
        points, rounds, made, zero_bids, off = game
        for other in range(self.players):
            role = int(other != seat)
            self.rounds[role] += rounds[other]
            self.made[role] += made[other]
            self.zero_bids[role] += zero_bids[other]
            self.off[role] += off[other]
        return points


def _play(
    rules: Blob, games: Sequence[tuple[Sequence[BlobPlayer], int]]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Play games; yield points, rounds, bids made, zero bids and tricks minus bid of each, by seat.

    :param games: players by seat, and the number of a document.
    """
    if all(isinstance(player, Bot) for table, _ in games for player in table):
        for table, number in games:
            bots = [player.native for player in table if isinstance(player, Bot)]
            yield tuple(array[0] for array in _native.blob_games(rules, bots, [number]))
        return
    numbers = [(number, index) for _, number in games for index in range(len(rules.sequence))]
    rounds = [_round(rules, number, index).this_round() for number, index in numbers]
    casts = [table for table, _ in games for _ in rules.sequence]
    rngs = [
        [_native.Rng(number, 1000 + 16 * index + seat) for seat in range(rules.num_players)]
        for number, index in numbers
    ]
    if all(map(can_play_together, casts)):
        outcomes = play_together(rounds, casts, rngs)  # type: ignore[arg-type]
    else:
        outcomes = list(map(_played, rounds, casts, rngs))
    for begin in range(0, len(outcomes), len(rules.sequence)):
        yield tally(rules.sequence, outcomes[begin : begin + len(rules.sequence)])


def _played(
    game: Blob, table: Sequence[BlobPlayer], rngs: Sequence[_native.Rng]
) -> tuple[list[int], list[int], list[int]]:
    """Play a round move by move; return points, bids and tricks."""
    while not game.is_terminal():
        seat = game.to_play()
        game.act(seat, table[seat].choose(game.observe(seat), rngs[seat]))
    return game.last_points, [bid or 0 for bid in game.bids], game.tricks


def _round(rules: Blob, number: int, index: int) -> Blob:
    """Return a dealt round of a document."""
    game = rules.at_round(index, [0] * rules.num_players)
    game.shuffle(_native.Rng(number, index))
    return game


def _half_width(values: NDArray[np.float64]) -> float:
    if len(values) < 2:
        return float("inf")
    return float(1.96 * values.std(ddof=1) / len(values) ** 0.5)
