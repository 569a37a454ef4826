"""The gain of a best response in rounds of one card: `python -m benchmarks.blob_one_card`.

All seats are the same player. Its bid is recorded in every situation of a round of one card
(position at the table, own card, bids so far); then all deals of 52 cards are evaluated. The gain
of a position is the mean number of points per round that its best bids against the others' bids
would add; 0 means that no seat can improve alone.

    --players 3,4     table sizes; all deals of five players would be 312 million
    --json
    PLAYER ...        names of `bot_named` in `sylvan.blob.players`
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
from numpy.typing import NDArray

from sylvan import Rng
from sylvan.blob.players import BlobPlayer, bot_named
from sylvan.cli.terminal import print_json
from sylvan.errors import SylvanError
from sylvan.games import Blob
from sylvan.games.blob import FIRST_BID

CARDS, MOST = 52, 0.05
PLAYERS = ("network_search:1000", "network", "counter", "rule")
POINTS = np.array([[10.0, 0.0], [0.0, 11.0]])
"""By bid and tricks."""


def bids_of(player: BlobPlayer, players: int, trump: str) -> list[NDArray[np.int8]]:
    """By turn, `[52, 2 ** turn]`: its bid by its card and the bids before it, the first the
    highest bit. The dealer's are as if it were free to choose; the hook comes later.
    """
    table = []
    for turn in range(players):
        bids = np.zeros((CARDS, 2**turn), np.int8)
        for card, before in itertools.product(range(CARDS), range(2**turn)):
            start = Blob(players, 1, sequence=[1], trump=trump, seed=None, dealer=players - 1)
            view = start.enter(turn, [card])
            for seat in range(turn):
                view.bid(seat, before >> (turn - 1 - seat) & 1)
            bids[card, before] = player.choose(view, Rng(card, before)) - FIRST_BID
        table.append(bids)
    return table


def all_deals(players: int) -> NDArray[np.int8]:
    """`[players, deals]` every way to give each seat a card."""
    grids = np.meshgrid(*[np.arange(CARDS, dtype=np.int8)] * players, indexing="ij")
    deals = np.stack([grid.ravel() for grid in grids])
    pairs = itertools.combinations(range(players), 2)
    apart = np.logical_and.reduce([deals[one] != deals[two] for one, two in pairs])
    return deals[:, apart]


def winners(deals: NDArray[np.int8], trump: str) -> NDArray[np.int64]:
    """`[deals]` the turn that takes the trick; turn 0 leads."""
    suits, ranks = deals // 13, deals % 13
    strength = ranks + 13 * (suits == suits[0])
    if trump == "spades":
        strength = strength + 26 * (suits == 0)
    best: NDArray[np.int64] = strength.argmax(axis=0)
    return best


def gains(player: BlobPlayer, players: int, trump: str) -> list[float]:
    """Points a round that a best response gains, by turn from the leader to the dealer."""
    table, deals = bids_of(player, players, trump), all_deals(players)
    winner = winners(deals, trump)
    before = np.zeros(deals.shape[1], np.int64)
    found = []
    for turn in range(players):
        card = deals[turn].astype(np.int64)
        situation = card << turn | before
        size = CARDS << turn
        count = np.bincount(situation, minlength=size)
        won = np.bincount(situation, winner == turn, minlength=size)
        paid = np.stack([won * pay[1] + (count - won) * pay[0] for pay in POINTS])  # by bid
        if turn == players - 1:  # the hook: bids must not add up to one trick
            total = np.array([bin(number & (2**turn - 1)).count("1") for number in range(size)])
            paid[1, total == 0], paid[0, total == 1] = -np.inf, -np.inf
        own = paid[table[turn].ravel(), np.arange(size)]
        found.append(float((paid.max(axis=0) - own)[count > 0].sum() / deals.shape[1]))
        before = before << 1 | table[turn][card, before]
    return found


def main(arguments: list[str]) -> int:
    """Print a row per table, trump and player; 1 if the first player gives away over `MOST`."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.blob_one_card",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="PLAYER", default=list(PLAYERS))
    parser.add_argument("--players", default="3,4")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    rows = []
    for count, trump in itertools.product(map(int, given.players.split(",")), ("spades", "none")):
        for name in given.names:
            by_place = gains(bot_named(name), count, trump)
            rows.append({"player": name, "players": count, "trump": trump, "gains": by_place})
            if not given.json:
                shown = ", ".join(f"{gain:.4f}" for gain in by_place)
                print(f"{count} players, trump {trump}, {name}: {shown}", flush=True)
    if given.json:
        print_json(rows)
    return int(any(max(row["gains"]) > MOST for row in rows if row["player"] == given.names[0]))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SylvanError as error:
        sys.exit(f"error: {error}")
