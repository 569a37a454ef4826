"""Strength in matches: `python -m benchmarks.strength [--games N] [--quick] [--json] [NAME ...]`.

| name | match | must score |
|---|---|---|
| `search` | Maia-1900 at 800 nodes against itself at 1 node | 85 % |
| `material` | `material` at 800 simulations against random moves | 99 % |
| `nodes` | our chess network at 800 nodes against itself at 100 | 75 % |
| `double_200` ... `double_1600` | it against itself at half the nodes | 54.3 %, 30 Elo |
| `maia` | it against Maia-1900, both 0.5 s a move on one core | 70 % |
| `stockfish_7` | it at 0.5 s against Stockfish at `Skill Level` 7 and 0.1 s | 50 % |
| `timed_material` | it against `material`, both 0.5 s a move | 85 % |

200 games each, built-in openings with colours swapped, no adjudication. Maia is
`maia-1900.pb.gz` in the folder SYLVAN_NETS, or `--maia FILE`; `--net FILE` plays another network of
our own. `--out FOLDER` stores the games, so that an interrupted match resumes.

Games limited by nodes are all in progress at once, and both sides share the network's batch. Nodes
include those kept from the last move; a cache answers repeated positions. A game of `search` takes
about 15,000 evaluations. In timed matches each game has a core to itself: `--concurrency` games at
once, by default as many as there are cores.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from sylvan.cli.terminal import print_json
from sylvan.engines.match.ledger import Ledger
from sylvan.engines.match.match import Match, Played
from sylvan.engines.match.report import Report
from sylvan.errors import SylvanError
from sylvan.players.specs import player_spec

GAMES, QUICK = 200, 4
TIMED = "seconds=0.5,threads=1"
THIRTY_ELO = 1 / (1 + 10 ** (-30 / 400))
MATCHES: dict[str, tuple[str, str, float]] = {
    "search": ("{maia}:nodes=800", "{maia}:nodes=1", 0.85),
    "material": ("material:simulations=800", "random", 0.99),
    "nodes": ("{net}:nodes=800", "{net}:nodes=100", 0.75),
    **{
        f"double_{nodes}": (f"{{net}}:nodes={nodes}", f"{{net}}:nodes={nodes // 2}", THIRTY_ELO)
        for nodes in (200, 400, 800, 1600)
    },
    "maia": (f"{{net}}:{TIMED}", f"{{maia}}:{TIMED}", 0.70),
    "stockfish_7": (
        f"{{net}}:{TIMED}",
        "uci:stockfish; Skill Level=7; Threads=1; Hash=16; seconds=0.1",
        0.50,
    ),
    "timed_material": (f"{{net}}:{TIMED}", "material:seconds=0.5", 0.85),
}
"""By name: two players, and the least score that the first must reach."""


def match_of(name: str, net: Path, maia: Path | None, quick: bool) -> Match:
    """The match of this name between these networks."""
    a, b, _ = MATCHES[name]
    if maia is None and "{maia}" in a + b:
        raise SystemExit(f"error: {name} needs Maia-1900: give --maia FILE, or set SYLVAN_NETS.")
    texts = [text.format(net=net, maia=maia) for text in (a, b)]
    if quick:
        texts = [re.sub(r"(nodes|simulations)=\d\d+", r"\1=30", text) for text in texts]
        texts = [re.sub(r"seconds=0\.\d+", "seconds=0.01", text) for text in texts]
    return Match((player_spec(texts[0]), player_spec(texts[1])))


def play(
    name: str, match: Match, games: int, out: Path | None, concurrency: int | None
) -> tuple[Report, float]:
    """The report of a match, and the seconds of this call."""
    began = time.perf_counter()
    with kept(out / f"{name}.jsonl" if out else None, match) as (done, keep):
        known = {game.number for game in done}
        missing = (number for number in range(games) if number not in known)
        for game in match.play(missing, games if match.shares_batches else concurrency):
            keep(game)
            print(f"\r{name}: {len(done)} of {games} games", end="", file=sys.stderr)
    print(file=sys.stderr)
    assert sorted(game.number for game in done) == list(range(games))
    return Report(match, done), time.perf_counter() - began


@contextmanager
def kept(
    file: Path | None, match: Match
) -> Iterator[tuple[list[Played], Callable[[Played], None]]]:
    """The games so far, and a function that adds one; stored in a file if one is given."""
    if file is None:
        games: list[Played] = []
        yield games, games.append
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with Ledger(file, match) as ledger:
        yield ledger.games, ledger.add


def main(arguments: list[str]) -> int:
    """Play the named matches, or all; return 1 if one missed its required score."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strength",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MATCHES))
    parser.add_argument("--games", type=int)
    parser.add_argument("--quick", action="store_true", help="few games, few nodes: does it run?")
    parser.add_argument("--net", type=Path, default=Path(str(files("sylvan") / "nets/chess.onnx")))
    parser.add_argument("--maia", type=Path)
    parser.add_argument("--concurrency", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="a folder that keeps the games")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in MATCHES]
    if unknown:
        parser.error(f"there is no match {unknown[0]!r}: there are {', '.join(MATCHES)}")
    games = given.games or (QUICK if given.quick else GAMES)
    maia = given.maia
    if maia is None and "SYLVAN_NETS" in os.environ:
        maia = Path(os.environ["SYLVAN_NETS"]) / "maia-1900.pb.gz"
    rows = []
    for name in given.names or MATCHES:
        match = match_of(name, given.net, maia, given.quick)
        report, seconds = play(name, match, games, given.out, given.concurrency)
        rows.append((name, report, seconds))
    if given.json:
        facts = [
            {"name": n, "seconds": s, "must": MATCHES[n][2], **r.to_json()} for n, r, s in rows
        ]
        print_json(facts)
    else:
        print(
            "| name | games | score | must | won, drawn, lost | Elo | seconds |\n"
            + "|---" * 7
            + "|"
        )
        for name, report, seconds in rows:
            elo, must = report.elo, MATCHES[name][2]
            print(
                f"| `{name}` | {elo.games} | {elo.score:.1%} | {must:.1%} | "
                f"{elo.wins}, {elo.draws}, {elo.losses} | {elo} | {seconds:.0f} |"
            )
    return 0 if all(report.elo.score >= MATCHES[name][2] for name, report, _ in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SylvanError as error:
        sys.exit(f"error: {error}")
