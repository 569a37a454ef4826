"""The arena of a run: opponents, the best network, the gate, and saved state."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import ConfigError
from sylvan.evaluators import Material, Rollout, Uniform
from sylvan.games.naming import GameSpec
from sylvan.ratings.arena import Arena, ArenaConfig

TICTACTOE = GameSpec("tictactoe")


def perverse(leaves):
    """Evaluates losses as wins."""
    logits, values = Rollout()(leaves)
    return logits, -values


def short(**settings):
    defaults = {"games": 12, "simulations": 12, "positions": 40, "yardsticks": ("random",)}
    return ArenaConfig(**{**defaults, **settings})


def test_a_rating_has_all_metrics():
    rating = Arena(TICTACTOE, short(), seed=1).rate(Rollout(), step=3)
    numbers = rating.numbers()
    assert {"rating.elo", "rating.low", "rating.high", "seconds.arena"} <= set(numbers)
    assert {"rating.score.random", "rating.mistakes.states.network"} <= set(numbers)
    assert 0 < numbers["rating.mistakes.states.search"] < 1
    assert rating.low < rating.elo < rating.high and rating.elo > 0
    assert rating.is_best and rating.promoted
    assert all(isinstance(number, float) for number in numbers.values())


def test_ratings_follow_from_the_seed():
    def numbers(seed):
        found = Arena(TICTACTOE, short(games=30), seed=seed).rate(Rollout(), step=3).numbers()
        return {name: number for name, number in found.items() if name != "seconds.arena"}

    assert numbers(1) == numbers(1) != numbers(2)


def test_the_best_network_stays_the_best_after_a_worse_one():
    arena = Arena(TICTACTOE, short(), seed=1)
    networks = {10: Rollout(), 20: perverse, 30: Rollout()}
    loaders = {step: lambda step=step: networks[step] for step in networks}
    first = arena.rate(networks[10], 10)
    worse = arena.rate(networks[20], 20, {10: loaders[10]})
    assert first.is_best and not worse.is_best and worse.promoted  # no gate
    assert worse.scores["best"] < 0.5 and worse.elo < first.elo
    assert arena.best == 10
    third = arena.rate(networks[30], 30, {10: loaders[10], 20: loaders[20]})
    assert third.scores["step-000020"] > 0.5 and third.scores["best"] == pytest.approx(0.5, abs=0.3)
    for rating in (first, worse):
        assert rating.best_step == 10
    best = arena.ratings()[f"step-{arena.best:06d}"]
    numbers = third.numbers()
    assert (numbers["rating.best_step"], numbers["rating.best"]) == (arena.best, best.elo)


def test_the_best_is_played_first_and_then_the_newest():
    arena = Arena(TICTACTOE, short(opponents=2, yardsticks=("random",)), seed=1)
    arena.best = 10
    assert arena._opponents(dict.fromkeys((10, 20, 30, 40, 50), Uniform), 50) == [10, 40]
    arena.best = 40
    assert arena._opponents(dict.fromkeys((10, 20, 30, 40), Uniform), 50) == [40, 30]
    none = Arena(TICTACTOE, short(opponents=0), seed=1)
    assert none._opponents({10: Uniform}, 20) == []


def test_a_gate_keeps_the_old_network_playing():
    arena = Arena(TICTACTOE, short(gate=0.55), seed=1)
    assert arena.rate(Rollout(), 10).promoted  # the first has no opponent
    worse = arena.rate(perverse, 20, {10: Rollout})
    assert not worse.promoted and not worse.is_best and arena.best == 10
    equal = arena.rate(Rollout(), 30, {10: Rollout})
    assert equal.promoted == (equal.scores["best"] >= 0.55)


def test_a_network_that_passes_the_gate_becomes_the_best():
    arena = Arena(TICTACTOE, short(gate=0.55), seed=1)
    arena.rate(perverse, 10)
    better = arena.rate(Rollout(), 20, {10: lambda: perverse})
    assert better.scores["best"] >= 0.55 and better.promoted and better.is_best
    assert arena.best == 20


def test_a_restored_arena_continues_identically():
    whole = Arena(TICTACTOE, short(), seed=1)
    whole.rate(perverse, 10)
    state = json.loads(json.dumps(whole.state_dict()))
    again = Arena(TICTACTOE, short(), seed=1)
    again.load_state_dict(state)
    one, other = (arena.rate(Rollout(), 20, {10: lambda: perverse}) for arena in (whole, again))
    assert one.numbers() | {"seconds.arena": 0} == other.numbers() | {"seconds.arena": 0}
    assert whole.state_dict() == again.state_dict()


def test_a_repeated_step_counts_once():
    arena = Arena(TICTACTOE, short(), seed=1)
    arena.rate(Rollout(), 10)
    once = arena.ratings()
    arena.rate(Rollout(), 10)
    assert arena.ratings() == once


def test_without_a_random_player_the_first_network_is_the_anchor():
    arena = Arena(TICTACTOE, short(yardsticks=("rollout:simulations=5",)), seed=1)
    assert arena.rate(Rollout(), 10).elo == 0.0


def test_a_run_without_opponents_has_a_rating():
    rating = Arena(TICTACTOE, short(yardsticks=(), positions=0), seed=1).rate(Rollout(), 10)
    assert rating.elo == 0.0 and rating.low == -np.inf and rating.is_best


def test_the_table_of_all_networks_is_written(tmp_path):
    arena = Arena(TICTACTOE, short(positions=0), seed=1, folder=tmp_path)
    arena.rate(perverse, 10)
    arena.rate(Rollout(), 20, {10: lambda: perverse})
    table = json.loads((tmp_path / "ratings.json").read_text())
    assert table["anchor"] == "random" and table["best"] == "step-000020"
    assert table["ratings"]["step-000020"]["elo"] > table["ratings"]["step-000010"]["elo"]
    assert len(table["results"]) == 3


def test_yardsticks_suit_the_game():
    assert Arena(GameSpec("chess"), ArenaConfig(), 0).yardsticks == (
        "random",
        "material:simulations=32",
    )
    assert Arena(TICTACTOE, ArenaConfig(), 0).yardsticks == ("random", "rollout:simulations=32")


def test_external_programs_run_only_during_ratings():
    engine = Path(__file__).parents[1] / "players" / "fake_engine.py"
    text = f"uci:{sys.executable} {engine} good; nodes=1"
    settings = short(yardsticks=("random", text), games=2, simulations=4, positions=0, max_plies=12)
    arena = Arena(GameSpec("chess"), settings, seed=1)
    for step in (1, 2):
        assert text in arena.rate(Material(), step).scores
        assert arena._sides == {}


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=r"arena.gate.*0.3"):
        ArenaConfig(gate=0.3)
    with pytest.raises(ConfigError, match="'simulations'"):
        ArenaConfig(simulation=3)
