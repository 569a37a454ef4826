"""One tree, one call: what `search` and `Search` take, keep and report."""

import time
from importlib import import_module

import numpy as np
import pytest

import sylvan
from examples.pig import Pig
from sylvan import Search, SearchConfig, _native
from sylvan.evaluators import Material, Rollout, Uniform
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.planning import roots
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.twins import found, numbers, skewed


def test_the_first_lines_of_the_documentation():
    result = sylvan.search(Chess(), simulations=100)
    assert result.best in Chess().legal_actions()
    assert result.policy.shape == (4672,) and result.policy.sum() == pytest.approx(1, abs=1e-5)
    assert -1 <= result.value <= 1 and result.pv[0] == result.best
    edge = result.tree.root.edges[0]
    assert edge.Q == pytest.approx(edge.W / edge.N) and 0 < edge.P < 1


@pytest.mark.parametrize(
    ("game", "name"),
    [(Chess(), "chess network"), (ConnectFour(), "connect4 network"), (make(Shape()), "rollout")],
)
def test_every_game_has_an_evaluator(game, name):
    assert sylvan.search(game, simulations=10).evaluator == name


@pytest.mark.parametrize(
    "evaluate", ["uniform", Uniform(), Uniform().__call__], ids=["s", "o", "f"]
)
def test_an_evaluator_is_a_name_an_object_or_a_function(evaluate):
    result = Search(evaluate, simulations=50, seed=1).run(TicTacToe())
    assert found(result) == found(Search("uniform", simulations=50, seed=1).run(TicTacToe()))


def test_a_running_search_is_read_without_a_result():
    search, seen = Search("hash_random", simulations=None, seconds=0.2), []

    def read(_):
        root = search.tree.root
        seen.append((search.best, root.N, max(root.edges, key=lambda edge: edge.N).action))

    result = search.run(ConnectFour(), progress=read)
    assert search.best == result.best and search.tree.root.N == result.tree.root.N
    assert seen and all(best == most for best, _, most in seen)
    assert [n for _, n, _ in seen] == sorted(n for _, n, _ in seen)


def test_a_position_is_checked_once(monkeypatch):
    """And the evaluator is looked up once."""
    calls = []

    def count(module, name):
        own = getattr(module, name)

        def counted(*args):
            calls.append(name)
            return own(*args)

        monkeypatch.setattr(module, name, counted)

    rooms = {
        name: import_module(f"sylvan.planning.{name}") for name in ("search", "forest", "trees")
    }
    for name in ("need_game", "need_fair", "need_turn"):
        count(roots, name)
    count(rooms["search"], "need_fair")
    count(rooms["trees"], "need_fair")
    count(rooms["search"], "evaluator_for")
    count(rooms["forest"], "evaluator_for")
    Search("rollout", simulations=5).run(Pig())
    assert sorted(calls) == ["evaluator_for", "need_fair", "need_game", "need_turn"]


def test_the_core_builds_a_native_evaluator_once():
    """Not whenever a search pauses for `watch`."""
    read = []

    class Parameters(dict):
        def __getitem__(self, name):
            read.append(name)
            return super().__getitem__(name)

    paused = []
    native = _native.Forest(
        [ConnectFour()], SearchConfig(simulations=None, seconds=60).native((-1.0, 1.0))
    )
    native.begin()
    params = Parameters(playouts=1, max_length=100, policy="random")

    def watch():
        paused.append(True)
        if len(paused) == 3:
            native.stop()

    native.run("rollout", params, watch)
    assert len(paused) >= 3
    assert sorted(read) == ["max_length", "playouts", "policy"]


def test_config_and_settings_are_one():
    config = SearchConfig(simulations=30, seed=2)
    by_name = sylvan.search(TicTacToe(), evaluator="rollout", simulations=30, seed=2)
    by_config = sylvan.search(TicTacToe(), evaluator="rollout", config=config)
    changed = sylvan.search(TicTacToe(), evaluator="rollout", config=config, simulations=31)
    assert found(by_name) == found(by_config)
    assert changed.simulations == 31


def test_zero_simulations_are_the_priors():
    search = Search(skewed, simulations=0)
    result = search.run(TicTacToe([4]))
    priors = {edge.action: edge.P for edge in result.tree.root.edges}
    assert result.simulations == 0 and result.tree.root.N == 1
    assert {a: result.policy[a] for a in priors} == pytest.approx(priors, abs=1e-6)
    assert result.best == max(priors, key=priors.__getitem__)


def test_a_second_run_adds_to_the_first():
    search = Search("hash_random", simulations=40, proofs=False)
    search.run(ConnectFour())
    result = search.run()
    assert result.simulations == 40
    assert result.tree.root.N == 81 and sum(e.N for e in result.tree.root.edges) == 80


def test_a_new_state_is_a_new_tree():
    search = Search("hash_random", simulations=40)
    search.run(ConnectFour())
    assert search.run(ConnectFour()).tree.root.N == 41


def test_the_state_is_a_copy():
    search = Search("uniform", simulations=5)
    search.run(TicTacToe())
    search.state.apply(0)
    assert search.state == TicTacToe()
    search.advance(4)
    assert search.state == TicTacToe([4])


def test_the_state_that_was_given_is_left_alone():
    for game in (TicTacToe([4]), ConnectFour("4"), Chess(moves="e4"), make(Shape())):
        twin = game.clone()
        search = Search(simulations=20)
        search.advance(search.run(game).best)
        assert game.key() == twin.key()
        assert list(game.legal_actions()) == list(twin.legal_actions())


def test_noise_can_be_handed_in():
    noise = [0.0] * 9
    noise[7] = 1.0
    search = Search("uniform", simulations=0, noise=True, dirichlet_fraction=0.5)
    result = search.run(TicTacToe(), noise=noise)
    priors = {edge.action: edge.P for edge in result.tree.root.edges}
    assert priors[7] == pytest.approx(0.5 + 0.5 / 9) and priors[0] == pytest.approx(0.5 / 9)
    assert search.run(noise=noise[::-1]).best == 1, "noise was added to noise"


def test_gumbel_noise_can_be_handed_in():
    noise = np.zeros(9)
    noise[7] = 50.0
    result = Search("uniform", selection="gumbel", simulations=8).run(TicTacToe(), noise=noise)
    assert result.tree.root.edge(7).N > 0 and result.best == 7


# --- watching ----------------------------------------------------------------------------------


def slow(leaves):
    time.sleep(0.005)
    return skewed(leaves)


@pytest.mark.parametrize("evaluate", ["hash_random", slow], ids=["native", "python"])
@pytest.mark.alone
def test_progress_is_reported(evaluate):
    seen = []
    limit = 10**9 if evaluate == "hash_random" else 100
    search = Search(evaluate, simulations=limit, seconds=0.4, proofs=False)
    result = search.run(ConnectFour(), progress=seen.append)
    assert len(seen) >= 4
    counts = [status.simulations for status in seen]
    times = [status.elapsed for status in seen]
    assert counts == sorted(counts) and counts[-1] <= result.simulations
    assert times == sorted(times) and 0 < times[0] < 0.3
    assert {(status.limit, status.seconds) for status in seen} == {(limit, 0.4)}


@pytest.mark.parametrize("evaluate", ["hash_random", slow], ids=["native", "python"])
def test_progress_that_returns_false_ends_the_search(evaluate):
    calls = []

    def enough(status):
        calls.append(status)
        return len(calls) < 3

    search = Search(evaluate, simulations=None, seconds=20, proofs=False)
    result = search.run(ConnectFour(), progress=enough)
    assert len(calls) == 3 and result.stopped_by == "stop" and result.seconds < 5
    assert result.simulations == sum(edge.N for edge in result.tree.root.edges)


@pytest.mark.parametrize("evaluate", ["hash_random", slow], ids=["native", "python"])
def test_progress_that_raises_ends_the_search(evaluate):
    def fail(status):
        if status.simulations:
            raise ZeroDivisionError

    search = Search(evaluate, simulations=None, seconds=20, proofs=False)
    with pytest.raises(ZeroDivisionError):
        search.run(ConnectFour(), progress=fail)
    partial = search.result
    assert partial.stopped_by == "interrupted" and partial.simulations > 0
    assert partial.simulations == sum(edge.N for edge in partial.tree.root.edges)
    search.config = search.config.replace(simulations=50)
    assert search.run(ConnectFour()).simulations == 50


def test_a_result_of_a_watcher_is_stale_when_the_search_goes_on():
    """A tree that still grows is not read in two moments as if they were one."""
    kept = []
    search = Search("hash_random", simulations=None, seconds=0.3, proofs=False)

    def keep(_):
        kept.append(search.result)

    last = search.run(ConnectFour(), progress=keep)
    first = kept[0]
    assert first.simulations < last.simulations
    assert sum(edge.N for edge in first.tree.root.edges) == first.simulations
    with pytest.raises(sylvan.errors.SearchStateError, match="moved on"):
        numbers(first.tree.root)


@pytest.mark.alone
def test_the_time_of_a_search():
    search = Search(slow, simulations=10, proofs=False)
    result = search.run(ConnectFour())
    assert 0.055 <= result.seconds < 0.5
    time.sleep(0.05)
    assert search.result.seconds == result.seconds


def test_evaluators_of_your_own_are_named_by_what_they_are():
    class Network:
        name = "resnet"

        def __call__(self, leaves):
            return skewed(leaves)

    assert Search(Network(), simulations=3).run(TicTacToe()).evaluator == "resnet"
    assert Search(evaluate_leaves, simulations=3).run(make(Shape())).evaluator == "function"
    assert Material.name == "material" and Rollout(playouts=2).native[1]["playouts"] == 2


def test_a_drawn_position_that_the_game_came_to_is_searched_all_the_same():
    """Inside the tree its third occurrence was the end; as a root it has moves."""
    search = sylvan.Search("uniform", simulations=400)
    search.run(Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1"))
    search.advance(search.state.string_to_action("Ng8"))
    result = search.run()
    assert len(result.tree.root.edges) == 20 and result.simulations == 400


def test_a_root_that_a_line_ended_in_is_searched_again():
    """A third occurrence ends every line of a tree, but a game may go on from it."""
    search = Search("material", simulations=100)
    search.run(Chess())
    for move in ["Nf3", "Nf6", "Ng1", "Ng8"] * 2:
        search.advance(search.state.string_to_action(move))
        assert search.run().simulations == 100
    assert search.state.outcome == "repetition"
    search.advance(search.state.string_to_action("e4"))
    assert search.run().simulations == 100


def test_the_position_that_a_search_came_to_is_a_game_like_any_other():
    """Twice the same position is the end of a line of the search, not of the game."""
    search = sylvan.Search("uniform", simulations=50)
    search.run(Chess(moves="Nf3 Nf6 Ng1", repetitions=2))
    for move in ("Ng8", "Nf3", "Nf6", "Ng1"):
        search.advance(search.state.string_to_action(move))
        assert not search.state.is_terminal()
    search.advance(search.state.string_to_action("Ng8"))
    assert search.state.outcome == "repetition"
    assert search.state == Chess(moves="Nf3 Nf6 Ng1 Ng8 " * 2, repetitions=2)
