"""Ctrl-C: a long search stops soon, says so, and gives what it has found until then."""

import json
import signal
import subprocess
import sys
import time
from statistics import median

import pytest

PROGRAM = """
import json, sys, time
import numpy as np
from sylvan import Forest, Search
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.random_games import Shape, make
from tests.planning.twins import flat, skewed

def slow(leaves):
    time.sleep(0.003)
    return flat(leaves)

def busy(leaves):
    np.linalg.svd(np.ones((60, 60)))
    return flat(leaves)

endless = {"simulations": None, "seconds": 60, "proofs": False}
python_game = lambda: make(Shape(depth=200, stop=0.0))
searches = {
    "native": (ConnectFour, "hash_random", {}),
    "in flight": (ConnectFour, "hash_random", {"leaves_in_flight": 64}),
    "at the memory limit": (Chess, "hash_random", {"bytes": 2**20}),
    "rollouts": (Chess, "rollout", {}),
    "sleeping evaluator": (ConnectFour, slow, {}),
    "busy evaluator": (ConnectFour, busy, {"leaves_in_flight": 8}),
    "python game": (python_game, "uniform", {}),
    "python game, rollouts": (python_game, "rollout", {}),
    "python game and evaluator": (python_game, skewed, {}),
    "no leaf left": (lambda: TicTacToe([0, 3, 1, 4, 5, 2, 7]), "uniform", {}),
    "no leaf left to ask for": (lambda: TicTacToe([0, 3, 1, 4, 5, 2, 7]), skewed, {}),
}
state, evaluate, settings = searches[sys.argv[1]]
for _ in range(int(sys.argv[2])):
    search = Search(evaluate, **{**endless, **settings})
    print("ready", flush=True)
    try:
        search.run(state())
        told = None
    except KeyboardInterrupt:
        told = time.monotonic()
    print(told, flush=True)
partial = search.result
root = partial.tree.root
facts = {
    "stopped_by": partial.stopped_by,
    "simulations": partial.simulations,
    "visits": sum(edge.N for edge in root.edges),
    "seconds": partial.seconds,
    "best": partial.best,
}
# Nothing is half-done: the same tree searches on.
before = root.N
search.run(progress=lambda _: False)
facts["grown"] = search.result.tree.root.N > before
print(json.dumps(facts), flush=True)
"""

CASES = [
    "native",
    "in flight",
    "at the memory limit",
    "rollouts",
    "sleeping evaluator",
    "busy evaluator",
    "python game",
    "python game, rollouts",
    "python game and evaluator",
    "no leaf left",
    "no leaf left to ask for",
]


def pressed(program, *arguments, afters=(0.4,)):
    """Return when a program hears each Ctrl-C, in seconds after it is pressed, and its last line.

    Ctrl-C is pressed some seconds after each line `ready`.
    """
    command = [sys.executable, "-c", program, *arguments]
    latencies = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for after in afters:
                assert process.stdout.readline() == "ready\n"
                time.sleep(after)
                moment = time.monotonic()
                process.send_signal(signal.SIGINT)
                told = process.stdout.readline().strip()
                assert told != "None", "the search ended by itself"
                latencies.append(float(told) - moment)
            output = process.stdout.read()
            process.wait(20)
        finally:
            process.kill()
    assert process.returncode == 0
    return latencies, output


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_gives_a_partial_result(case):
    (latency,), output = pressed(PROGRAM, case, "1")
    facts = json.loads(output)
    assert latency < 2
    assert facts["stopped_by"] == "interrupted"
    assert facts["visits"] == facts["simulations"] > 0
    assert 0 < facts["seconds"] < 10
    assert facts["grown"]


@pytest.mark.alone
@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_is_heard_within_a_tenth_of_a_second(case):
    latencies, _ = pressed(PROGRAM, case, "3", afters=(0.1, 0.17, 0.23))
    assert median(latencies) < 0.1, latencies


FOREST = """
import sys, time
from sylvan import Forest
from sylvan.games import Chess
forest = Forest([Chess()] * 40, simulations=None, seconds=60, threads=2)
print("ready", flush=True)
try:
    forest.run("hash_random")
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
print(min(result.simulations for result in forest.results()))
"""


def test_ctrl_c_in_a_forest_with_threads():
    (latency,), least = pressed(FOREST)
    assert latency < 2 and int(least) > 0
