"""Reanalysis on workers: the same targets as on one machine."""

from __future__ import annotations

import threading

import pytest

import sylvan.cluster.reanalysis as elsewhere
import sylvan.muzero.reanalyse as here
from sylvan.cluster.player import ClusterPlayer
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from tests.cluster.threads import Threads
from tests.runs.killing import outcome_of, tiny_learned

STEPS = 2


def config_of(game: str, *, prioritised: bool = False) -> TrainingConfig:
    config = tiny_learned(STEPS, game)
    replay = config.replay.replace(prioritised=prioritised)
    muzero = config.muzero.replace(reanalyse=0.5, fresh_values=True)
    arena = config.arena.replace(every=0)
    return config.replace(replay=replay, muzero=muzero, arena=arena)


@pytest.fixture
def searches(monkeypatch) -> dict[str, list[str]]:
    """The threads that search: the learner's and the workers'."""
    found: dict[str, list[str]] = {"here": [], "elsewhere": []}
    for module, where in ((here, "here"), (elsewhere, "elsewhere")):
        search = module.searched

        def noting(*arguments, search=search, where=where):
            found[where].append(threading.current_thread().name)
            return search(*arguments)

        monkeypatch.setattr(module, "searched", noting)
    return found


@pytest.mark.parametrize("game", ["tictactoe", "gym:CartPole-v1"])
def test_workers_search_as_one_machine(game, searches, tmp_path, monkeypatch):
    if game.startswith("gym:"):
        pytest.importorskip("gymnasium")
    monkeypatch.setattr(here, "WIDTH", 20)  # several jobs of a batch
    config = config_of(game)
    train(config, tmp_path / "alone")
    alone = len(searches["here"])
    assert alone and not searches["elsewhere"]
    with Threads(tmp_path / "cluster") as cluster:
        train(config, tmp_path / "run", player=cluster.player)
        kept = list((tmp_path / "cluster" / "storage" / "blobs").iterdir())
    assert len(searches["here"]) == alone and len(searches["elsewhere"]) >= alone
    one, two = outcome_of(tmp_path / "alone", STEPS), outcome_of(tmp_path / "run", STEPS)
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    assert len(kept) < 10  # those of the jobs are removed


def test_batches_that_change_the_next_ones_are_searched_here(searches, tmp_path):
    """Priorities of sampling follow from each batch: none can begin early."""
    config = config_of("tictactoe", prioritised=True)
    with Threads(tmp_path / "cluster") as cluster:
        train(config, tmp_path / "run", player=cluster.player)
    assert searches["here"] and not searches["elsewhere"]


def test_damaged_results_are_searched_again(searches, tmp_path):
    config = config_of("tictactoe")
    train(config, tmp_path / "alone")
    with Threads(tmp_path / "cluster") as cluster:
        write, damages = cluster.storage.write_shard, [0, 1, 2]

        def damaging(lease, facts, payload):
            size = write(lease, facts, payload)
            if lease.kind == "reanalysis" and damages:
                damages.pop()
                path = tmp_path / "cluster" / "storage" / "leases" / f"{lease.name}.shard"
                path.write_bytes(path.read_bytes()[:-1] + b"?")
            return size

        cluster.storage.write_shard = damaging
        train(config, tmp_path / "run", player=cluster.player)
        assert not damages and cluster.link.status()["counts"]["lost"] >= 3
    one, two = outcome_of(tmp_path / "alone", STEPS), outcome_of(tmp_path / "run", STEPS)
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []


def test_a_run_that_waits_for_results_can_be_ended(tmp_path):
    """No worker is left."""
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with Threads(tmp_path / "cluster") as cluster:
        cluster.link.add = lambda leases: None

        def player(run):
            return ClusterPlayer(run, cluster.link, cluster.storage, "test-run", 2, check=check)

        assert train(config_of("tictactoe"), tmp_path / "run", player=player).step == 0
    assert len(asked) == 3
