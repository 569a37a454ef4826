"""The byte budget: kept, while the search goes on, counts right and plays no worse."""

import subprocess
import sys

import numpy as np
import pytest

from sylvan import Forest, Search, SearchConfig
from sylvan.games import Chess, ConnectFour
from tests.planning.random_games import Shape, evaluate_leaves, make, nearly

KB, MB = 2**10, 2**20
SLACK = 1 + 1 / 32  # a tree may outgrow its budget by so much while it makes room
GAMES = [ConnectFour(), Chess()]
names = {"ids": lambda game: type(game).__name__}


def check_root(result, simulations):
    """No visit is lost, nor any value, whatever was dropped below."""
    root = result.tree.root
    assert sum(edge.N for edge in root.edges) == root.N - 1 == simulations
    total = sum(edge.W for edge in root.edges if edge.N)
    own = root.W[root.seat] - total  # what the root's own evaluation said
    assert -1 <= own <= 1
    for edge in root.edges:
        if edge.child is not None:
            assert edge.child.N == edge.N and nearly(edge.child.W[root.seat], edge.W)
            assert sum(e.N for e in edge.child.edges) <= edge.N - 1


@pytest.mark.slow
@pytest.mark.parametrize("budget", [64 * KB, 200 * KB, MB, 4 * MB])
@pytest.mark.parametrize("game", GAMES, **names)
def test_a_budget_is_kept_and_the_search_goes_on(game, budget):
    search = Search("hash_random", simulations=60_000, bytes=budget, proofs=False)
    result = search.run(game)
    for runs in range(1, 4):
        assert 0.5 * budget < result.bytes <= budget * SLACK
        assert result.stopped_by == "simulations" and result.simulations == 60_000
        check_root(result, 60_000 * runs)
        result = search.run()


@pytest.mark.parametrize("in_flight", [1, 16])
@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
def test_every_rule_lives_within_a_budget(selection, in_flight):
    limits = {"simulations": 20_000, "bytes": 100 * KB, "proofs": False}
    search = Search("hash_random", selection=selection, leaves_in_flight=in_flight, **limits)
    result = search.run(ConnectFour())
    assert result.bytes <= 100 * KB * SLACK
    check_root(result, 20_000)


def test_the_budget_holds_at_every_moment():
    peaks = []
    search = Search("hash_random", simulations=None, seconds=0.5, bytes=MB, proofs=False)
    search.run(Chess(), progress=lambda _: peaks.append(search.result.bytes))
    assert len(peaks) > 3 and max(peaks) <= MB * SLACK


def test_the_budget_holds_from_move_to_move():
    search = Search("hash_random", simulations=20_000, bytes=300 * KB)
    state = Chess()
    for _ in range(12):
        result = search.run(state if _ == 0 else None)
        assert result.bytes <= 300 * KB * SLACK and result.simulations == 20_000
        search.advance(result.best)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_forest_divides_its_budget(threads):
    forest = Forest([ConnectFour()] * 6, simulations=20_000, bytes=MB, threads=threads)
    forest.run("hash_random")
    for result in forest.results():
        assert result.bytes <= MB / 6 * SLACK
        check_root(result, 20_000)


def test_threads_change_nothing_under_a_budget():
    def signatures(threads):
        forest = Forest([ConnectFour()] * 4, simulations=20_000, bytes=MB, threads=threads)
        forest.run("hash_random")
        return [forest.signature(tree) for tree in range(4)]

    assert signatures(1) == signatures(2) == signatures(4)


def test_a_budget_that_nothing_fits_in_ends_the_search():
    forest = Forest([Chess()] * 500, simulations=2000, bytes=64 * KB)
    forest.run("hash_random")
    for result in forest.results()[::50]:
        assert result.stopped_by == "bytes" and 0 < result.simulations < 2000
        assert sum(edge.N for edge in result.tree.root.edges) == result.simulations
        assert result.policy.sum() == pytest.approx(1, abs=1e-5)


def test_a_game_in_python_lives_within_a_budget():
    state = make(Shape(depth=80, stop=0.0, branching=7))
    search = Search(evaluate_leaves, simulations=1500, bytes=100 * KB, proofs=False)
    result = search.run(state)
    assert result.bytes <= 100 * KB * 1.1 and result.stopped_by == "simulations"
    check_root(result, 1500)


def test_without_a_limit_nothing_is_dropped():
    limits = {"simulations": 20_000, "proofs": False}
    free = Search("hash_random", bytes=None, **limits).run(ConnectFour())
    large = Search("hash_random", bytes=2**40, **limits).run(ConnectFour())
    assert free.policy.tolist() == large.policy.tolist() and free.nodes == large.nodes


# --- playing strength ----------------------------------------------------------------------------

MATES = [  # in two or three moves
    ("rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 9", "d3d8"),
    ("1r2k1r1/pbppnp1p/1b3P2/8/Q7/B1PB1q2/P4PPP/3R2K1 w - - 0 21", "a4d7"),
    ("6k1/pp4p1/2p5/2bp4/8/P5Pb/1P3rrP/2BRRN1K b - - 0 1", "g2g1"),
    ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", "f6a6"),
]


def test_a_mate_that_fits_is_found_when_the_tree_is_full():
    """Whatever a tree finds that stops when it is full, one that goes on finds too."""
    found = 0
    for fen, move in MATES:
        for budget in (64 * KB, 256 * KB, MB):
            game = Chess(fen)
            full = Search("material", simulations=40_000, bytes=budget).run(game)
            assert full.bytes <= budget * SLACK
            stopped = Search("material", simulations=40_000, nodes=full.nodes).run(game)
            # A tree that has dropped nothing yet has more unvisited edges: it must fit as well.
            found_it = game.action_to_string(stopped.best) == move
            if found_it and stopped.stopped_by == "proven" and stopped.bytes <= full.bytes:
                found += 1
                assert (game.action_to_string(full.best), full.value) == (move, 1.0)
    assert found >= 6, "too few mates fit to tell anything"


def test_a_full_tree_plays_no_worse_than_one_that_stops():
    """Connect Four with 16 stones: under a budget, and with only what fits in it."""
    rng = np.random.default_rng(4)
    kept = stopped = positions = 0
    while positions < 20:
        game = ConnectFour()
        while game.stones < 16 and not game.is_terminal():
            game.apply(int(rng.choice(game.legal_actions())))
        if game.is_terminal() or len(game.solve().best) == len(game.legal_actions()):
            continue
        positions += 1
        best = game.solve().best
        budget = SearchConfig(simulations=30_000, bytes=64 * KB)
        full = Search("rollout", budget).run(game)
        fitting = Search("rollout", budget.replace(nodes=full.nodes, bytes=None)).run(game)
        kept += full.best in best
        stopped += fitting.best in best
    assert kept >= stopped and kept >= 18


# --- as the operating system measures it ---------------------------------------------------------

MEASURE = """
import sys
from sylvan import Search
from sylvan.games import Chess, ConnectFour

def resident():
    with open("/proc/self/statm") as statm:
        return 4096 * int(statm.read().split()[1])

game = {"chess": Chess, "connect4": ConnectFour}[sys.argv[1]]()
budget, simulations = map(int, sys.argv[2:])
Search("hash_random", simulations=1000, bytes=65536).run(game, progress=lambda _: None)
search = Search("hash_random", simulations=simulations, bytes=budget, proofs=False)
before, peak = resident(), 0

def look(_):
    global peak
    peak = max(peak, resident())

result = search.run(game, progress=look)
look(None)
print(peak - before, result.bytes, search._forest.bytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize(("game", "megabytes"), [("connect4", 16), ("connect4", 64), ("chess", 16)])
def test_the_process_grows_by_no_more_than_the_budget(game, megabytes):
    budget = megabytes * MB
    arguments = [game, str(budget), str(budget // 60)]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True
    )
    grown, kept, pool = map(int, measured.stdout.split())
    assert 0.75 * budget < kept <= budget * SLACK, "the budget was hardly reached, or exceeded"
    assert grown <= 1.1 * budget, (
        f"{grown / budget:.3f} of the budget, the pool {pool / budget:.3f}"
    )
