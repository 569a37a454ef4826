"""Do settings fit a short budget? `python -m benchmarks.fit [--minutes 3] [--runs FOLDER] [GAME]`.

Each game is trained with `sylvan train GAME --minutes N` and nothing else. *Must*: ten steps, five
ratings, at most a fifth of the time for ratings. `--runs` keeps the runs in a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sylvan.runs.fit import FIT
from sylvan.runs.metrics import Metrics
from sylvan.runs.run import Run

ROOT = Path(__file__).parents[1]
GAMES = {
    "nim": "examples/nim.py:Nim",
    "tictactoe": "tictactoe",
    "hex": "examples/hex.py:Hex",
    "connect4": "connect4",
    "breakthrough": "examples/breakthrough.py:Breakthrough",
    "kuhn_poker": "open_spiel:kuhn_poker",
}
HEAD = (
    "| game | chosen | steps | ratings | time for ratings | measuring | whole command | rating |\n"
    "|---|---|---|---|---|---|---|---|"
)


def row(name: str, folder: Path, wall: float) -> str:
    """A finished run as a row of the table."""
    run, lines = Run.open(folder), list(Metrics(folder).lines())
    record = json.loads((folder / FIT).read_text())
    rated = [line for line in lines if "seconds.arena" in line]
    share = sum(line["seconds.arena"] for line in rated) / lines[-1]["run.elapsed"]
    config = run.config
    chosen = (
        f"{config.network.size}, {config.search.simulations} simulations, "
        f"{config.selfplay.games} games, {config.selfplay.positions:,} positions, "
        f"{config.run.threads} thread{'' if config.run.threads == 1 else 's'}"
    )
    cells = [
        f"`{name}`",
        chosen,
        len(lines),
        len(rated),
        f"{share:.0%}",
        f"{record['seconds']:.0f} s",
        f"{wall:.0f} s",
        f"{rated[0]['rating.elo']:+.0f} → {rated[-1]['rating.elo']:+.0f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", choices=[*GAMES, []], metavar="GAME")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        runs = options.runs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        load = os.getloadavg()[0]
        print(f"{len(os.sched_getaffinity(0))} cores, load {load:.1f} at the start\n\n{HEAD}")
        for name in options.games or GAMES:
            began = time.monotonic()
            command = [sys.executable, "-c", "from sylvan.cli import app; app()", "train"]
            command += [GAMES[name], "--minutes", str(options.minutes), "--quiet"]
            subprocess.run(
                [*command, "--run", str(runs / name)], cwd=ROOT, check=True, capture_output=True
            )
            print(row(name, runs / name, time.monotonic() - began), flush=True)


if __name__ == "__main__":
    main()
