"""Determinism: same seed, same settings, same evaluations, same trees to the bit.

Whatever the number of threads, the size of the forest, who asks for the evaluations, and how often
somebody looks on.
"""

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig
from sylvan.errors import SearchStateError
from sylvan.evaluators import HashRandom, Material, Rollout, Uniform
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.twins import everything, finish, found

THREADS = [2, 3, 8]


@st.composite
def positions(draw):
    """One to five states of one native game, after some random moves."""
    start = draw(st.sampled_from([TicTacToe, ConnectFour, Chess]))
    states = []
    for _ in range(draw(st.integers(1, 5))):
        state = start()
        for choice in draw(st.lists(st.integers(0, 99), max_size=4)):
            state.apply(state.legal_actions()[choice % len(state.legal_actions())])
        states.append(state)
    return states


evaluators = st.sampled_from(
    [Uniform(), HashRandom(), Rollout(), Rollout(playouts=3, max_length=9)]
)
few = settings(suppress_health_check=list(HealthCheck))


def run(states, config, evaluator):
    forest = Forest(states, config)
    forest.run(evaluator)
    return everything(forest, depth=3)


@few
@given(positions(), configs(st.integers(0, 200)), evaluators)
def test_threads_change_nothing(states, config, evaluator):
    alone = run(states, config, evaluator)
    for threads in THREADS:
        assert run(states, config.replace(threads=threads), evaluator) == alone


@few
@given(positions(), configs(st.integers(0, 200)), evaluators, st.sampled_from([1, *THREADS]))
def test_a_native_run_equals_ask_and_tell(states, config, evaluator, threads):
    config = config.replace(threads=threads)
    asked = finish(Forest(states, config), evaluator)
    assert run(states, config, evaluator) == everything(asked, depth=3)


@settings(few, max_examples=8)
@given(positions(), configs(st.integers(100, 300)), evaluators, st.sampled_from([32, 50, 150]))
def test_threads_that_share_out_the_leaves_of_a_tree_change_nothing(
    states, config, evaluator, in_flight
):
    """They take over at 32 leaves: of a tree, or of several on one thread."""
    config = config.replace(leaves_in_flight=in_flight, collisions=None, nodes=None, depth=None)
    alone = run(states, config, evaluator)
    for threads in (2 * len(states), 8 * len(states) + 1):
        many = config.replace(threads=threads)
        assert run(states, many, evaluator) == alone
        assert everything(finish(Forest(states, many), evaluator), depth=3) == alone


def test_a_batch_is_as_large_as_needed_to_be_shared_out():
    """So that the test above tests something: its batches have 32 leaves and more."""
    sizes = set[int]()
    forest = Forest([Chess()], simulations=300, leaves_in_flight=50, threads=2)
    for leaves in forest:
        sizes.add(len(leaves))
        forest.update(*HashRandom()(leaves))
    assert max(sizes) >= 32


@few
@given(positions(), configs(st.integers(0, 200)), evaluators)
def test_a_tree_does_not_know_its_neighbours(states, config, evaluator):
    """Trees draw from streams of their own, counted from the first."""
    whole = run(states, config, evaluator)
    for size in range(1, len(states)):
        assert run(states[:size], config, evaluator) == whole[:size]


@pytest.mark.parametrize("evaluator", [HashRandom(), Rollout()], ids=["hash", "rollout"])
def test_the_clock_of_a_long_run_changes_nothing(evaluator):
    """A native run stops now and then to hear signals; its batches are not cut by that."""
    config = SearchConfig(simulations=60_000, leaves_in_flight=16, proofs=False, seed=7)
    signatures = []
    for watch in (None, lambda: None):
        forest = Forest([ConnectFour(), ConnectFour("4")], config)
        forest.run(evaluator, watch)
        signatures.append([forest.signature(tree) for tree in range(2)])
    asked = finish(Forest([ConnectFour(), ConnectFour("4")], config), evaluator)
    signatures.append([asked._native.signature(tree) for tree in range(2)])
    assert signatures[0] == signatures[1] == signatures[2]


def test_looking_on_changes_nothing():
    search, watched, looks = Search("hash_random"), Search("hash_random"), []
    limits = {"simulations": 200_000, "noise": True, "proofs": False, "leaves_in_flight": 4}
    search.config = watched.config = SearchConfig(**limits)

    def look(_):
        result = watched.result
        looks.append((result.simulations, result.best, result.tree.root.edges[0].child.N))

    for state in (ConnectFour(), None):
        alone, seen = search.run(state), watched.run(state, progress=look)
        assert found(alone, depth=3) == found(seen, depth=3)
        search.advance(alone.best)
        watched.advance(alone.best)
    counts = [count for count, _, _ in looks]
    assert len(looks) >= 2 and counts[0] < 200_000, "nobody looked"


@pytest.mark.parametrize("threads", THREADS)
def test_a_game_in_python_takes_one_thread_and_gives_the_same(threads):
    games = [make(Shape(seed=seed, chance=0.2, rewards=True)) for seed in range(4)]
    config = SearchConfig(simulations=150, noise=True, temperature=1.0, leaves_in_flight=3)
    forests = [Forest(games, config.replace(threads=n)) for n in (1, threads)]
    first, second = (everything(finish(forest, evaluate_leaves)) for forest in forests)
    assert first == second


@pytest.mark.parametrize("evaluator", [Rollout(), Material(), HashRandom()], ids=lambda e: e.name)
def test_whole_games_repeat(evaluator):
    """Noise, temperature, reuse and rollouts together: two games from one seed are one game."""

    def game(threads):
        forest = Forest([Chess()] * 4, simulations=40, threads=threads, noise=True, temperature=1.0)
        moves = []
        for _ in range(12):
            forest.run(evaluator)
            moves.append([result.action for result in forest.results()])
            for tree, action in enumerate(moves[-1]):
                forest.advance(tree, action)
        return moves

    first = game(1)
    assert first == game(3) == game(4)
    assert len({tuple(row[tree] for row in first) for tree in range(4)}) == 4, (
        "trees share a stream"
    )


def test_seeds_matter():
    def policies(seed):
        forest = Forest([TicTacToe()] * 2, simulations=30, noise=True, seed=seed)
        forest.run("rollout")
        return [result.policy.tolist() for result in forest.results()]

    assert policies(1) == policies(1) != policies(2)


def test_other_threads_work_while_a_native_search_runs():
    """The interpreter's lock is released: a counter in Python goes on counting."""
    count, done = 0, threading.Event()

    def work():
        search = Search("hash_random", simulations=None, seconds=0.4, proofs=False)
        search.run(ConnectFour())
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
    thread.join()
    assert count > 100_000  # a thread that must wait for each slice of 40 ms counts to ten


def test_a_forest_at_work_is_refused_to_others():
    forest = Forest([ConnectFour()], simulations=None, seconds=0.5, proofs=False)
    thread = threading.Thread(target=lambda: forest.run("hash_random"))
    thread.start()
    refusals = []
    while thread.is_alive():
        try:
            forest.result()
        except SearchStateError as error:
            refusals.append(str(error))
    thread.join()
    assert any("is at work in another thread: wait for it, or call stop()" in r for r in refusals)
    assert forest.result().stopped_by == "seconds"
    assert np.isfinite(forest.result().value)


FORK = """
import os
from sylvan import Forest
from sylvan.games import ConnectFour

def visits():
    forest = Forest([ConnectFour()] * 4, simulations=50, threads=4)
    forest.run("uniform")
    return [edge.N for edge in forest.result(3).tree.root.edges]

wanted = visits()  # threads of this process wait for more
child = os.fork()
if child == 0:
    os._exit(0 if visits() == wanted else 1)
assert os.waitpid(child, 0)[1] == 0
assert visits() == wanted
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_threads_of_a_forked_process():
    """The child has none of its parent's threads, and does not wait for them."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
