"""The speed of the search on fixed positions, and its signature.

The signature is one integer over the visit counts of all nodes of all trees. It is the same on
every machine and for any number of threads; a change to the search, a game or an evaluator that
changes any count changes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sylvan._native import mix
from sylvan.evaluators import Evaluator, HashRandom, Material, Rollout, Uniform
from sylvan.games import Chess, ConnectFour, Game, TicTacToe
from sylvan.planning import Forest

__all__ = ["BenchResult", "run"]

# Openings, middle games with tactics, endings, mates; White and Black to move.
CHESS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqk2r/ppp2ppp/2n2n2/2bpp3/4P3/2PP1N2/PPB2PPP/RNBQK2R b KQkq - 1 7",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1",
    "8/8/8/8/8/5k2/6q1/7K w - - 0 1",
)
CONNECT_FOUR = ("", "44444", "4536217", "11223355667", "444444325673")
TIC_TAC_TOE: tuple[tuple[int, ...], ...] = ((), (4,), (0, 4, 8))

Job = tuple[str, Sequence[Game], Evaluator, int]


@dataclass(frozen=True)
class BenchResult:
    """The result of a benchmark."""

    signature: int
    simulations: int
    seconds: float

    @property
    def speed(self) -> float:
        """Simulations per second."""
        return self.simulations / self.seconds


def jobs() -> list[Job]:
    """Name, positions, evaluator and simulations per position of every part."""
    chess = [Chess(fen) for fen in CHESS if not Chess(fen).is_terminal()]
    connect_four = [ConnectFour(moves) for moves in CONNECT_FOUR]
    tic_tac_toe = [TicTacToe(moves) for moves in TIC_TAC_TOE]
    return [
        ("chess, material", chess, Material(), 20_000),
        ("chess, hash-random", chess, HashRandom(), 40_000),
        ("Connect Four, rollouts", connect_four, Rollout(), 20_000),
        ("Connect Four, hash-random", connect_four, HashRandom(), 40_000),
        ("tic-tac-toe, uniform", tic_tac_toe, Uniform(), 2_000),
    ]


def run(threads: int = 1, watch: Callable[[str], Any] | None = None) -> BenchResult:
    """Search all positions; `watch` is called with the name of each part before it."""
    signature, simulations, start = 0, 0, time.perf_counter()
    for name, positions, evaluator, limit in jobs():
        if watch is not None:
            watch(name)
        forest = Forest(positions, simulations=limit, threads=threads, bytes=None)
        forest.run(evaluator)
        for tree in range(len(forest)):
            signature = mix(signature, forest.signature(tree))
            simulations += forest.progress(tree).simulations
    return BenchResult(signature, simulations, time.perf_counter() - start)
