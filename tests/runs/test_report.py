"""Plots and the report show the measured numbers."""

import io
import json
import math
import re
import sys
from base64 import b64decode
from html import escape

import numpy as np
import pytest
from matplotlib.image import imread

from sylvan.errors import MissingExtra, RunError
from sylvan.runs.figures import best_step, run_columns
from sylvan.runs.metrics import FILE, read_columns, to_columns
from sylvan.runs.plots import PLOTS, Curves, figure, png, smooth
from sylvan.runs.report import summary, write_comparison, write_report
from tests.runs.written_runs import line, rated, write_run

NAN = math.nan
PLOT = {plot.name: plot for plot in PLOTS}


def curves(*lines, label="run"):
    return Curves(label, to_columns({"step": k, **each} for k, each in enumerate(lines, start=1)))


def drawn(plot, *runs, across="step"):
    """Every line of a plot by its label, as two lists."""
    axes = figure(PLOT[plot], runs, across).axes[0]
    return {
        each.get_label(): (list(each.get_xdata()), list(each.get_ydata())) for each in axes.lines
    }


# --- plots -------------------------------------------------------------------------------------


def test_the_rating_marks_last_and_best_and_leaves_out_unrated_steps():
    run = curves(line(1, **rated(10.0)), line(2), line(3, **rated(60.0)), line(4, **rated(40.0)))
    axes = figure(PLOT["rating"], [run]).axes[0]
    assert drawn("rating", run)["rating"] == ([1, 3, 4], [10, 60, 40])
    assert {text.get_text(): text.xy for text in axes.texts} == {
        "best +60": (3, 60),
        "last +40": (4, 40),
    }
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (-10, 80)


def test_a_run_at_its_best_is_marked_once():
    axes = figure(PLOT["rating"], [curves(line(1, **rated(-5.0)))]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["best -5"]


def test_the_policy_loss_is_drawn_with_its_lower_bound():
    lines = drawn("policy-loss", curves(line(1), line(2)))
    assert lines["policy loss"][1] == [2.0, 1.0]
    assert lines["entropy of the targets"][1] == [0.9, 0.45]


def test_mistakes_are_drawn_by_set_in_percent():
    sets = {"rating.mistakes.hard": 0.25, "rating.mistakes.easy": 0.01}
    lines = drawn("mistakes", curves(line(1, **sets)))
    assert {name: y for name, (_, y) in lines.items()} == {"hard": [25.0], "easy": [1.0]}


def test_time_is_a_stack_of_shares():
    axes = figure(PLOT["time"], [curves(line(1), line(2))]).axes[0]
    tops = [part.get_paths()[0].vertices[:, 1].max() for part in axes.collections]
    assert tops == pytest.approx([60, 80, 90, 90])


def test_overlaid_runs_have_a_colour_and_a_name_each():
    one, two = curves(line(1), line(2), label="one"), curves(line(1), label="two")
    for plot in ("value-loss", "policy-loss", "speed"):
        assert {"one", "two"} <= set(drawn(plot, one, two))
    colours = [each.get_color() for each in figure(PLOT["value-loss"], [one, two]).axes[0].lines]
    assert len(set(colours)) == 2


def test_runs_can_be_compared_at_equal_time():
    x, _ = drawn("value-loss", curves(line(1), line(24)), across="minutes")["value loss"]
    assert x == pytest.approx([5 / 60, 2.0])


def test_long_curves_are_drawn_as_measured_and_smoothed():
    lines = [line(k, **{"selfplay.length": 10.0 + (-1) ** k}) for k in range(1, 101)]
    axes = figure(PLOT["length"], [curves(*lines)]).axes[0]
    raw, mean = (each.get_ydata() for each in axes.lines)
    assert set(raw) == {9, 11}
    assert mean[3:].tolist() == pytest.approx([10.0] * 97)  # mean over four of a hundred values


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1.0, 2.0, NAN], [1.0, 2.0, NAN]),  # few values are not smoothed
        ([NAN] + [0.0, 4.0] * 25, [NAN, 0.0] + [2.0] * 49),
    ],
)
def test_smoothing_skips_missing_values(values, wanted):
    np.testing.assert_allclose(smooth(np.array(values)), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_every_plot_has_a_sentence_and_is_a_png(plot):
    more = {"rating.mistakes.hard": 0.1, "selfplay.first_seat": 0.1, "selfplay.draws": 0.5}
    more |= {"loss.reward": 0.3, "loss.consistency": -0.8, "selfplay.return": 9.0}
    more["loss.reconstruction"] = 2.0
    more |= {f"model.{what}.{k}": 0.5 for what in ("reward", "value", "legal") for k in (1, 5)}
    run = curves(line(1, **rated(1.0), **more), line(2, **rated(NAN), **more))
    assert plot.has(run.columns)
    picture = imread(io.BytesIO(png(plot, [run])), format="png")
    assert picture.shape == (372, 768, 4) and picture[..., :3].min() < 0.5
    assert re.fullmatch(r"[A-Z].{60,}\.", plot.sentence)
    assert not plot.has(to_columns([{"step": 1}]))


@pytest.mark.slow
def test_plots_accept_nan_and_infinity():
    bad = {name: NAN if step % 2 else math.inf for step, name in enumerate(line(1))}
    for plot in PLOTS:
        figure(plot, [curves(bad, line(2), bad)]).draw_without_rendering()


def test_equal_numbers_give_equal_bytes():
    run = curves(line(1), line(2))
    assert png(PLOT["length"], [run]) == png(PLOT["length"], [run])


# --- the report --------------------------------------------------------------------------------


def test_the_page_contains_its_plots_and_sentences(tmp_path):
    run = write_run(tmp_path / "a<b>", [10.0, NAN, 60.0, 40.0])
    page = write_report(run)
    text = page.read_text()
    files = sorted((run / "report").glob("*.png"))
    inside = [b64decode(data) for data in re.findall(r'base64,([^"]+)"', text)]
    assert sorted(inside) == sorted(path.read_bytes() for path in files)
    assert "rating.png" in [path.name for path in files] and len(files) >= 10
    drawn = [plot for plot in PLOTS if (run / "report" / f"{plot.name}.png") in files]
    assert all(escape(plot.sentence) in text for plot in drawn)
    assert "mistakes.png" not in [path.name for path in files]  # there are no mistake rates
    assert "a&lt;b&gt;" in text and "a<b>" not in text
    assert not re.search(r"<script|https?://|src=\"(?!data:)", text)


def test_a_new_report_has_no_old_plots(tmp_path):
    run = write_run(tmp_path / "run", [NAN, NAN])
    (run / "report").mkdir()
    (run / "report" / "rating.png").write_bytes(b"old")
    page = write_report(run).read_text()
    assert not (run / "report" / "rating.png").exists() and 'id="rating"' not in page


def test_the_summary_reports_last_and_best(tmp_path):
    lines = [
        line(1, **rated(10.0), **{"rating.mistakes.hard": 0.5}),
        line(2, **rated(60.0), **{"rating.mistakes.hard": 0.2}),
        line(3, **rated(40.0), **{"rating.mistakes.hard": 0.25}),
    ]
    facts = summary(curves(*lines).columns)
    assert facts["steps"] == "3" and facts["games"] == "36" and facts["positions"] == "300"
    assert facts["time"] == "15 s"
    assert facts["rating, last"] == "+40" and facts["rating, best"] == "+60 at step 2"
    assert facts["mistakes hard, last"] == "25%"
    assert facts["mistakes hard, best"] == "20% at step 2"


def test_ratings_are_those_of_the_whole_table(tmp_path):
    run = write_run(tmp_path / "run", [10.0, NAN, 60.0])
    fitted = {
        "step-000001": {"elo": 61.0, "low": 20.0, "high": 80.0},
        "step-000002": {"elo": 5.0, "low": 0.0, "high": 9.0},
        "random": {"elo": 0.0, "low": 0.0, "high": 0.0},
    }
    (run / "ratings.json").write_text(json.dumps({"best": "step-000003", "ratings": fitted}))
    columns = run_columns(run)
    np.testing.assert_array_equal(columns["rating.elo"], [61, NAN, 60])
    np.testing.assert_array_equal(columns["rating.low"], [20, NAN, 40])
    assert best_step(columns) == 2  # the best network according to the run
    assert summary(columns)["rating, best"] == "+60 at step 3"


@pytest.mark.parametrize(
    "damage", ["", "[]", '{"ratings": [1]}', '{"ratings": {"step-000001": 3}, "best": 3}']
)
def test_a_damaged_table_of_ratings_changes_nothing(tmp_path, damage):
    run = write_run(tmp_path / "run", [10.0])
    (run / "ratings.json").write_text(damage)
    assert run_columns(run)["rating.elo"].tolist() == [10.0]


def test_a_comparison_is_one_page(tmp_path):
    runs = {
        name: read_columns(write_run(tmp_path / name, elos) / FILE)
        for name, elos in (("one", [1.0, 2.0]), ("two", [3.0]))
    }
    path = tmp_path / "both.html"
    write_comparison(path, runs, [["learner.learning_rate", "0.001", "0.1"]])
    text = path.read_text()
    assert "<td>+2 at step 2</td><td>+3 at step 1</td>" in text
    assert "<th>learner.learning_rate</th><td>0.001</td><td>0.1</td>" in text


def test_a_run_without_metrics_has_no_report(tmp_path):
    with pytest.raises(RunError, match="metrics"):
        write_report(tmp_path)
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("module", "sentence"),
    [("matplotlib.figure", r"'sylvan.train.'")],
)
def test_without_matplotlib_the_error_names_the_extra(tmp_path, monkeypatch, module, sentence):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=sentence):
        write_report(write_run(tmp_path / "run", [1.0]))


# --- what limits a run ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "waits", "fill", "sentence"),
    [
        (9.0, 0.5, 0.95, "the network is the limit"),
        (3.0, 6.0, 0.95, "the games are the limit"),
        (9.0, 0.5, 0.31, "batches are 31% full"),
        (9.0, 0.5, math.nan, "the network is the limit"),  # no batches: MuZero
        (3.0, 0.1, 0.95, "steps are short"),
    ],
)
def test_the_report_says_what_limits_self_play(network, waits, fill, sentence):
    numbers = {"seconds.selfplay": 10.0, "seconds.network": network, "seconds.search": waits}
    columns = to_columns([{"step": 1, **numbers, "selfplay.fill": fill}])
    assert summary(columns)["self-play"].startswith(sentence)


@pytest.mark.parametrize(
    ("device", "handling", "fill", "sentence"),
    [
        (9.0, 6.0, 0.9, "the card is the limit: it is busy 90% of the time"),
        (5.0, 6.0, 0.9, "handing batches over is the limit: one thread works on it 60% of the"),
        (3.0, 2.0, 0.9, "the games are the limit: the card is busy 30% of the time, with 1.5"),
        (3.0, 2.0, 0.4, "batches are 40% full"),
        (6.0, 2.0, 0.9, "the network is the limit"),
    ],
)
def test_time_inside_an_evaluator_is_not_taken_for_work_of_the_card(
    device, handling, fill, sentence
):
    numbers = {"seconds.selfplay": 10.0, "seconds.network": 9.5, "seconds.search": 0.2}
    numbers |= {"seconds.device": device, "seconds.handling": handling, "selfplay.fill": fill}
    columns = to_columns([{"step": 1, **numbers, "selfplay.under_way": 1.5}])
    assert summary(columns)["self-play"].startswith(sentence)


def test_without_times_nothing_is_said_about_limits():
    assert "self-play" not in summary(to_columns([{"step": 1}]))
