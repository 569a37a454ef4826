"""Exact mode without Ray: a run on workers equals the run on one machine, whatever happens."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from sylvan.runs.metrics import Metrics
from sylvan.runs.workers import WorkerTotals
from tests.cluster.threads import Games, Threads
from tests.runs.killing import outcome_of, tiny, tiny_learned

STEPS = 3


def alone(config: TrainingConfig, folder: Path) -> dict[str, object]:
    """The files of a run on one machine."""
    train(config, folder)
    return outcome_of(folder, config.run.steps)


def on_workers(config: TrainingConfig, folder: Path) -> tuple[dict[str, object], dict[str, Any]]:
    """The files of the same run on two workers, and the coordinator's last status."""
    with Threads(folder / "cluster") as cluster:
        train(config, folder / "run", player=cluster.player)
        status = cluster.link.status()
    return outcome_of(folder / "run", config.run.steps), status


def differing(one: dict[str, object], two: dict[str, object]) -> list[str]:
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


def test_two_workers_make_the_run_of_one_machine(tmp_path):
    config = tiny(STEPS)
    found, status = on_workers(config, tmp_path)
    assert differing(alone(config, tmp_path / "alone"), found) == []
    assert status["counts"]["taken"] >= 2 * STEPS
    assert all(worker["leases"] for worker in status["workers"])
    for line in Metrics(tmp_path / "run").lines():
        assert line["seconds.network"] > 0
        assert line["seconds.network"] + line["seconds.search"] <= line["seconds.selfplay"] * 1.001
        assert line["played.workers"] in (1, 2) and 0 < line["played.slowest_worker"] <= 1
    totals = WorkerTotals(tmp_path / "run")
    assert set(totals.workers) == {"worker-0", "worker-1"} and totals.step == STEPS
    games = sum(line["selfplay.games"] for line in Metrics(tmp_path / "run").lines())
    assert sum(worker["games"] for worker in totals.workers.values()) == games


def test_work_done_while_the_learner_learns_is_no_work_of_a_moment(tmp_path):
    """The games of a step may be there when it begins: its speed is that since the last step."""
    games = Games(tmp_path / "run")
    with Threads(tmp_path) as cluster:
        player = cluster.player(games.run)
        games.play(1, player)
        now = time.perf_counter()
        player._ended = now - 1000.0
        found = player._statistics(player._done, now - 0.001)
        positions = sum(done.positions for done in player._done.values())
    speed = found.played_positions / found.seconds
    assert speed == pytest.approx(positions / 1000, rel=0.1)


HIDDEN = {
    "game": {"name": "blob", "params": {"players": 3, "cards": 2}},
    "search": {"simulations": 4},
    "arena": {"every": 0},
}
"""A game of chance with hidden cards."""

NIM = Path(__file__).parents[2] / "examples" / "nim.py"
PYTHON = {"game": {"name": f"{NIM}:Nim"}, "search": {"simulations": 4}, "arena": {"every": 0}}
"""A game of the user's own, in Python."""


@pytest.mark.parametrize("changes", [HIDDEN, PYTHON], ids=["hidden", "python"])
def test_all_kinds_of_games_are_played_as_on_one_machine(changes, tmp_path):
    sections = tiny(2).model_dump(exclude_unset=True)
    config = TrainingConfig(**(sections | changes))
    found, status = on_workers(config, tmp_path)
    assert differing(alone(config, tmp_path / "alone"), found) == []
    assert status["counts"]["taken"] >= 4


def learned(game: str, **settings: Any) -> TrainingConfig:
    """A tiny MuZero run, whose games of later steps begin early."""
    config = tiny_learned(STEPS, game)
    return config.replace(selfplay=config.selfplay.replace(lag=1, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("game", ["gym:CartPole-v1", "tictactoe"])
def test_learned_models_make_the_run_of_one_machine(game, tmp_path):
    if game.startswith("gym:"):
        pytest.importorskip("gymnasium")
    config = learned(game, segment_plies=8)  # episodes are continued by other workers
    found, status = on_workers(config, tmp_path)
    assert differing(alone(config, tmp_path / "alone"), found) == []
    assert status["counts"]["taken"] >= 2 * STEPS
    assert all(worker["leases"] for worker in status["workers"])
    for line in Metrics(tmp_path / "run").lines():
        assert line["seconds.network"] > 0
    if game.startswith("gym:"):
        assert found["state"]["selfplay"]["episodes"]
