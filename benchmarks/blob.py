"""What players of Blob are worth: `python -m benchmarks.blob [--deals N] [--quick] [NAME ...]`.

Five players, seven cards, whole games; one focal player in every seat in turn against four that are
alike, on fixed deals. Points a game above the others' mean, with the 95 % interval over deals.

| name | focal | others | must reach | aim |
|---|---|---|---|---|
| `rule` | rule bot | random | +68 to +73 | |
| `counter` | card counter | rule bot | +13 | +14.5 |
| `rollouts` | 128 rollouts, of deals weighted by the others' bids | card counter | +8 | +9.6 |
| `uniform` | 128 rollouts, of deals that are all equally likely | card counter | +8 | +9.6 |

`--play FOCAL OTHERS` plays any two, by the names of `bot_named` in `sylvan.engines.blob_players`:
`rollouts:32 counter`; `--players` and `--cards` change the table. The first two take half a minute
together, the others about a second a deal and seat.
"""

from __future__ import annotations

import argparse
import sys
import time

from sylvan.cli.terminal import print_json
from sylvan.engines.blob_match import BlobReport, play_match
from sylvan.engines.blob_players import bot_named
from sylvan.errors import SylvanError
from sylvan.games import Blob

# Name: focal player, others, deals, least and most that it must reach.
MATCHES = {
    "rule": ("rule", "random", 2000, (68.0, 73.0)),
    "counter": ("counter", "rule", 4000, (13.0, float("inf"))),
    "rollouts": ("rollouts:128", "counter", 250, (8.0, float("inf"))),
    "uniform": ("rollouts:128:uniform", "counter", 250, (8.0, float("inf"))),
}


def play(focal: str, others: str, deals: int, rules: Blob) -> tuple[BlobReport, float]:
    """The report of a match, and the seconds that it took."""
    began = shown = time.perf_counter()

    def show(done: int) -> None:
        nonlocal shown
        if (now := time.perf_counter()) > shown + 1:
            shown = now
            print(f"\r{focal} against {others}: {done} of {deals} deals", end="", file=sys.stderr)

    players = bot_named(focal), bot_named(others)
    report = play_match(*players, deals, first=1_000_000, rules=rules, progress=show)
    seconds = time.perf_counter() - began
    if shown > began:
        print(file=sys.stderr)
    return report, seconds


def main(arguments: list[str]) -> int:
    """Play the matches, all or those named; 1 if one did not reach what it must."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.blob",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MATCHES))
    parser.add_argument("--play", nargs=2, metavar=("FOCAL", "OTHERS"))
    parser.add_argument("--deals", type=int)
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
        chosen = {f"{focal} {others}": (focal, others, 1000, (-float("inf"), float("inf")))}
    rows, reached = [], True
    for name, (focal, others, deals, (low, high)) in chosen.items():
        deals = given.deals or (max(2, deals // 200) if given.quick else deals)
        report, seconds = play(focal, others, deals, rules)
        rows.append({"name": name, "seconds": seconds, "must": low, **report.to_json()})
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
