"""Fast mode: steps take games as they arrive, none twice, and none that is too old."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import sylvan.cluster.recipe as recipe_module
from sylvan.cluster.coordinator import Report, Rules
from sylvan.runs.loop import train
from sylvan.runs.run import Run
from tests.cluster.threads import Games, Threads
from tests.runs.killing import tiny_learned

STEPS = 8


@pytest.fixture
def games(tmp_path):
    return Games(tmp_path / "run", lag=2)


def known(tmp_path) -> set[bytes]:
    """Many games of one machine, whose network is always the same."""
    return set(itertools.chain(*Games(tmp_path / "alone").play(STEPS + 6)))


def test_games_are_those_of_one_machine_and_none_comes_twice(games, tmp_path):
    with Threads(tmp_path) as cluster:
        found = list(itertools.chain(*games.play(STEPS, cluster.fast_player(games.run))))
    assert set(found) <= known(tmp_path)
    assert len(found) == len(set(found))


def test_a_slow_worker_holds_nobody_up(games, tmp_path):
    """A worker plays its first leases for ever: in exact mode the first step would not end."""
    rules = Rules(silence=1e6, late_after=1e6)
    with Threads(tmp_path, rules=rules) as cluster:
        exchange, held = cluster.link.exchange, set()

        def never_finished(name, report):
            if name == "worker-0":
                held.update(report.held)
                held.update(done.name for done in report.finished)
                report = Report(tuple(held), 2 - len(held), positions=report.positions)
            return exchange(name, report)

        cluster.link.exchange = never_finished
        player = cluster.fast_player(games.run)
        found = games.play(STEPS, player)
        assert all(found) and held
        steps = {int(name[:7]) for name in held}
        assert max(steps) <= min(player._parts) + player.stale + games.config.selfplay.lag
        assert min(player._parts) == STEPS - player.stale


def test_a_resumed_run_takes_no_game_twice(games, tmp_path):
    with Threads(tmp_path) as cluster:
        before = games.selfplay(cluster.fast_player(games.run))
        found = [games.step(before, step) for step in (1, 2, 3)]
        state = before.state_dict()
        assert "taken" in state["player"]
        after = games.selfplay(cluster.fast_player(games.run))
        after.load_state_dict(state)
        found += [games.step(after, step) for step in (4, 5)]
    joined = list(itertools.chain(*found))
    assert len(joined) == len(set(joined))


@pytest.mark.parametrize("exact", [True, False])
def test_only_exact_mode_gives_a_step_to_one_worker(exact, games, tmp_path, monkeypatch):
    """Where answers depend on the rest of a batch."""
    monkeypatch.setattr(recipe_module, "answers_depend_on_batch", lambda *_: True)
    with Threads(tmp_path) as cluster:
        player = (cluster.player if exact else cluster.fast_player)(games.run)
        assert all(games.play(1, player))
        assert player._recipe.one_actor == exact
        assert {len(parts) == 1 for parts in player._parts.values()} == {exact}


@pytest.mark.slow
def test_episodes_go_on_wherever_their_parts_are_taken(tmp_path):
    """Steps take parts of other steps, which continue other episodes than their own lease."""
    pytest.importorskip("gymnasium")
    config = tiny_learned(8)
    few = config.selfplay.replace(positions=16, lag=1, segment_plies=8)
    config = config.replace(selfplay=few, arena=config.arena.replace(every=0))
    with Threads(tmp_path / "cluster") as cluster:
        collect = cluster.link.collect

        def newest_first(life, number):
            found = collect(life, number)
            return replace(found, done=tuple(sorted(found.done, key=lambda done: done.name)[::-1]))

        cluster.link.collect = newest_first
        train(config, tmp_path / "run", player=cluster.fast_player)
    run = Run.open(tmp_path / "run")
    assert sum(run.metrics.columns()["selfplay.dropped"]) == 0
    cut = [tuple(each) for each in run.checkpoints.read(8).part("selfplay")["episodes"]]
    assert len(cut) == len(set(cut)) > 0
