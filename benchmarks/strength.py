"""What search gains: `python -m benchmarks.strength [--games N] [--quick] [--json] [NAME ...]`.

| name | match | must score |
|---|---|---|
| `search` | a network at 800 nodes against itself at 1 node | 85 % |
| `material` | `material` at 800 simulations against random moves | 99 % |

200 games each, built-in openings with colours swapped, no adjudication. The network is
`maia-1900.pb.gz` in the folder SYLVAN_NETS, or `--net FILE`, which may be its int8 model. `--out
FOLDER` stores the games, so that an interrupted match resumes.

All games of `search` are in progress at once, and both sides share the network's batch. Nodes
include those kept from the last move; a cache answers repeated positions. A game takes about 15,000
evaluations, the match 3 million: half an hour at 2,000 per second, 20 minutes at 3,300 (int8),
including the search's own eighth. `material` takes ten seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sylvan.cli.terminal import print_json
from sylvan.engines.match.ledger import Ledger
from sylvan.engines.match.match import Match, Played
from sylvan.engines.match.report import Report
from sylvan.errors import SylvanError
from sylvan.players.specs import player_spec

GAMES, QUICK = 200, 4
NODES, QUICK_NODES = 800, 50
MUST = {"search": 0.85, "material": 0.99}


def matches(net: Path | None, nodes: int) -> dict[str, Match]:
    """The matches by name; without a network only those that need none."""
    found = {}
    if net is not None:
        a, b = (player_spec(f"{net}:nodes={count}") for count in (nodes, 1))
        found["search"] = Match((a, b))
    strong = player_spec(f"material:simulations={nodes}")
    found["material"] = Match((strong, player_spec("random")))
    return found


def play(name: str, match: Match, games: int, out: Path | None) -> tuple[Report, float]:
    """The report of a match, and the seconds of this call."""
    began = time.perf_counter()
    with kept(out / f"{name}.jsonl" if out else None, match) as (done, keep):
        known = {game.number for game in done}
        missing = (number for number in range(games) if number not in known)
        for game in match.play(missing, games if match.shares_batches else os.cpu_count()):
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
    """Play all or the named matches; return 1 if one missed its required score."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strength")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MUST))
    parser.add_argument("--games", type=int)
    parser.add_argument("--quick", action="store_true", help="few games, few nodes: does it run?")
    parser.add_argument("--net", type=Path)
    parser.add_argument("--out", type=Path, help="a folder that keeps the games")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    games = given.games or (QUICK if given.quick else GAMES)
    net = given.net
    if net is None and "SYLVAN_NETS" in os.environ:
        net = Path(os.environ["SYLVAN_NETS"]) / "maia-1900.pb.gz"
    found = matches(net, QUICK_NODES if given.quick else NODES)
    unknown = [name for name in given.names if name not in found]
    if unknown:
        parser.error(f"there is no match {unknown[0]!r} here: {', '.join(found)}; see --net")
    rows = []
    for name in given.names or found:
        report, seconds = play(name, found[name], games, given.out)
        rows.append((name, report, seconds))
    if given.json:
        facts = [{"name": n, "seconds": s, "must": MUST[n], **r.to_json()} for n, r, s in rows]
        print_json(facts)
    else:
        print(
            "| name | games | score | must | won, drawn, lost | Elo | seconds |\n"
            + "|---" * 7
            + "|"
        )
        for name, report, seconds in rows:
            elo = report.elo
            print(
                f"| `{name}` | {elo.games} | {100 * elo.score:.1f} % | {100 * MUST[name]:.0f} % | "
                f"{elo.wins}, {elo.draws}, {elo.losses} | {elo} | {seconds:.0f} |"
            )
    return 0 if all(report.elo.score >= MUST[name] for name, report, _ in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SylvanError as error:
        sys.exit(f"error: {error}")
