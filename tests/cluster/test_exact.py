"""Exact mode without Ray: a run on workers equals the run on one machine, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylvan.runs.loop import train
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
