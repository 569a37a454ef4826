"""Ratings on workers: the same results as on one machine, whatever is cut."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

import sylvan
from sylvan.cluster.ratings import can_be_sent
from sylvan.cluster.recipe import Recipe
from sylvan.errors import ClusterError
from sylvan.muzero.episodes import EpisodeArena
from sylvan.ratings.arena import BaseArena
from sylvan.ratings.pairings import Pairing
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from tests.cluster.threads import RULES, Threads
from tests.runs.killing import outcome_of, tiny, tiny_learned

STEPS = 2
NETWORK = Path(sylvan.__file__).parent / "nets" / "tictactoe.onnx"

ARENA = {"every": 1, "games": 6, "simulations": 4, "opponents": 2, "max_plies": 40}


def config_of(kind: str) -> TrainingConfig:
    """A run that rates every network."""
    if kind in ("tictactoe", "gym:CartPole-v1"):
        return tiny_learned(STEPS, kind).replace(arena=ARENA)
    sections = tiny(STEPS).model_dump(exclude_unset=True)
    if kind == "hidden":
        arena = ARENA | {"yardsticks": ("random", "rule", "rollout:simulations=4")}
        game = {"name": "blob", "params": {"players": 3, "cards": 2}}
        return TrainingConfig(**sections | {"game": game, "arena": arena})
    arena = ARENA | {"yardsticks": ("random", "rollout:simulations=8", "solver")}
    return TrainingConfig(**sections | {"arena": arena})


@pytest.fixture
def players(monkeypatch) -> list[tuple[str, int]]:
    """The thread and the number of games of each part that is played."""
    found: list[tuple[str, int]] = []
    for arena in (BaseArena, EpisodeArena):
        play = arena.play

        def noting(self, pairing, *arguments, play=play, **named):
            part = play(self, pairing, *arguments, **named)
            found.append((threading.current_thread().name, len(part.columns["score"])))
            return part

        monkeypatch.setattr(arena, "play", noting)
    return found


@pytest.mark.parametrize("kind", ["rules", "hidden", "tictactoe", "gym:CartPole-v1"])
def test_workers_rate_as_one_machine(kind, players, tmp_path):
    if kind.startswith("gym:"):
        pytest.importorskip("gymnasium")
    config = config_of(kind)
    train(config, tmp_path / "alone")
    here = [games for _, games in players]
    assert {name for name, _ in players} == {"MainThread"}
    players.clear()
    with Threads(tmp_path / "cluster") as cluster:
        train(config, tmp_path / "run", player=cluster.player)
    assert "MainThread" not in {name for name, _ in players}
    assert sum(games for _, games in players) == sum(here) and len(players) > len(here)
    one, two = outcome_of(tmp_path / "alone", STEPS), outcome_of(tmp_path / "run", STEPS)
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    ratings = [(tmp_path / name / "ratings.json").read_text() for name in ("alone", "run")]
    assert ratings[0] == ratings[1]


def test_what_needs_this_machine_is_rated_here(players, tmp_path):
    """A program, or a network's file."""
    config = config_of("rules")
    yardsticks = (f"{NETWORK}:simulations=4", "random")
    config = config.replace(arena=config.arena.replace(yardsticks=yardsticks, opponents=0))
    with Threads(tmp_path / "cluster") as cluster:
        train(config, tmp_path / "run", player=cluster.player)
    assert sum(name == "MainThread" for name, _ in players) == STEPS
    assert sum(name != "MainThread" for name, _ in players) > STEPS


def test_what_could_differ_elsewhere_is_not_sent():
    recipe = Recipe("chess", {}, 1, {}, {}, None, "onnx", "cpu")
    rollout = Pairing("rollout:simulations=4", 4, 1)
    assert can_be_sent(recipe, rollout) and can_be_sent(recipe, Pairing("step-000001", 4, 1, 1))
    for text in ("rollout:seconds=1", f"{NETWORK}:simulations=4"):
        assert not can_be_sent(recipe, Pairing(text, 4, 1))
    for change in ({"one_actor": True}, {"runtime": "torch"}):
        assert not can_be_sent(replace(recipe, **change), rollout)


def test_a_rating_that_no_worker_can_play_is_an_error(tmp_path, monkeypatch):
    """Its reason is that of the worker."""

    def broken(self, *arguments, **named):
        raise ValueError("the board is gone")

    monkeypatch.setattr(BaseArena, "play", broken)
    with (
        Threads(tmp_path / "cluster", 1, replace(RULES, longest_pause=0.1)) as cluster,
        pytest.raises(ClusterError, match="The board is gone"),
    ):
        train(config_of("rules"), tmp_path / "run", player=cluster.player)
