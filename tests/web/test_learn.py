"""Runs in a page: their list, their curves as they grow, their games."""

import math

import numpy as np
import pytest

from sylvan.games import TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.replay.buffer import Replay
from sylvan.runs.config import TrainingConfig
from sylvan.runs.metrics import Metrics
from sylvan.runs.run import Run
from sylvan.web.desk import Desk
from sylvan.web.protocol import Curves, Games, Problem, Replayed, Runs
from tests.replay.random_records import random_record
from tests.web.serving import Page


@pytest.fixture
def folder(tmp_path):
    for name, game in (("first", "tictactoe"), ("second", "connect4")):
        Run.create(tmp_path / name, TrainingConfig(game={"name": game}))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.toml").write_text("[game")
    return tmp_path


@pytest.fixture
def watching(folder):
    with Page(Desk(runs=(folder,))) as page:
        yield page


def test_runs_are_listed_also_damaged_ones(watching):
    watching.ask(type="follow")
    runs = {run.name: run for run in watching.wait(Runs).runs}
    assert set(runs) == {"broken", "first", "second"}
    assert (runs["first"].game, runs["first"].state) == ("tictactoe", "new")
    assert runs["broken"].state == "damaged" and runs["broken"].problem


def test_curves_grow_as_the_run_does(watching, folder):
    metrics = Metrics(folder / "first")
    metrics.log(1, loss={"policy": 2.0})
    metrics.log(2, loss={"policy": math.nan, "value": 0.5})
    watching.ask(type="follow", runs=["first"])
    curves = watching.wait(Curves)
    assert (curves.run, curves.fresh, curves.steps) == ("first", True, [1, 2])
    assert curves.figures["loss.policy"] == [2, None]
    assert curves.figures["loss.value"] == [None, 0.5]
    metrics.log(3, loss={"policy": 1.0})
    curves = watching.wait(Curves)
    assert (curves.fresh, curves.steps, curves.figures["loss.policy"]) == (False, [3], [1.0])
    metrics.keep(1)  # the run was resumed from an earlier step
    curves = watching.wait(Curves)
    assert (curves.fresh, curves.steps) == (True, [1])


def test_a_long_run_is_thinned_at_first(watching, folder, monkeypatch):
    monkeypatch.setattr("sylvan.web.learn.POINTS", 10)
    metrics = Metrics(folder / "first")
    for step in range(1, 101):
        metrics.log(step, loss={"policy": 1 / step})
    watching.ask(type="follow", runs=["first"])
    steps = watching.wait(Curves).steps
    assert len(steps) == 10 and (steps[0], steps[-1]) == (1, 100)


@pytest.mark.parametrize(
    "request_",
    [
        {"type": "follow", "runs": ["third"]},
        {"type": "list_games", "run": "../first"},
        {"type": "list_games", "run": "first"},  # no games yet
        {"type": "replay", "run": "/etc", "number": 0},
    ],
)
def test_other_folders_are_refused(watching, request_):
    watching.ask(**request_)
    assert "\n" not in watching.wait(Problem).sentence


def test_a_game_is_replayed_with_what_the_search_thought(watching, folder):
    spec, rng = GameSpec("tictactoe"), np.random.default_rng(3)
    records = [random_record(spec, rng, opening=2, step=n) for n in range(12)]
    Replay(folder / "first" / "replay", spec).append(records)
    watching.ask(type="list_games", run="first")
    games = watching.wait(Games).games
    assert [game.plies for game in games] == [len(record) for record in records[::-1]]
    watching.ask(type="replay", run="first", number=2)
    replayed = watching.wait(Replayed)
    record = records[-3]
    state = TicTacToe()
    for ply, shown in enumerate(replayed.plies[:-1]):
        action = int(record.actions[ply])
        cells = "".join("." if state.mark(c) is None else "xo"[state.mark(c)] for c in range(9))
        assert (shown.board.cells, shown.seat) == (cells, state.to_play())
        assert shown.label == state.action_to_string(action)
        legal, target = record.legal(ply), record.target(ply)
        if len(legal):
            assert shown.values == pytest.approx(record.values[ply].tolist(), abs=1e-3)
            best = shown.policy[0]
            assert best.P == pytest.approx(target.max(), abs=1e-3) and best.action in legal
            assert sum(edge.P for edge in shown.policy) <= 1.01
        else:
            assert shown.values is None and not shown.policy
        state.apply(action)
    assert replayed.plies[-1].label is None and state.is_terminal()
    assert replayed.info.returns == list(state.returns())


def test_every_game_is_listed_on_some_page(watching, folder, monkeypatch):
    monkeypatch.setattr("sylvan.web.replays.GAMES", 5)
    spec, rng = GameSpec("tictactoe"), np.random.default_rng(3)
    records = [random_record(spec, rng, opening=2, step=n) for n in range(12)]
    for first in range(0, 12, 4):  # a shard each
        Replay(folder / "first" / "replay", spec).append(records[first : first + 4])
    steps, page = [], 0
    while True:
        watching.ask(type="list_games", run="first", page=page)
        games = watching.wait(Games)
        steps += [game.step for game in games.games]
        page += 1
        if games.is_last:
            break
    assert steps == list(range(11, -1, -1)) and page == 3
    watching.ask(type="replay", run="first", number=1)  # of the last page
    assert watching.wait(Replayed).info.step == 0
    watching.ask(type="list_games", run="first", page=3)
    assert watching.wait(Games).games == []
