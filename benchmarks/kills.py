"""Does a run resume after a kill?

    python -m benchmarks.kills [--kills 100] [--steps 300] [--seed 0] [--threads 1]

A small run of tic-tac-toe is made twice: once without interruption, once with many kills. Half of
the kills (SIGKILL) are at a random critical point (inside a shard's record, between the files of a
checkpoint, around its renaming, in a search, in the learner), half (SIGALRM, unhandled) at a random
time. After each kill the run is resumed from its folder. At the end all weights, shards and states
must be equal bit for bit.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from sylvan.runs.config import TrainingConfig
from tests.runs.killing import KILL_POINTS, killed_at, load_everything, outcome_of, session, tiny

SPREAD = {"search": 60, "evaluation": 40, "optimizer": 12, "fsync": 12, "rename": 6}
"""How often a point is passed in about a step; others are passed less often."""


def after(seconds: float) -> None:
    """End this process after a while by an alarm without a handler."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def enough_games(config: TrainingConfig, actors: int) -> TrainingConfig:
    """Three games at once for each actor, and as many in a step: idle actors would test nothing."""
    games, plies = max(config.selfplay.games, 3 * actors), 7
    positions = max(config.selfplay.positions, plies * games if actors > 1 else 0)
    return config.replace(selfplay=config.selfplay.replace(games=games, positions=positions))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="actors that play")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    load_everything()
    assert threading.active_count() == 1
    config = enough_games(tiny(options.steps, threads=options.threads), options.threads)
    with tempfile.TemporaryDirectory() as folder:
        peace, war = Path(folder) / "peace", Path(folder) / "war"
        begun = time.monotonic()
        session(config, peace)
        length = time.monotonic() - begun
        landed: dict[str, int] = {}
        for number in range(options.kills):
            point = draw.choice([*KILL_POINTS, *["clock"] * len(KILL_POINTS)])
            if point == "clock":
                moment = draw.uniform(0.2, 0.2 + 1.5 * length / options.kills)
                ended = session(config, war, partial(after, moment))
            else:
                ended = session(
                    config, war, killed_at(point, draw.randint(1, SPREAD.get(point, 3)))
                )
            landed[point] = landed.get(point, 0) + (ended != 0)
            print(f"\r{number + 1} of {options.kills}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        session(config, war)
        one, two = outcome_of(peace, options.steps), outcome_of(war, options.steps)
        differ = sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
    print(f"a run of {options.steps} steps, {length:.0f} s in peace")
    print("| killed at | times |\n|---|---|")
    for point, times in sorted(landed.items()):
        print(f"| {point} | {times} |")
    print(f"| together | {sum(landed.values())} |\n")
    print("equal to the bit" if not differ else f"DIFFERENT: {', '.join(differ)}")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
