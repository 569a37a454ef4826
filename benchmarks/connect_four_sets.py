"""Rebuild the Connect Four test sets of `sylvan.games.connect_four_sets`.

    python -m benchmarks.connect_four_sets --seed 1 --processes 2 --kept solved.jsonl

Position i of the sequence is a random game of 9 to 14 stones (equally likely) without a winner,
determined by the seed and i. The exact solver gives its length under perfect play, which decides
its set; a set has the first 1,000 such positions, mirror images counted once. Positions in which
every move keeps the value are included: others report mistake rates on sets that include them. The
scores are stored, so the rate over the other positions can be computed too. Positions with eight
stones would take the solver five seconds each, fewer stones far longer.

Solved positions are stored in a file, so the command can be stopped and called again. It takes
about 70 minutes of one core, and a gigabyte of memory per process. `--partial` writes incomplete
sets.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from sylvan import _native
from sylvan.games import ConnectFour
from sylvan.games.connect_four import Solver
from sylvan.games.connect_four_sets import SETS, SolvedPosition, position_key, set_of

STONES = (9, 14)
SIZE = 1000
MEGABYTES = 1024
WINDOW = 64  # positions per task of a process
DATA = Path(__file__).resolve().parent.parent / "python" / "sylvan" / "training" / "data"

Solved = tuple[str, list[int | None], int]
"""Moves, the score of each column, plies to the end."""


def sampled(seed: int, number: int) -> str:
    """The moves of position `number` of the sequence."""
    rng = _native.Rng(seed, number)
    stones = STONES[0] + rng.below(STONES[1] - STONES[0] + 1)
    while True:
        game, moves = ConnectFour(), ""
        while game.stones < stones and not game.is_terminal():
            legal = game.legal_actions()
            action = legal[rng.below(len(legal))]
            game.apply(action)
            moves += game.action_to_string(action)
        if not game.is_terminal():
            return moves


@cache
def solver() -> Solver:
    """The solver of this process, with its transposition table."""
    return Solver(MEGABYTES)


def solved(moves: str) -> Solved:
    """A position with its solution."""
    solution = solver().solve(ConnectFour(moves))
    return moves, list(solution.scores), solution.plies


def sets_of(positions: list[Solved]) -> dict[str, list[SolvedPosition]]:
    """Return the sets, filled with these positions."""
    found: dict[str, dict[str, SolvedPosition]] = {name: {} for name in SETS}
    for moves, scores, plies in positions:
        chosen = found[set_of(plies)]
        if len(chosen) < SIZE:
            position = SolvedPosition(moves, tuple(scores))
            chosen.setdefault(position_key(position.game), position)
    return {name: list(chosen.values()) for name, chosen in found.items()}


def find(seed: int, processes: int, kept: Path) -> dict[str, list[SolvedPosition]]:
    """Solve the sequence until every set is full."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    positions: list[Solved] = [tuple(json.loads(line)) for line in lines]
    for number, (moves, *_) in enumerate(positions):
        if moves != sampled(seed, number):
            sys.exit(f"error: {kept} is of another seed: give another file.")
    with ProcessPoolExecutor(processes) as pool, kept.open("a") as file:
        while min(map(len, sets_of(positions).values())) < SIZE:
            window = [sampled(seed, len(positions) + i) for i in range(WINDOW * processes)]
            for answer in pool.map(solved, window):
                positions.append(answer)
                file.write(json.dumps(answer) + "\n")
                file.flush()
            counts = ", ".join(f"{name} {len(p)}" for name, p in sets_of(positions).items())
            print(f"{len(positions)} solved: {counts}", file=sys.stderr, flush=True)
    return sets_of(positions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("connect_four_solved.jsonl"))
    parser.add_argument("--partial", action="store_true", help="write what has been solved so far")
    arguments = parser.parse_args()
    if arguments.partial:
        whole = arguments.kept.read_text().rpartition("\n")[0].splitlines()
        sets = sets_of([tuple(json.loads(line)) for line in whole])
    else:
        sets = find(arguments.seed, arguments.processes, arguments.kept)
    for name, positions in sets.items():
        path = DATA / f"connect_four_{name}.txt"
        path.write_text("".join(f"{position}\n" for position in positions))
        print(f"{path}: {len(positions)} positions")


if __name__ == "__main__":
    main()
