"""The host alone: games by actors with an evaluator that answers at once, against bare searches.

The evaluator reads every observation and writes every legal logit. It runs in the actors
(`ObservationHash`), or in Python as a network's does (`InPython`). The peer is the search of as
many trees on as many threads, without observations, batches and moves: `Forest.run` with
hash-random evaluations, tree by tree. The trees follow games and keep the subtrees of their moves;
only searches are timed.

Before a speed is printed, a checksum of the games that were played is compared.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.measure import Measurement, repeat
from sylvan import SearchConfig
from sylvan.evaluators import Answer, AsyncEvaluator, Evaluator, Leaves, NativeEvaluator
from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import BulkForest
from sylvan.planning.outcomes import OVER
from sylvan.selfplay.actors import Actors
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.game_columns import GameColumns

CORES = os.cpu_count() or 1
SIMULATIONS = 32
ROUNDS = 12
"""Searches of every tree that the peer is timed over."""

CHECKSUMS = {
    ("chess", "ObservationHash"): 2818562791,
    ("chess", "InPython"): 1907502690,
    ("connect4", "ObservationHash"): 4078517231,
    ("connect4", "InPython"): 1688080009,
}
"""Of the first 64 games, by game and evaluator."""


@dataclass(frozen=True)
class ObservationHash(NativeEvaluator):
    """A hash of the observation, in the actors."""

    name: ClassVar[str] = "observation_hash"


class InPython:
    """A hash of the observation, in Python, with several batches under way."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.weights = rng.integers(0, 2**63, 4096, np.uint64) | np.uint64(1)
        self.logits = rng.standard_normal(1 << 16, dtype=np.float32)
        self.values = rng.uniform(-0.3, 0.3, 1 << 16).astype(np.float32)

    def submit(self, leaves: Leaves) -> Answer:
        """Read all observations, and look up logits and values."""
        seen = np.ascontiguousarray(leaves.observations).reshape(len(leaves), -1)
        words = seen if seen.dtype == np.uint64 else seen.view(np.uint32)
        keys = words @ self.weights[: words.shape[1]] >> np.uint64(48)  # modulo 2^64: exact
        rows = np.repeat(keys, np.diff(leaves.offsets)).astype(np.int64)
        logits = self.logits[(rows + leaves.logit_indices * 31) & 0xFFFF]
        return logits, self.values[keys.astype(np.int64)]

    def collect(self, ticket: Answer) -> Answer:
        """The answer."""
        return ticket


def host(
    game: str,
    evaluator: Evaluator | AsyncEvaluator[Any],
    games: int,
    rows: int,
    threads: int,
    quick: bool,
) -> float:
    """Simulations per second of actors, after a check of what they play."""
    actors = checked_actors(game, evaluator, games, rows, threads)
    count = games if quick else 4 * games
    began = time.perf_counter()
    played = actors.play(evaluator, 64, count)
    return float(played["simulations"].sum() / (time.perf_counter() - began))


def checked_actors(
    game: str,
    evaluator: Evaluator | AsyncEvaluator[Any],
    games: int,
    rows: int,
    threads: int,
) -> Actors:
    """Actors that have played 64 games, which had the expected checksum."""
    search = SearchConfig(simulations=SIMULATIONS, noise=True)
    # Random openings of many lengths, so that games end at all times, as in a long run.
    settings: dict[str, Any] = {"opening_share": 1.0, "opening_plies": 20, "max_plies": 60}
    config = SelfPlayConfig(games=games, batches=3, **settings)
    actors = Actors(GameSpec(game), config, 1, None, search, actors=threads, rows=rows)
    found = checksum(actors.play(evaluator, 0, 64))
    expected = CHECKSUMS[game, type(evaluator).__name__]
    if found != expected:
        sys.exit(f"error: {game}: the games have checksum {found}, not {expected}: other games.")
    return actors


def checksum(games: GameColumns) -> int:
    """A number over all columns."""
    found = 0
    for name in sorted(games.columns):
        found = zlib.crc32(np.ascontiguousarray(games[name]).tobytes(), found)
    return found


def bare(game: str, trees: int, threads: int) -> float:
    """Simulations per second of the bare search of trees that follow games."""
    first = GameSpec(game).first()
    roots = [random_state(first, seed) for seed in range(trees)]
    forest = BulkForest(roots, simulations=SIMULATIONS, noise=True, threads=threads)
    seconds, simulations = 0.0, 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        forest.run("hash_random")
        seconds += time.perf_counter() - began
        found = forest.outcomes()
        simulations += int(found.simulations.sum())
        transitions = forest.play(found.best)
        for tree in np.flatnonzero(transitions.turns == OVER):
            forest.plant(int(tree), roots[tree])
    return simulations / seconds


def random_state(first: Game, seed: int) -> Game:
    """A state some random moves on."""
    rng, state = np.random.default_rng(seed), first.clone()
    for _ in range(int(rng.integers(0, 20))):
        after = state.clone()
        after.apply(int(rng.choice(list(state.legal_actions()))))
        if after.is_terminal():
            break
        state = after
    return state


def host_alone(game: str, games: int, rows: int, quick: bool) -> list[Measurement]:
    """Actors against the bare search, in turns, because the load of a machine changes."""
    repeats, name = (1 if quick else 5), f"{game}_actors_g{games}_r{rows}_t{CORES}"
    measured = []
    for evaluator in (ObservationHash(), InPython()):
        speeds: list[tuple[float, float]] = [
            (host(game, evaluator, games, rows, CORES, quick), bare(game, games, CORES))
            for _ in range(repeats)
        ]
        pending = iter(speed for speed, _ in speeds)
        median, spread = repeat(lambda pending=pending: next(pending), repeats)  # type: ignore[misc]
        peer = float(np.median([peer for _, peer in speeds]))
        label = f"{name}_{type(evaluator).__name__}"
        measured.append(
            Measurement(label, median, "simulations/s", spread, "bare forest search", peer)
        )
    return measured
