"""Strength of Blob players: `python -m benchmarks.blob [--deals N] [--quick] [NAME ...]`.

Whole games of five players and seven cards on fixed deals: one focal player takes every seat in
turn, against four copies of another. Points per game above the others' mean, with the 95 % interval
over deals.

| name | focal | others | must reach | aim |
|---|---|---|---|---|
| `rule` | rule bot | random | +68 to +73 | |
| `counter` | card counter | rule bot | +13 | +14.5 |
| `rollouts` | 128 rollouts, deals weighted by the others' bids | card counter | +8 | +9.6 |
| `uniform` | 128 rollouts, uniform deals | card counter | +8 | +9.6 |
| `determinised` | a tree in each of 32 deals, 125 simulations each | card counter | | |
| `information_set` | information-set search, 4000 simulations | card counter | +8 | +12 |
| `network_rule` | the shipped network without search | rule bot | +18 | +24.8 |
| `network_counter` | the same | card counter | +3 | +11.6 |
| `network_rollouts` | the same | 128 rollouts | -3 | +5.8 |
| `network_search_rule` | information-set search with the network's opinion | rule bot | +20 | +27 |
| `network_search_counter` | the same | card counter | +5 | +14 |
| `network_search_rollouts` | the same | 128 rollouts | 0 | +7 |

`--play FOCAL OTHERS` plays any two, by the names of `bot_named` in `sylvan.blob.players`:
`rollouts:32 counter`; `--players` and `--cards` change the table. The first two take half a minute
together, the others about a second per deal and seat, searches five.

`--processes N` plays deals in parallel; the result is the same. `--first DEAL` sets the first deal
(default: a million), so that several machines can share the work; `--json` prints the points of
every deal, to combine them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

from sylvan.blob.match import BlobReport, play_match
from sylvan.blob.players import bot_named
from sylvan.cli.terminal import print_json
from sylvan.errors import SylvanError
from sylvan.games import Blob

INF = float("inf")

# Name: focal player, others, deals, least and most that it must reach.
MATCHES = {
    "rule": ("rule", "random", 2000, (68.0, 73.0)),
    "counter": ("counter", "rule", 4000, (13.0, INF)),
    "rollouts": ("rollouts:128", "counter", 250, (8.0, INF)),
    "uniform": ("rollouts:128:uniform", "counter", 250, (8.0, INF)),
    "determinised": ("determinised:32x125", "counter", 100, (-INF, INF)),
    "information_set": ("information_set:4000", "counter", 100, (8.0, INF)),
    "network_rule": ("network", "rule", 1000, (18.0, INF)),
    "network_counter": ("network", "counter", 1000, (3.0, INF)),
    "network_rollouts": ("network", "rollouts:128", 100, (-3.0, INF)),
    "network_search_rule": ("network_search:1000", "rule", 100, (20.0, INF)),
    "network_search_counter": ("network_search:1000", "counter", 100, (5.0, INF)),
    "network_search_rollouts": ("network_search:1000", "rollouts:128", 100, (0.0, INF)),
}


FIRST = 1_000_000
"""The number of the first deal document."""


def play(
    focal: str, others: str, deals: int, rules: Blob, first: int = FIRST, processes: int = 1
) -> tuple[BlobReport, float]:
    """The report of a match, and its time in seconds."""
    began = shown = time.perf_counter()
    reports = []
    for report in parts(focal, others, deals, rules, first, processes):
        reports.append(report)
        if (now := time.perf_counter()) > shown + 1:
            shown = now
            done = f"{len(reports)} of {deals} deals"
            print(f"\r{focal} against {others}: {done}", end="", file=sys.stderr)
    if shown > began:
        print(file=sys.stderr)
    return BlobReport.joined(reports), time.perf_counter() - began


def parts(
    focal: str, others: str, deals: int, rules: Blob, first: int, processes: int
) -> Iterator[BlobReport]:
    """The report of every deal, in their order."""
    given = range(first, first + deals), repeat(focal), repeat(others), repeat(rules)
    if processes == 1:
        yield from map(play_deal, *given)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(play_deal, *given, chunksize=max(1, min(10, deals // processes // 8)))


def play_deal(number: int, focal: str, others: str, rules: Blob) -> BlobReport:
    """The games of one deal document."""
    return play_match(bot_named(focal), bot_named(others), 1, first=number, rules=rules)


def main(arguments: list[str]) -> int:
    """Play all or the named matches; return 1 if one missed its required result."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.blob",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MATCHES))
    parser.add_argument("--play", nargs=2, metavar=("FOCAL", "OTHERS"))
    parser.add_argument("--deals", type=int)
    parser.add_argument("--first", type=int, default=FIRST, metavar="DEAL")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--players", type=int, default=5)
    parser.add_argument("--cards", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="few deals: does it run?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in MATCHES:
            parser.error(f"there is no match {name!r}: there are {', '.join(MATCHES)}")
    rules = Blob(given.players, given.cards)
    chosen = {name: MATCHES[name] for name in given.names or MATCHES}
    if given.play:
        focal, others = given.play
        chosen = {f"{focal} {others}": (focal, others, 1000, (-INF, INF))}
    rows, reached = [], True
    for name, (focal, others, deals, (low, high)) in chosen.items():
        deals = given.deals or (max(2, deals // 200) if given.quick else deals)
        report, seconds = play(focal, others, deals, rules, given.first, given.processes)
        row = {"name": name, "seconds": seconds, "must": low, **report.to_json()}
        rows.append(row | {"differences": report.differences.tolist()})
        reached &= given.quick or low <= report.difference <= high
        if not given.json:
            print(f"{name}: {report} [{seconds:.0f} s]", flush=True)
    if given.json:
        print_json(rows)
    return 0 if reached else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SylvanError as error:
        sys.exit(f"error: {error}")
