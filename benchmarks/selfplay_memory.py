"""The memory of self-play: `python -m benchmarks.selfplay_memory [--seconds 20] [--games 2048]`.

Bytes per game in progress, and growth of the process while it plays. Chess and Connect Four, 32
simulations a move, an evaluator that answers at once, leases of as many games as are in progress;
each in its own process, with all games and with a quarter of them. A game's bytes are the
difference of the peaks ÷ the difference of the games, the columns of its lease included. Growth is
the peak in the last quarter of the time ÷ that in the second. It must be below 2 %, also in an hour
(`--seconds 3600`). It is not stated for fewer than eight leases, in which not all buffers are full.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from typing import Any

from benchmarks.memory import resident

GAMES = ("chess", "connect4")
MOST_GROWTH = 0.02
FEWEST_LEASES = 8
INTERVAL = 0.01
"""Seconds between two looks at the memory."""


def measure(game: str, games: int, seconds: float, threads: int) -> dict[str, Any]:
    """Play in this process; return its memory in each quarter of the time, and its work."""
    from benchmarks.actors import ObservationHash, checked_actors

    before, evaluator = resident(), ObservationHash()
    actors = checked_actors(game, evaluator, games, max(1, games // 4), threads)
    peaks, over = [0] * 4, threading.Event()
    began, played, simulations = time.monotonic(), 0, 0

    def look() -> None:
        while not over.wait(INTERVAL):
            quarter = min(3, int(4 * (time.monotonic() - began) / seconds))
            peaks[quarter] = max(peaks[quarter], resident() - before)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    while time.monotonic() - began < seconds or not peaks[3]:
        found = actors.play(evaluator, 64 + played, games)
        played += games
        simulations += int(found["simulations"].sum())
    over.set()
    thread.join()
    return {"peaks": peaks, "played": played, "simulations": simulations}


def in_own_process(game: str, games: int, seconds: float, threads: int) -> dict[str, Any]:
    """`measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.selfplay_memory", "--one", game]
    command += [f"--games={games}", f"--seconds={seconds}", f"--threads={threads}"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(out.stdout)
    return answer


def row(game: str, games: int, seconds: float, threads: int) -> dict[str, Any]:
    """The figures of a game."""
    few = max(1, games // 4)
    small = in_own_process(game, few, min(seconds, 20.0), threads)
    large = in_own_process(game, games, seconds, threads)
    settled = large["played"] >= FEWEST_LEASES * games
    return {
        "game": game,
        "games": games,
        "bytes_per_game": (max(large["peaks"]) - max(small["peaks"])) / (games - few),
        "megabytes": max(large["peaks"]) / 2**20,
        "growth": large["peaks"][3] / max(1, large["peaks"][1]) - 1 if settled else None,
        "played": large["played"],
        "simulations": large["simulations"],
    }


def growth_text(growth: float | None) -> str:
    """As in the table.

    >>> growth_text(0.012), growth_text(None)
    ('+1.2 %', 'too short')
    """
    return "too short" if growth is None else f"{100 * growth:+.1f} %"


def main(arguments: list[str]) -> int:
    """Print a row per game; return 1 if the process grew too much."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.selfplay_memory", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=20, help="of each game (20)")
    parser.add_argument("--games", type=int, default=2048, help="in progress (2048)")
    parser.add_argument("--threads", type=int, default=2, help="actors (2)")
    parser.add_argument("--json", action="store_true", help="a list of objects")
    parser.add_argument("--one", choices=GAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.games < 2 or options.seconds <= 0:
        parser.error("--games must be at least 2 and --seconds positive")
    if options.one:
        print(json.dumps(measure(options.one, options.games, options.seconds, options.threads)))
        return 0
    rows = []
    if not options.json:
        print("| game | games in progress | bytes per game | process | growth | games played |")
        print("|---|---|---|---|---|---|")
    for game in GAMES:
        found = row(game, options.games, options.seconds, options.threads)
        rows.append(found)
        if not options.json:
            print(
                f"| {game} | {found['games']:,} | {found['bytes_per_game']:,.0f} "
                f"| {found['megabytes']:,.0f} MB | {growth_text(found['growth'])} "
                f"| {found['played']:,} |",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows, indent=1))
    return int(any((found["growth"] or 0.0) >= MOST_GROWTH for found in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
