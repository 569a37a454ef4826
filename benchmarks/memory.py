"""Is the byte budget kept? `python -m benchmarks.memory [--seconds 60] [--budgets 16M,1G]`.

Searches chess and Connect Four with hash-random evaluations, each in its own process, for some
seconds under each budget, and prints the growth of the process, as the operating system reports it,
divided by the budget. At most 1.1 is promised, for any duration and from 16 MB to 16 GB. `live` is
the tree's own count; `simulations` and `full after` show whether the limit was reached: 1 GB is
full after about ten million simulations.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
GAMES = ("chess", "connect4")


def resident() -> int:
    """The memory of this process in bytes."""
    with open("/proc/self/statm") as statm:
        return 4096 * int(statm.read().split()[1])


def measure(game: str, budget: int, seconds: float) -> dict[str, Any]:
    """Search in this process; return its growth and its work."""
    from sylvan import Search
    from sylvan.games import Chess, ConnectFour

    state = {"chess": Chess, "connect4": ConnectFour}[game]()
    warm = Search("hash_random", simulations=1000, bytes=65536)
    warm.run(state, progress=lambda _: None)
    search = Search("hash_random", simulations=None, seconds=seconds, bytes=budget, proofs=False)
    before, start = resident(), time.monotonic()
    peak = 0
    full_after: float | None = None

    def look(_: object) -> None:
        nonlocal peak, full_after
        peak = max(peak, resident() - before)
        if full_after is None and search.result.bytes > 0.8 * budget:
            full_after = time.monotonic() - start

    result = search.run(state, progress=look)
    look(None)
    return {
        "game": game,
        "budget": budget,
        "grown": peak / budget,
        "live": result.bytes / budget,
        "simulations": result.simulations,
        "nodes": result.nodes,
        "full_after": full_after,
    }


def in_own_process(game: str, budget: int, seconds: float) -> dict[str, Any]:
    """`measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.memory", "--one", game]
    command += ["--budgets", str(budget), "--seconds", str(seconds)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(out.stdout)
    return answer


def read_bytes(text: str) -> int:
    """`16M`, `1.5G`, `65536`."""
    unit = UNITS.get(text[-1:].upper())
    return int(text) if unit is None else int(float(text[:-1]) * unit)


def main(arguments: list[str]) -> int:
    """Print a row per game and budget; return 1 if the promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="of each search (20)")
    parser.add_argument("--budgets", default="16M,64M,256M", help="such as 16M,1G,16G")
    parser.add_argument("--json", action="store_true", help="a list of objects")
    parser.add_argument("--one", choices=GAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    budgets = [read_bytes(text) for text in options.budgets.split(",")]
    if options.one:
        print(json.dumps(measure(options.one, budgets[0], options.seconds)))
        return 0
    rows = []
    if not options.json:
        print("| game | budget | grown ÷ budget | live ÷ budget | simulations | full after |")
        print("|---|---|---|---|---|---|")
    for budget in budgets:
        for game in GAMES:
            row = in_own_process(game, budget, options.seconds)
            rows.append(row)
            if not options.json:
                full = row["full_after"]
                full = "not" if full is None else f"{full:.1f} s"
                print(
                    f"| {game} | {budget / 2**20:,.0f} MB | {row['grown']:.3f} "
                    f"| {row['live']:.3f} | {row['simulations']:,} | {full} |",
                    flush=True,
                )
    if options.json:
        print(json.dumps(rows, indent=1))
    return int(any(row["grown"] > 1.1 for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
