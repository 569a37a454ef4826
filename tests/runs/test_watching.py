"""A whole tiny run: its figures are documented, plotted, listed and compared."""

import io
import json
import math
import re

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.evaluators import load_evaluator
from sylvan.games import TicTacToe
from sylvan.networks.checkpoint import read_header
from sylvan.replay.buffer import Replay
from sylvan.runs.config import TrainingConfig
from sylvan.runs.figures import NAMES, per_second, run_columns, time_shares
from sylvan.runs.live import LiveView, PlainLines
from sylvan.runs.loop import train
from sylvan.runs.metrics import Metrics
from sylvan.runs.overview import Overview
from sylvan.runs.play_figures import play_figures
from sylvan.runs.plots import PLOTS
from sylvan.runs.report import write_report
from sylvan.runs.run import Run
from sylvan.runs.watcher import Watchers

STEPS = 4


def config(**run):
    return TrainingConfig(
        game={"name": "tictactoe"},
        network={"size": "mlp1x16"},
        search={"simulations": 8},
        selfplay={"games": 8, "positions": 96},
        learner={"batch": 32},
        arena={"every": 2, "games": 4, "simulations": 4, "positions": 20},
        run={"steps": STEPS, "threads": 1, "device": "cpu", **run},
    )


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The folder of a run, its plain lines, and the output of the live view."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    plain = Console(file=io.StringIO(), force_terminal=False)
    live = Console(file=io.StringIO(), force_terminal=True, width=100, height=50, color_system=None)
    train(config(), folder, watch=Watchers(PlainLines(plain), LiveView(live)))
    return folder, plain.file.getvalue(), live.file.getvalue()


def sylvan(*words):
    done = CliRunner().invoke(app, ["runs", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_number_of_a_run_is_explained(watched):
    columns = Metrics(watched[0]).columns()
    assert columns["step"].tolist() == [1, 2, 3, 4]
    open_ended = ("rating.score.", "rating.mistakes.")
    unknown = {name for name in columns if not name.startswith(open_ended)} - {*NAMES, "step"}
    assert not unknown
    always = {"selfplay.entropy", "selfplay.openings", "seconds.network", "loss.target_entropy"}
    assert all(np.isfinite(columns[name]).all() for name in always)
    assert np.isfinite(columns["rating.elo"]).tolist() == [False, True, False, True]
    assert "rating.mistakes.states.search" in columns


def test_numbers_agree_with_the_games_that_are_kept(watched):
    columns = Metrics(watched[0]).columns()
    records = list(Replay.read(watched[0] / "replay"))
    for step in range(STEPS):
        games = [record for record in records if record.step == step + 1]
        assert columns["selfplay.games"][step] == len(games) > 0
        kept = play_figures(games)
        for name in ("selfplay.length", "selfplay.openings", "selfplay.draws"):
            assert columns[name][step] == pytest.approx(kept[name])
        assert columns["selfplay.entropy"][step] == pytest.approx(
            kept["selfplay.entropy"], abs=0.01
        )
    assert columns["replay.games"][-1] == len(records)


def test_speed_and_time_make_sense(watched):
    columns = Metrics(watched[0]).columns()
    assert (per_second(columns, "simulations") > per_second(columns, "positions")).all()
    shares = time_shares(columns)
    assert all((0 <= values).all() and (values <= 1).all() for values in shares.values())
    assert (sum(shares.values()) <= 1.0001).all()
    assert (np.diff(columns["run.elapsed"]) > 0).all() and columns["run.progress"][-1] == 1


def test_plain_lines_say_every_step(watched):
    lines = watched[1].splitlines()
    steps = [line for line in lines if line.startswith("step ")]
    assert [line.split()[1] for line in steps] == ["1", "2", "3", "4"]
    assert ["rating" in line for line in steps] == [False, True, False, True]
    assert lines[0].startswith("tictactoe") and lines[-1] == "done after step 4"


def test_the_live_view_shows_the_end(watched):
    screen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", watched[2])
    end = screen[screen.rindex("╭") :]
    for text in ("step 4 of 4", "100%", "done", "best rating", "mistakes", "last game", "network"):
        assert text in end


def test_the_report_has_every_plot(watched):
    page = write_report(watched[0])
    drawn = {path.stem for path in page.parent.glob("*.png")}
    of_learned_models = {"returns", "reward-loss", "consistency-loss", "reconstruction-loss"}
    of_learned_models |= {f"model-{figure}" for figure in ("reward", "value", "legal")}
    assert drawn == {plot.name for plot in PLOTS} - of_learned_models


@pytest.mark.slow
def test_runs_are_listed_shown_compared_and_exported(watched, tmp_path):
    folder = watched[0]
    other = folder.parent / "other"
    if not other.exists():
        train(config(seed=7, steps=1), other)
    names = [line.split()[0] for line in sylvan("list", folder.parent).splitlines()[2:]]
    assert names == ["other", "tiny"]
    (facts,) = json.loads(sylvan("list", folder, "--json"))
    assert facts["state"] == "finished" and facts["step"] == 4 and facts["progress"] == 1
    assert facts["rating"]["best_step"] == Overview(Run.open(folder)).best[1]
    assert "rating.elo" in sylvan("show", folder)
    compared = sylvan("compare", folder, other, "-o", tmp_path / "both.html")
    assert any(line.split() == ["run.seed", "0", "7"] for line in compared.splitlines())
    assert (tmp_path / "both.html").stat().st_size > 50_000
    sylvan("export", folder, tmp_path / "net.onnx")
    logits, _ = load_evaluator(tmp_path / "net.onnx").infer(TicTacToe().observation()[None])[:2]
    assert logits.shape == (1, 9)


def test_the_best_of_the_table_is_the_best_of_the_run(watched):
    """The report marks the network that plays."""
    table = json.loads((watched[0] / "ratings.json").read_bytes())
    columns = run_columns(watched[0])
    elos = {int(s): e for s, e in zip(columns["step"], columns["rating.elo"], strict=True)}
    fitted = {f"step-{s:06d}": e for s, e in elos.items() if math.isfinite(e)}
    for name, elo in fitted.items():
        assert elo == table["ratings"][name]["elo"]
    run = Run.open(watched[0])
    updates = read_header(run.network("best")).training_step
    best = Overview(run).best[1]
    made = columns["learner.updates"][:best].sum()
    assert f"step-{best:06d}" == table["best"] and updates == made
