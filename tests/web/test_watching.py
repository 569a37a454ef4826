"""Runs that are looked at closely: opinions over the steps, what a model foresees, films; and runs
that a page starts, pauses and resumes.
"""

import base64
import subprocess
import sys
import time

import numpy as np
import pytest
from websockets.sync.client import connect

from sylvan.games import Chess, TicTacToe
from sylvan.runs import history
from sylvan.runs.agent import load_model
from sylvan.runs.figures import limit, run_columns
from sylvan.runs.loop import train
from sylvan.runs.run import Run
from sylvan.web import training as web_training
from sylvan.web.desk import Desk
from sylvan.web.protocol import (
    Foreseen,
    Games,
    Offers,
    Opinions,
    Problem,
    Replayed,
    Runs,
    Table,
)
from tests.runs.killing import tiny, tiny_learned
from tests.web.serving import Page

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with the rules, and one that learned them."""
    folder = tmp_path_factory.mktemp("runs")
    train(tiny(3), folder / "rules")
    learned = tiny_learned(2, "tictactoe")
    learned = learned.replace(
        targets={}, search={"simulations": 4}, arena=learned.arena.replace(positions=20)
    )
    train(learned, folder / "learned")
    return folder


@pytest.fixture(scope="module")
def pole(tmp_path_factory):
    """The folder of a run on an environment."""
    pytest.importorskip("gymnasium")
    pytest.importorskip("pygame")
    folder = tmp_path_factory.mktemp("poles")
    train(tiny_learned(2), folder / "pole")
    return folder


@pytest.fixture
def page(folder):
    with Page(Desk(runs=(folder,))) as page:
        yield page


def test_what_limits_a_run_is_said(page, folder):
    page.ask(type="follow", runs=[])
    limits = {run.name: run.limit for run in page.wait(Runs).runs}
    for name, said in limits.items():
        assert said == ": ".join(limit(run_columns(folder / name)))


# --- opinions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rules", "learned"])
def test_the_opinion_of_every_network_is_that_of_the_network(page, folder, name):
    page.ask(type="ask_opinion", run=name, text="4 0")
    found = page.wait(Opinions)
    assert found.board.cells == "o...x...." and found.seat == 0
    run = Run.open(folder / name)
    assert [each.step for each in found.steps] == list(history.networks_by_step(run))
    state = TicTacToe([4, 0])
    for each in found.steps:
        moves = {edge.action: edge.P for edge in each.policy}
        assert set(moves) <= set(state.legal_actions()) and sum(moves.values()) <= 1.0001
        assert list(moves.values()) == sorted(moves.values(), reverse=True)
        assert -1.01 <= each.value <= 1.01
    assert len({each.value for each in found.steps}) > 1  # it learned something


def test_the_last_opinion_is_that_of_the_published_network(page, folder):
    """The oracle is the evaluator that `sylvan play` would use."""
    import sylvan
    from sylvan.evaluators import load_evaluator

    page.ask(type="ask_opinion", run="rules", text="")
    last = page.wait(Opinions).steps[-1]
    evaluator = load_evaluator(Run.open(folder / "rules").networks / "last.safetensors")
    result = sylvan.search(TicTacToe(), evaluator=evaluator, simulations=0, prior_bits=32)
    priors = {edge.action: edge.P for edge in result.tree.root.edges}
    assert {edge.action: edge.P for edge in last.policy} == pytest.approx(
        {edge.action: priors[edge.action] for edge in last.policy}, abs=1e-3
    )


def test_a_network_that_appears_is_added(page, folder, monkeypatch):
    known = history.networks_by_step(Run.open(folder / "rules"))
    first = dict(list(known.items())[:1])
    monkeypatch.setattr("sylvan.web.opinion.networks_by_step", lambda _: first)
    page.ask(type="follow", runs=[])
    page.ask(type="ask_opinion", run="rules", text="")
    assert len(page.wait(Opinions).steps) == 1
    monkeypatch.setattr("sylvan.web.opinion.networks_by_step", lambda _: known)
    assert len(page.wait(Opinions).steps) == len(known)


@pytest.mark.parametrize(
    ("run", "text", "word"),
    [
        ("rules", "9", "9"),
        ("rules", "0 3 1 4 2", "No seat"),
        ("../rules", "", "no run"),
        ("nowhere", "", "no run"),
    ],
)
def test_what_is_no_position_gets_a_sentence(page, run, text, word):
    page.ask(type="ask_opinion", run=run, text=text)
    assert word in page.wait(Problem).sentence


# --- games, films, foresight ---------------------------------------------------------------------


def test_a_model_foresees_beside_what_happened(page, folder):
    """The oracle: the model itself, and the game's record."""
    page.ask(type="list_games", run="learned")
    number = next(game.number for game in page.wait(Games).games if game.plies >= 6)
    page.ask(type="replay", run="learned", number=number)
    game = page.wait(Replayed)
    assert game.is_learned and not game.is_film
    page.ask(type="foresee", run="learned", number=number, ply=2)
    steps = page.wait(Foreseen).steps
    played = [ply.label for ply in game.plies[2:-1]]
    assert [step.real for step in steps[: len(played)]] == played[: len(steps)]
    assert [step.label for step in steps] == [None, *played][: len(steps)]
    state = TicTacToe([int(ply.label) for ply in game.plies[:2]])
    model = load_model(folder / "learned")
    output = model.initial_inference(np.asarray(state.observation())[None])
    for step, ply in zip(steps, game.plies[2:], strict=False):
        if step.legal is not None:
            legal = TicTacToe([int(each.label) for each in game.plies[: 2 + steps.index(step)]])
            assert {edge.action for edge in step.policy} <= set(legal.legal_actions())
        assert step.value == pytest.approx(float(np.ravel(output[0])[0]), abs=1e-5)
        if ply.label is not None:
            output = model.recurrent_inference(output[3], np.array([int(ply.label)]))
    rewards = [step.real_reward for step in steps]
    assert rewards[0] is None and len(steps) > 3
    last = steps[len(played)] if len(played) < len(steps) else None
    if last is not None:  # the end of the game was reached: its result is the last reward
        assert last.real is None and last.real_value is None
        mover = game.plies[-2].seat
        assert last.real_reward == pytest.approx(game.info.returns[mover])


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({"type": "foresee", "run": "rules", "number": 0, "ply": 0}, "rules"),
        ({"type": "foresee", "run": "learned", "number": 0, "ply": 99}, "known"),
        ({"type": "foresee", "run": "learned", "number": 10_000, "ply": 0}, "number"),
        ({"type": "foresee", "run": "learned", "number": None, "ply": 0}, "no film"),
        ({"type": "film", "run": "rules"}, "rules"),
    ],
)
def test_what_cannot_be_foreseen_gets_a_sentence(page, request_, word):
    page.ask(type="list_games", run=request_["run"])
    page.wait(Games)
    page.ask(**request_)
    assert word in page.wait(Problem).sentence


@pytest.mark.slow
def test_an_episode_is_filmed(pole):
    with Page(Desk(runs=(pole,))) as page:
        page.ask(type="film", run="pole", seed=3)
        film = page.wait(Replayed, seconds=60)
        assert film.is_film and film.is_learned
        assert film.info.plies == len(film.plies) - 1 == film.info.returns[0]
        for ply in film.plies:
            assert base64.b64decode(ply.board.image).startswith(b"\x89PNG")
        assert all(ply.reward == 1 and ply.values for ply in film.plies[:-1])
        page.ask(type="foresee", run="pole", number=None, ply=1)
        steps = page.wait(Foreseen).steps
        assert [step.real for step in steps[:3]] == [ply.label for ply in film.plies[1:4]]
        assert all(step.real_reward == 1 for step in steps[1:])
        page.ask(type="film", run="pole", seed=3)
        assert page.wait(Replayed, seconds=60).plies == film.plies  # the same again
        page.ask(type="ask_opinion", run="pole", text="")
        assert "film" in page.wait(Problem).sentence
        page.ask(type="list_games", run="pole")
        page.ask(type="replay", run="pole", number=0)
        shown = page.wait(Replayed)
        assert shown.plies[0].policy and shown.plies[0].board.image is None


@pytest.mark.parametrize("name", ["rules", "learned"])
def test_the_network_of_a_run_plays(page, name):
    """Both that search with the rules and that plan with a learned model."""
    page.ask(type="list_offers")
    offers = {offer.game: offer.networks for offer in page.wait(Offers).games}
    assert set(offers["tictactoe"]) == {"rules", "learned"} and offers["chess"] == []
    seats = [{"who": "you"}, {"who": "player", "network": name, "level": 2}]
    page.ask(type="sit", game="tictactoe", seats=seats, seed=1)
    page.wait(Table)
    page.ask(type="act", action=4)
    while len((table := page.wait(Table)).said) < 2:
        pass
    assert table.seats[1].player == f"{name}, level 2"
    page.ask(type="sit", game="chess", seats=seats)
    assert name in page.wait(Problem).sentence


# --- start, pause, resume ------------------------------------------------------------------------

RUNNER = """
import sys
from sylvan.runs.figures import limit, run_columns
from sylvan.runs.loop import train
from tests.runs.killing import tiny
if "--minutes" in sys.argv and sys.argv[sys.argv.index("--minutes") + 1] == "7":
    sys.exit("the disk is full")
outcome = train(tiny(10_000), sys.argv[sys.argv.index("--run") + 1])
sys.exit(130 if outcome.reason == "interrupted" else 0)
"""
"""Trains a tiny run without an end; a budget of 7 minutes fails."""


@pytest.fixture
def training(tmp_path, monkeypatch):
    """A page that may train."""
    monkeypatch.setattr(web_training, "PROGRAM", [sys.executable, "-c", RUNNER, "train"])
    with Page(Desk(runs=(tmp_path,), trains=True)) as page:
        page.ask(type="follow", runs=[])
        assert "tictactoe" in page.wait(Runs).trainable
        yield page
        for process in page.learn._training._started.values():
            process.kill()  # a run outlives its page and its server
            process.wait()


def state(page, name, wanted, *, is_own=None):
    """Wait until a run is in a state; what a server trains is running."""
    own = wanted == "running" if is_own is None else is_own
    while True:
        found = {run.name: run for run in page.wait(Runs, seconds=60).runs}
        if name in found and (found[name].state, found[name].is_own) == (wanted, own):
            return found[name]


def trained(folder):
    """Wait until a run has made a step."""
    until = time.monotonic() + 60
    while max(Run.open(folder).checkpoints.steps(), default=0) < 1:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_a_run_is_started_paused_and_resumed(training, tmp_path):
    training.ask(type="start_run", name="new", game="tictactoe", minutes=5)
    state(training, "new", "running")
    training.ask(type="start_run", name="second", game="tictactoe")
    assert "new is training" in training.wait(Problem).sentence
    trained(tmp_path / "new")
    training.ask(type="pause_run", run="new")
    paused = state(training, "new", "stopped")
    assert paused.step
    training.ask(type="pause_run", run="new")
    assert "is not training" in training.wait(Problem).sentence
    training.ask(type="resume_run", run="new")
    assert state(training, "new", "running").step >= paused.step
    training.ask(type="pause_run", run="new")
    state(training, "new", "stopped")


@pytest.mark.slow
def test_a_run_goes_on_without_its_server_and_another_server_pauses_it(training, tmp_path):
    training.ask(type="start_run", name="new", game="tictactoe", minutes=5)
    state(training, "new", "running")
    training.learn.close()
    trained(tmp_path / "new")
    with Page(Desk(runs=(tmp_path,), trains=True)) as other:
        other.ask(type="follow", runs=[])
        state(other, "new", "running")
        other.ask(type="resume_run", run="new")
        assert "is training" in other.wait(Problem).sentence
        other.ask(type="pause_run", run="new")
        state(other, "new", "stopped")


SERVER = f"""
import sys
from pathlib import Path
from sylvan.web import training
from sylvan.web.desk import Desk
from sylvan.web.security import Policy
from sylvan.web.server import serve
training.PROGRAM = [sys.executable, "-c", {RUNNER!r}, "train"]
desk = Desk(runs=(Path(sys.argv[1]),), trains=True)
serve(desk, Policy.of("127.0.0.1", ()), 0, lambda address: print(address, flush=True))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("built")
def test_a_server_that_is_killed_loses_no_run(tmp_path):
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    host = server.stdout.readline().strip().removeprefix("http://").rstrip("/")
    with connect(f"ws://{host}/socket", origin=f"http://{host}") as page:
        page.send('{"type":"start_run","name":"new","game":"tictactoe"}')
        until = time.monotonic() + 60
        while not Run.exists(tmp_path / "new"):
            assert time.monotonic() < until
            time.sleep(0.05)
        trained(tmp_path / "new")
        server.kill()
    server.wait()
    server.stdout.close()
    with Page(Desk(runs=(tmp_path,), trains=True)) as other:
        other.ask(type="follow", runs=[])
        step = state(other, "new", "running").step
        while state(other, "new", "running").step <= step:
            pass  # it goes on
        other.ask(type="pause_run", run="new")
        state(other, "new", "stopped")


def test_a_run_that_is_trained_elsewhere_is_left_alone(training, tmp_path):
    command = [*web_training.PROGRAM, "tictactoe", "--run", str(tmp_path / "theirs")]
    theirs = subprocess.Popen(command)
    try:
        state(training, "theirs", "running", is_own=False)
        training.ask(type="pause_run", run="theirs")
        assert "another process" in training.wait(Problem).sentence
        training.ask(type="start_run", name="mine", game="tictactoe")
        assert "theirs is training" in training.wait(Problem).sentence
        assert theirs.poll() is None
    finally:
        theirs.kill()
        theirs.wait()


def test_a_run_that_fails_says_why(training):
    training.ask(type="start_run", name="new", game="tictactoe", minutes=7)
    sentence = training.wait(Problem, seconds=60).sentence
    assert sentence == "The run new failed: the disk is full"


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({"name": "../x", "game": "tictactoe"}, "name of a run"),
        ({"name": ".x", "game": "tictactoe"}, "name of a run"),
        ({"name": "-x", "game": "tictactoe"}, "name of a run"),
        ({"name": "x", "game": "gym:/tmp/evil.py:Game"}, "cannot be trained"),
        ({"name": "x", "game": "/tmp/evil.py:Game"}, "cannot be trained"),
    ],
)
def test_only_new_runs_of_known_games_are_started(training, tmp_path, request_, word):
    training.ask(type="start_run", **request_)
    assert word in training.wait(Problem).sentence
    assert not list(tmp_path.iterdir())


def test_without_permission_nothing_is_trained(page, folder):
    page.ask(type="follow", runs=[])
    assert page.wait(Runs).trainable == []
    for request in (
        {"type": "start_run", "name": "x", "game": "tictactoe"},
        {"type": "resume_run", "run": "rules"},
        {"type": "pause_run", "run": "rules"},
    ):
        page.ask(**request)
        assert "--no-train" in page.wait(Problem).sentence
    assert not (folder / "x").exists()


def test_the_program_that_trains_is_sylvan():
    asked = subprocess.run([*web_training.PROGRAM, "--help"], capture_output=True, text=True)
    assert asked.returncode == 0
    assert all(word in asked.stdout for word in ("--run", "--minutes", "--quiet", "--algorithm"))


def test_a_server_for_other_machines_may_not_train(tmp_path):
    from typer.testing import CliRunner

    from sylvan.cli import app

    result = CliRunner().invoke(app, ["web", "--train", "--host", "0.0.0.0", "--port", "0"])
    assert result.exit_code == 2 and "this machine only" in result.output


@pytest.mark.parametrize(
    ("options", "trains"),
    [([], True), (["--no-train"], False), (["--host", "0.0.0.0"], False)],
    ids=["here", "not", "elsewhere"],
)
def test_pages_of_this_machine_may_train_by_default(monkeypatch, tmp_path, options, trains):
    from typer.testing import CliRunner

    from sylvan.cli import app
    from sylvan.web import server

    desks = []
    monkeypatch.setattr(server, "serve", lambda desk, *_, **__: desks.append(desk))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["web", *options])
    assert result.exit_code == 0, result.output
    assert desks[0].trains is trains and not list(tmp_path.iterdir())


def test_runs_that_appear_later_are_listed(tmp_path):
    with Page(Desk(runs=(tmp_path / "runs",), trains=True)) as page:
        page.ask(type="follow", runs=[])
        listed = page.wait(Runs)
        assert listed.runs == [] and "connect4" in listed.trainable
        Run.create(tmp_path / "runs" / "first", tiny(1))
        assert [run.name for run in page.wait(Runs).runs] == ["first"]


def test_chess_positions_are_typed_as_a_fen(tmp_path):
    from sylvan.web.opinion import Opinions as Asked

    fen = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"
    config = tiny(1).replace(game={"name": "chess"})
    asked = Asked("chess", Run.create(tmp_path / "chess", config), fen)
    assert asked.state.fen() == Chess(fen).fen()
