"""Exact mode without Ray: a run on workers equals the run on one machine, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from sylvan.runs.metrics import Metrics
from sylvan.runs.workers import WorkerTotals
from tests.cluster.threads import Threads
from tests.runs.killing import outcome_of, tiny

STEPS = 3


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, object]:
    """The files of the run on one machine."""
    folder: Path = tmp_path_factory.mktemp("alone") / "run"
    train(tiny(STEPS), folder)
    return outcome_of(folder, STEPS)


def differing(one: dict[str, object], two: dict[str, object]) -> list[str]:
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


def test_two_workers_make_the_run_of_one_machine(alone, tmp_path):
    with Threads(tmp_path / "cluster") as cluster:
        train(tiny(STEPS), tmp_path / "run", player=cluster.player)
        status = cluster.link.status()
    assert differing(alone, outcome_of(tmp_path / "run", STEPS)) == []
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
    train(config, tmp_path / "alone")
    with Threads(tmp_path / "cluster") as cluster:
        train(config, tmp_path / "run", player=cluster.player)
        assert cluster.link.status()["counts"]["taken"] >= 4
    one, two = outcome_of(tmp_path / "alone", 2), outcome_of(tmp_path / "run", 2)
    assert differing(one, two) == []
