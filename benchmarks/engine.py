"""The UCI engine as a GUI sees it: time to be ready, and faults in fast games.

    python -m benchmarks.engine [--quick] [--json] [--games 200] [--net PATH] [--tc 1+0.01]

*Start*: from the start of the process to `readyok` after `WeightsFile` is set, as a GUI sees it.

*Games*: against Stockfish at its lowest skill with a fast clock; counts illegal moves, disconnects,
stalls and losses on time, which must be 0, and the share of the clock that was used. Strength is
measured by `benchmarks.elo_ladder`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.measure import repeat

ENGINE = f"{sys.executable} -m sylvan.engines.uci"
FAILURES = ("illegal move", "disconnect", "stall", "time")


def start(net: str | None) -> float:
    """Seconds from the start of the process to `readyok`."""
    began = time.perf_counter()
    weights = f"setoption name WeightsFile value {net}\n" if net else ""
    with subprocess.Popen(
        ENGINE.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"uci\n{weights}isready\n")
        process.stdin.flush()
        lines: list[str] = []
        while not lines or lines[-1] != "readyok":
            line = process.stdout.readline()
            assert line, f"the engine ended after {lines}"
            lines.append(line.strip())
        took = time.perf_counter() - began
        process.stdin.write("quit\n")
        process.stdin.flush()
    assert net is None or any("The evaluator is" in line for line in lines), lines
    return took


def play(games: int, tc: str, net: str | None, concurrency: int) -> dict[str, Any]:
    """Results of games against Stockfish's lowest skill."""
    from sylvan.engines.match.match import Match
    from sylvan.players.specs import TimeControl, player_spec

    weights = f"; WeightsFile={net}" if net else ""
    ours = player_spec(f"uci:{ENGINE}; Hash=64{weights}; tc={tc}")
    theirs = player_spec(f"uci:stockfish; Skill Level=0; Threads=1; Hash=16; tc={tc}")
    clock = TimeControl.parse(tc)
    counts: Counter[str] = Counter()
    faults, used = [], []
    for game in Match((ours, theirs)).play(range(games), concurrency):
        counts["win" if game.score == 1 else "draw" if game.score == 0.5 else "loss"] += 1
        # A loss on time is a draw if the other side cannot mate.
        at_fault = game.score == 0 or ours.name in game.detail
        if game.ending in FAILURES and at_fault:
            counts[game.ending] += 1
            faults.append(f"game {game.number}: {game.ending}: {game.detail}")
        moves = (len(game.moves) - game.book + 1) // 2
        if moves >= 20:  # a short game leaves its clock unused
            used.append(game.seconds[0] / (clock.base + clock.increment * moves))
        done = sum(counts[result] for result in ("win", "draw", "loss"))
        if sys.stderr.isatty():
            print(f"\r{done} of {games} games  ", end="", file=sys.stderr, flush=True)
    results = {name: counts[name] for name in ("win", "draw", "loss", *FAILURES)}
    share = sum(used) / len(used) if used else None
    return {"games": games, "tc": tc, **results, "clock_used": share, "faults": faults}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="2 games, 2 starts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--tc", default="1+0.01", help="seconds+increment")
    parser.add_argument("--concurrency", type=int, default=1, help="games at once")
    parser.add_argument("--net", help="for the games too; the start is measured with $SYLVAN_NETS")
    options = parser.parse_args()
    nets = os.environ.get("SYLVAN_NETS")
    net = options.net or (str(Path(nets) / "maia-1500.pb.gz") if nets else None)
    repeats = 2 if options.quick else 9
    found: dict[str, Any] = {"start": repeat(lambda: start(None), repeats)}
    if net is not None:
        found["start_with_net"] = repeat(lambda: start(net), repeats)
    if shutil.which("stockfish"):
        games = 2 if options.quick else options.games
        found["games"] = play(games, options.tc, options.net, options.concurrency)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("| name | value | spread | must |\n|---|---|---|---|")
    for name in ("start", "start_with_net"):
        if name in found:
            seconds, spread = found[name]
            print(f"| `{name}` | {seconds:.3f} s | ± {spread:.3f} s | 1.0 s, aim 0.5 s |")
    if "games" not in found:
        print("\nstockfish is not installed: no games were played.")
        return
    played = found["games"]
    for failure in FAILURES:
        print(f"| `{failure}` in {played['games']} games | {played[failure]} | – | 0 |")
    if played["clock_used"] is not None:
        print(f"| `clock_used` | {played['clock_used']:.0%} | – | over 50 % |")
    print(f"\n+{played['win']} ={played['draw']} -{played['loss']} at {played['tc']}")
    print("\n".join(played["faults"]))


if __name__ == "__main__":
    main()
