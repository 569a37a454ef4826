"""Speed and memory of the bare search: `python -m benchmarks.core [--quick] [--json] [NAME ...]`.

Code path and options are those of `sylvan.search` (proofs, seats, byte budget, batches); the
evaluator is `HashRandom`, in Rust, with logits and values from a hash of the position, so that the
time of a network is excluded. Every figure first checks the work: the root's visits must equal the
simulations.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.measure import Measurement, rate, repeat, run_named
from benchmarks.python_game import FourByFour
from sylvan import Forest, Game
from sylvan.evaluators import HashRandom, Uniform
from sylvan.games import Chess, ConnectFour


def searched(states: Sequence[Game], simulations: int, threads: int = 1) -> tuple[Forest, float]:
    """Return a forest after a search, and its simulations per second."""
    forest = Forest(states, simulations=simulations, threads=threads)
    forest.begin()
    speed = rate(simulations * len(states), lambda: forest.run(HashRandom()))
    check(forest, simulations)
    return forest, speed


def check(forest: Forest, simulations: int) -> None:
    """Check the visits of every tree."""
    for tree in {0, len(forest) - 1}:
        root = forest.result(tree).tree.root
        assert root.N == simulations + 1, f"{root.N} visits for {simulations} simulations"
        assert sum(edge.N for edge in root.edges) == simulations


def chess_one_tree(quick: bool) -> list[Measurement]:
    """One tree from the start position, one thread, and the bytes its nodes take."""
    simulations = 200_000 if quick else 600_000
    sizes = []

    def work() -> float:
        forest, speed = searched([Chess()], simulations)
        result = forest.result()
        sizes.append(result.bytes / result.nodes)
        return speed

    speed, spread = repeat(work, 3 if quick else 9)
    perft = stockfish_perft()
    peer = ("Stockfish perft nodes/s", perft) if perft else (None, None)
    return [
        Measurement("chess_one_tree", speed, "simulations/s", spread, *peer),
        Measurement("chess_bytes_per_node", sizes[0], "bytes", 0.0, "lc0 0.33 (published)", 209.0),
    ]


def stockfish_perft() -> float | None:
    """Stockfish's perft in nodes per second: the speed of this machine."""
    binary = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")
    if binary is None:
        return None
    start = time.perf_counter()
    commands = "position startpos\ngo perft 6\nquit\n"
    out = subprocess.run([binary], input=commands, capture_output=True, text=True, check=True)
    assert "Nodes searched: 119060324" in out.stdout
    return 119060324 / (time.perf_counter() - start)


def chess_growth(quick: bool) -> list[Measurement]:
    """Speed in one tree around 10 M nodes ÷ around 10 k nodes.

    Both use memory of an earlier search (`plant`). In fresh memory the operating system clears
    every page first; this is a row of its own.
    """
    small, step = 5_000, 500_000
    target = 3_000_000 if quick else 10_000_000

    def around_ten_thousand() -> float:
        forest = Forest([Chess()], simulations=small)
        speeds = []
        for _ in range(3):
            forest.begin()
            speeds.append(rate(small, lambda: forest.run(HashRandom())))
        return speeds[1]

    forest = Forest([Chess()], simulations=step)

    def around(nodes: int) -> float:
        forest.plant(0, Chess())
        for _ in range(nodes // step + 1):
            forest.begin()
            speed = rate(step, lambda: forest.run(HashRandom()))
        assert forest.result().tree.root.N == nodes // step * step + step + 1
        return speed

    young, _ = repeat(around_ten_thousand, 20 if quick else 50)
    fresh = around(target)
    old, spread = repeat(lambda: around(target), 1 if quick else 3)
    return [
        Measurement("chess_growth", old / young, "ratio", spread / young),
        Measurement("chess_growth_fresh", fresh / young, "ratio", 0.0),
    ]


def chess_forest(quick: bool) -> list[Measurement]:
    """256 games x 800 simulations: one thread, and two ÷ one."""
    simulations, repeats = 800, 3 if quick else 9
    games = [Chess() for _ in range(256)]
    one, two, ratios = [], [], []
    for _ in range(repeats):
        one.append(searched(games, simulations)[1])
        two.append(searched(games, simulations, threads=2)[1])
        ratios.append(two[-1] / one[-1])
    return [
        Measurement("chess_forest", *_median(one, "simulations/s")),
        Measurement("forest_scaling", *_median(ratios, "ratio")),
    ]


def _median(values: list[float], unit: str) -> tuple[float, str, float]:
    pending = iter(values)
    median, spread = repeat(lambda: next(pending), len(values))
    return median, unit, spread


def connect4_one_tree(quick: bool) -> list[Measurement]:
    """One tree of Connect Four from the empty board, one thread."""
    simulations = 200_000 if quick else 600_000
    speed, spread = repeat(lambda: searched([ConnectFour()], simulations)[1], 3 if quick else 9)
    return [Measurement("connect4_one_tree", speed, "simulations/s", spread)]


SIMULATIONS = 10_000
"""Simulations of each search in the comparison with OpenSpiel."""


def openspiel_speed(state: object, simulations: int) -> float:
    """Simulations per second of OpenSpiel's Python MCTS with a uniform evaluator."""
    import numpy as np
    from open_spiel.python.algorithms import mcts

    class UniformEvaluator(mcts.Evaluator):  # type: ignore[misc]
        def evaluate(self, state: object) -> list[float]:
            return [0.0, 0.0]

        def prior(self, state: object) -> list[tuple[int, float]]:
            actions = state.legal_actions()  # type: ignore[attr-defined]
            return [(action, 1.0 / len(actions)) for action in actions]

    class Facts:
        """The part of OpenSpiel's game interface that its bot uses."""

        def max_utility(self) -> float:
            return 1.0

        def num_players(self) -> int:
            return 2

        def get_type(self) -> object:
            import pyspiel

            return pyspiel.load_game("tic_tac_toe").get_type()

    bot = mcts.MCTSBot(
        Facts(),
        uct_c=1.5,
        max_simulations=simulations,
        evaluator=UniformEvaluator(),
        solve=True,
        random_state=np.random.RandomState(0),
        child_selection_fn=mcts.SearchNode.puct_value,
    )
    root = None

    def work() -> None:
        nonlocal root
        root = bot.mcts_search(state)

    speed = rate(simulations, work)
    assert root is not None
    assert root.explore_count == simulations
    return speed


def uniform_speed(state: Game, simulations: int) -> float:
    """The same work by Sylvan."""
    forest = Forest([state], simulations=simulations)
    forest.begin()
    speed = rate(simulations, lambda: forest.run(Uniform()))
    check(forest, simulations)
    return speed


def python_game_vs_openspiel(quick: bool) -> list[Measurement]:
    """A game written in Python, uniform evaluator, ÷ OpenSpiel's Python MCTS on the same class."""
    return [
        _ratio(
            "python_game_vs_openspiel",
            lambda: uniform_speed(FourByFour(), SIMULATIONS),
            lambda: openspiel_speed(FourByFour(), SIMULATIONS),
            3 if quick else 9,
        )
    ]


def chess_vs_openspiel(quick: bool) -> list[Measurement]:
    """Chess with a uniform evaluator ÷ OpenSpiel's Python MCTS with its C++ chess."""
    import pyspiel

    state = pyspiel.load_game("chess").new_initial_state()
    return [
        _ratio(
            "chess_vs_openspiel",
            lambda: uniform_speed(Chess(), SIMULATIONS),
            lambda: openspiel_speed(state, SIMULATIONS),
            3 if quick else 9,
        )
    ]


def _ratio(
    name: str, ours: Callable[[], float], theirs: Callable[[], float], repeats: int
) -> Measurement:
    """The ratio of two speeds, measured alternately, under the same load."""
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    fast, slow = (_median([pair[i] for pair in pairs], "")[0] for i in (0, 1))
    print(f"{name}: {fast:,.0f} ÷ {slow:,.0f} simulations/s", file=sys.stderr)
    peer = "OpenSpiel Python MCTS, simulations/s"
    return Measurement(name, *_median([a / b for a, b in pairs], "ratio"), peer, slow)


def packed_planes(quick: bool) -> list[Measurement]:
    """112 bit planes per leaf, written into the batch of a forest of games in progress."""
    games = []
    for seed in range(1024):
        game = Chess()
        for ply in range(10 + seed % 7):
            legal = list(game.legal_actions())
            game.apply(legal[(seed * 31 + ply * 7) % len(legal)])
            if game.is_terminal():
                game = Chess()
        games.append(game)
    forest = Forest(games, simulations=1)

    def work() -> float:
        forest.abandon()
        forest.begin()
        leaves = forest.select()
        assert leaves is not None
        start = time.perf_counter()
        observations = leaves.observations
        seconds = time.perf_counter() - start
        assert observations.shape == (len(leaves), 112)
        assert (observations[:, 111] != 0).all()
        return seconds / len(leaves) * 1e9

    nanoseconds, spread = repeat(work, 20 if quick else 100)
    return [Measurement("packed_planes", nanoseconds, "ns", spread)]


BENCHMARKS: tuple[Callable[[bool], list[Measurement]], ...] = (
    chess_one_tree,
    chess_growth,
    chess_forest,
    connect4_one_tree,
    python_game_vs_openspiel,
    chess_vs_openspiel,
    packed_planes,
)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
