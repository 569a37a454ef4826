"""`sylvan runs`: list, show, compare, report and export runs."""

import json
import math
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.errors import RunError
from sylvan.evaluators import load_evaluator
from sylvan.games import TicTacToe
from sylvan.networks import build_network, save_network
from sylvan.runs.config import TrainingConfig
from sylvan.runs.overview import Overview, find_run, find_runs, is_running, setting_rows
from sylvan.runs.run import Run
from tests.runs.written_runs import write_run

NAN = math.nan


def run(*words):
    return CliRunner().invoke(app, ["runs", *map(str, words)])


def make(folder, elos=(), *, steps=4, saved=None, finished=False, **sections):
    """A run's folder with metrics and the checkpoint of its last step, without games."""
    config = TrainingConfig(
        game={"name": "tictactoe"}, network={"size": "mlp1x8"}, run={"steps": steps}, **sections
    )
    made = Run.create(folder, config)
    write_run(folder, elos)
    saved = len(elos) if saved is None else saved
    if saved:
        budget = {"steps": steps, "minutes": None} if finished else {}
        made.checkpoints.save(saved, 5.0 * saved, {}, {"loop": {"best": {}, "finished": budget}})
    return made


@pytest.fixture
def two(tmp_path):
    make(tmp_path / "one", [10.0, 60.0, 40.0, NAN], finished=True)
    make(tmp_path / "two", [5.0, 90.0], learner={"learning_rate": 0.5})
    return tmp_path


@pytest.mark.parametrize("file", ["config.toml", "metrics.jsonl"])
def test_a_damaged_run_is_marked_and_the_others_are_listed(two, file):
    damaged = "{ not JSON\n{}\n" if file == "metrics.jsonl" else "game = {{{"
    (two / "one" / file).write_text(damaged)
    done = run("list", two)
    assert done.exit_code == 0, done.output
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "stopped" in lines["two"] and "+90 at 2" in lines["two"]
    assert "one is damaged: " in done.stdout and file in done.stdout
    facts = json.loads(run("list", two, "--json").stdout)
    assert [each["state"] for each in facts] == ["damaged", "stopped"]
    assert file in facts[0]["error"]
    with pytest.raises(RunError, match="has one, two"):
        find_run("three", two)


# --- states ------------------------------------------------------------------------------------


def test_the_state_of_a_run(tmp_path):
    new, stopped = make(tmp_path / "new"), make(tmp_path / "stopped", [1.0])
    done = make(tmp_path / "done", [1.0] * 4, finished=True)
    assert [run.state for run in find_runs(tmp_path)] == ["finished", "new", "stopped"]
    with new.lock():
        assert Overview(new).state == "running"
    assert Overview(new).state == "new" and Overview(stopped).state == "stopped"
    more = done.config.replace(run=done.config.run.replace(steps=8))
    done.change(more)  # a larger budget is not spent yet
    assert Overview(done).state == "stopped"


def test_a_stale_lock_is_ignored(tmp_path):
    made = make(tmp_path / "run", [1.0])
    (made.folder / ".lock").write_text("999999999\n")
    assert not is_running(made.folder)
    (made.folder / ".lock").write_text(f"{os.getpid()}\n")  # the number of a live process
    assert not is_running(made.folder)


def test_a_step_counts_once_it_is_saved(tmp_path):
    made = Overview(make(tmp_path / "run", [1.0, 2.0, 3.0], saved=2))
    assert made.step == 2


# --- list --------------------------------------------------------------------------------------


def test_the_list_has_a_line_per_run(two):
    lines = run("list", two).stdout.splitlines()
    assert " ".join(lines[0].split()) == "run game network state step done time rating best"
    assert " ".join(lines[2].split()) == "one tictactoe mlp1x8 finished 4 20% 20 s +40 +60 at 2"
    assert " ".join(lines[3].split()) == "two tictactoe mlp1x8 stopped 2 10% 10 s +90 +90 at 2"


def test_the_list_as_json_is_strict(two):
    make(two / "zero")
    facts = json.loads(run("list", two, "--json").stdout, parse_constant=pytest.fail)
    assert [fact["name"] for fact in facts] == ["one", "two", "zero"]
    assert facts[0]["rating"] == {"last": 40.0, "best": 60.0, "best_step": 2}
    assert facts[2]["rating"] == {"last": None, "best": None, "best_step": None}
    assert facts[0]["newest"]["loss.policy"] == 0.5


def test_no_runs_and_no_folder(tmp_path):
    empty = run("list", tmp_path)
    assert empty.exit_code == 0 and "There is no run in" in empty.stdout
    with pytest.raises(RunError, match="/nowhere"):
        find_runs(tmp_path / "nowhere")
    assert run("list", tmp_path / "nowhere").exit_code == 2


def test_other_folders_are_not_runs(two):
    (two / "notes").mkdir()
    (two / "file").touch()
    assert [each.name for each in find_runs(two)] == ["one", "two"]
    assert [each.name for each in find_runs(two / "one")] == ["one"]


# --- show, compare, report ---------------------------------------------------------------------


def test_show_gives_curves_and_settings(two, monkeypatch):
    monkeypatch.chdir(two)
    os.rename(two / "two", two / "runs")  # a run named `runs`
    assert find_run("runs").name == "runs"
    shown = run("show", "runs").stdout
    assert "stopped" in shown and "+90 at step 2" in shown
    assert [line.split()[:3] for line in shown.splitlines() if "rating.elo" in line] == [
        ["rating.elo", "5", "90"]
    ]
    assert any(line.split() == ["learner.learning_rate", "0.5", _default_rate()]
               for line in shown.splitlines())  # fmt: skip
    facts = json.loads(run("show", "runs", "--json").stdout)
    assert facts["settings"]["learner"]["learning_rate"] == 0.5


def _default_rate():
    return str(TrainingConfig(game={"name": "tictactoe"}).learner.learning_rate)


def test_a_run_is_found_by_its_name_in_runs(two, monkeypatch):
    (two / "runs").mkdir()
    os.rename(two / "one", two / "runs" / "one")
    monkeypatch.chdir(two)
    assert run("show", "one").exit_code == 0
    with pytest.raises(RunError, match="'oen'"):
        find_run("oen")


def test_compare_shows_what_differs(two):
    shown = run("compare", two / "one", two / "two").stdout
    rows = [line.split() for line in shown.splitlines()]
    assert ["learner.learning_rate", _default_rate(), "0.5"] in rows
    assert "rating, best +60 at step 2 +90 at step 2" in [" ".join(row) for row in rows]
    assert not [row for row in rows if row and row[0] == "network.size"]  # the same in both
    facts = json.loads(run("compare", two / "one", two / "two", "--json").stdout)
    assert facts["settings"] == [["learner.learning_rate", _default_rate(), "0.5"]]


@pytest.mark.slow
def test_compare_draws_a_page(two):
    page = two / "both.html"
    assert (
        run("compare", two / "one", two / "two", "-o", page, "--across", "minutes").exit_code == 0
    )
    assert "<th>one</th><th>two</th>" in page.read_text()
    nowhere = run("compare", two / "one", two / "two", "-o", two / "no" / "both.html")
    assert nowhere.exit_code == 2


def test_runs_of_one_name_are_distinguished(two):
    (two / "other").mkdir()
    make(two / "other" / "one", [1.0])
    head = run("compare", two / "one", two / "other" / "one").stdout.splitlines()[0].split()
    assert head == ["1:", str(two / "one"), "2:", str(two / "other" / "one")]


def test_compare_needs_two_runs(two):
    assert run("compare", two / "one").exit_code == 2


def test_settings_that_only_one_run_has_are_shown(tmp_path):
    one = make(tmp_path / "a")
    config = TrainingConfig(game={"name": "connect4", "params": {"columns": 5, "rows": 4}})
    two = Run.create(tmp_path / "b", config)
    rows = {row[0]: row[1:] for row in setting_rows([one, two])}
    assert rows["game.name"] == ["tictactoe", "connect4"]
    assert rows["game.params.columns"] == ["–", "5"]


@pytest.mark.slow
def test_report_prints_its_path(two):
    done = run("report", two / "one")
    assert done.stdout.strip() == str(two / "one" / "report" / "index.html")
    assert (two / "one" / "report" / "rating.png").exists()


# --- export ------------------------------------------------------------------------------------


@pytest.fixture
def network(two):
    made = build_network("mlp1x8", game=TicTacToe(), seed=3)
    save_network(made, two / "one" / "networks" / "best.safetensors", training_step=77)
    return made


@pytest.mark.slow
def test_an_exported_network_plays(two, network):
    path = two / "best.onnx"
    done = run("export", two / "one", path)
    assert done.exit_code == 0 and "77 updates" in done.stdout
    observations = TicTacToe().observation()[None]
    exported = load_evaluator(path).infer(observations)
    kept = load_evaluator(two / "one" / "networks" / "best.safetensors").infer(observations)
    np.testing.assert_allclose(exported[0], kept[0], atol=1e-5)


def test_export_copies_a_published_network(two, network):
    (two / "one" / "networks" / "best.onnx").write_bytes(b"published")
    run("export", two / "one", two / "a.onnx")
    assert (two / "a.onnx").read_bytes() == b"published"
    run("export", two / "one", two / "a.safetensors")
    source = two / "one" / "networks" / "best.safetensors"
    assert (two / "a.safetensors").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("one", "x.pt"), ".onnx or .safetensors"),
        (("one", "x.onnx", "--last"), "has no network yet"),
        (("two", "x.onnx"), "has no network yet"),
        (("one", "no/x.onnx"), "cannot be written: there is no folder"),
    ],
)
def test_what_cannot_be_exported(two, network, words, sentence):
    name, path, *rest = words
    done = run("export", two / name, two / path, *rest)
    assert done.exit_code == 2 and sentence in " ".join(done.stderr.split())
    assert not (two / path).exists()
