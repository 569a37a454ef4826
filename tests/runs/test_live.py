"""The live view: its output on a terminal, the lines without one, and its cost."""

import inspect
import io
import math
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sylvan.games.naming import GameSpec
from sylvan.runs.config import RunConfig
from sylvan.runs.figures import best_step, per_second, run_columns, time_shares
from sylvan.runs.live import (
    WAIT_FACTOR,
    History,
    LiveView,
    PlainLines,
    game_summary,
    terminal_watcher,
)
from sylvan.runs.metrics import Metrics, to_columns
from sylvan.runs.panel import Facts, Phase, panel
from sylvan.runs.watcher import Watcher, Watchers
from tests.replay.games import game
from tests.runs import written_runs as runs

CONFIG = SimpleNamespace(game=SimpleNamespace(spec=GameSpec("tictactoe")), run=RunConfig(steps=20))


def line(step, **more):
    return {"step": step, **runs.line(step, **more)}


def record(actions, returns, ending="end"):
    moves = " ".join(f"a{action}" for action in actions)
    return game(moves, returns=returns, ending=ending)


def shown(facts, width):
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None)
    console.print(panel(facts, width))
    return console.file.getvalue()


def console(terminal, width=100):
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, height=40, color_system=None
    )


# --- figures -----------------------------------------------------------------------------------


def test_speed_is_per_second_of_self_play():
    columns = to_columns([line(1), line(2, **{"seconds.selfplay": 0.0})])
    assert per_second(columns, "games")[0] == 3.0  # 12 games in 4 seconds
    assert per_second(columns, "simulations")[0] == 1600.0
    assert math.isnan(per_second(columns, "games")[1])


def test_shares_of_time_are_of_the_whole_step():
    shares = time_shares(to_columns([line(1), line(2, **{"seconds.arena": 0.5})]))
    assert {name: values.tolist() for name, values in shares.items()} == {
        "network": [0.6, 0.6],
        "search": [0.2, 0.2],
        "learner": [0.1, 0.1],
        "arena": [0.0, 0.1],
        "rest": pytest.approx([0.1, 0.0]),
    }


def test_the_best_is_the_earliest_of_ties_and_skips_unrated_steps():
    columns = to_columns(
        [line(1), line(2, **{"rating.elo": 5.0}), line(3, **{"rating.elo": 5.0}), line(4)]
    )
    assert columns["step"][best_step(columns)] == 2
    assert best_step(to_columns([line(1)])) is None


def test_the_best_is_the_one_that_the_arena_chose():
    """Later games change the rating of an earlier network, and with it the best."""
    history = History()
    history.add(12, {"rating.elo": 400.0, "rating.best": 400.0, "rating.best_step": 12.0})
    history.add(21, {"rating.elo": 321.0, "rating.best": 321.0, "rating.best_step": 21.0})
    history.add(22, {"selfplay.games": 3})
    assert history.best == (321.0, 21)


def test_the_best_of_equal_returns_is_the_one_in_the_table(tmp_path):
    metrics = Metrics(tmp_path)
    for step in (1, 2):
        metrics.log(step, **{"rating.return": 500.0})
    (tmp_path / "ratings.json").write_text('{"best": "step-000002", "returns": {}}')
    columns = run_columns(tmp_path)
    assert columns["step"][best_step(columns)] == 2


# --- the picture -------------------------------------------------------------------------------

FULL = Facts(
    title="connect4 · runs/first",
    step=8,
    budget="of 20",
    progress=0.35,
    elapsed=35.0,
    remaining=65.0,
    ends="14:52",
    phase=Phase("self-play", 512, 1024, "positions, 12 games"),
    columns=to_columns(
        [line(k, **{"rating.elo": 10.0 * k, "rating.mistakes.hard": 0.25}) for k in range(1, 8)]
    ),
    best=(70.0, 7),
    game="5 plies, seat 0 wins: a1 b1",
)


def test_all_figures_are_shown():
    text = shown(FULL, 110)
    for fact in (
        "connect4 · runs/first",
        "step 8 of 20",
        "35%",
        "35 s used, 1:05 min to go (until 14:52)",
        "512/1,024 positions, 12 games",
        "games/s",
        "3.0",
        "simulations/s",
        "1600",
        "policy loss",
        "0.286",
        "+70",
        "at step 7",
        "mistakes hard",
        "25%",
        "network\u00a060%",
        "search\u00a020%",
        "learner\u00a010%",
        "5 plies, seat 0 wins: a1 b1",
    ):
        assert fact in text


@pytest.mark.parametrize("width", [24, 30, 40, 60, 75, 76, 80, 100, 140, 250])
def test_no_line_is_wider_than_the_terminal(width):
    lines = shown(FULL, width).splitlines()
    assert all(len(text) <= width for text in lines)
    assert "step 8" in lines[1]


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from([*line(1, **{"rating.elo": 0.0, "rating.mistakes.x": 0.0})]), numbers
        ),
        max_size=5,
    ),
    progress=numbers,
    width=st.integers(20, 130),
)
def test_any_number_can_be_drawn(rows, progress, width):
    lines = [{**row, "step": step} for step, row in enumerate(rows)]
    facts = Facts("t\x1b[31m[bold]", 1, progress=progress, columns=to_columns(lines))
    assert "[31m[bold]" in shown(facts, 130)  # markup in a name stays text
    assert all(len(text) <= width for text in shown(facts, width).splitlines())


# --- the watchers ------------------------------------------------------------------------------


def play(watcher, folder, steps=3):
    """The events of a small run."""
    watcher.run_begin(CONFIG, folder, 0, 0.0)
    for step in range(1, steps + 1):
        watcher.step_begin(step, (step - 1) / 20)
        for positions in range(0, 101, 10):
            watcher.selfplay_progress(positions, 100, positions // 10)
        watcher.game_ended(record([4, 0, 8, 2, 1, 7, 6], [1, -1]))
        watcher.learner_progress(1, 2, {"loss.total": 1.5})
        more = {"rating.elo": 100.0 * step} if step == 2 else {}
        if more:
            watcher.rated(step, more)
        watcher.step_end(step, line(step, **more), step / 20)
    watcher.message("The network of step 2 is the best so far.")
    watcher.run_end(steps, "done")


def test_without_a_terminal_there_is_a_line_per_step(tmp_path):
    stream = console(terminal=False, width=20)  # lines are not wrapped
    watcher = terminal_watcher(console=stream)
    assert isinstance(watcher, PlainLines)
    play(watcher, tmp_path)
    lines = stream.file.getvalue().splitlines()
    assert len(lines) == 1 + 3 + 1 + 1
    assert lines[2].startswith("step 2  10%")
    assert "policy 1.000" in lines[2] and "rating +200 (best +200 at 2)" in lines[2]
    assert "games/s 3.0" in lines[2] and "to go" in lines[2]
    assert "rating" not in lines[3]  # the last rating is of the previous step
    assert "\x1b" not in stream.file.getvalue()


def test_quiet_prints_nothing(tmp_path, capsys):
    watcher = terminal_watcher(quiet=True)
    assert type(watcher) is Watcher
    play(watcher, tmp_path)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_the_live_view_and_is_restored(tmp_path):
    stream = console(terminal=True)
    watcher = terminal_watcher(console=stream)
    assert isinstance(watcher, LiveView)
    play(watcher, tmp_path)
    text = stream.file.getvalue()
    assert "step 3 of 20" in text and "done" in text
    assert "The network of step 2 is the best so far." in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # cursor hidden, then shown
    watcher.close()


def test_a_resumed_run_shows_its_earlier_curves(tmp_path):
    for step in range(1, 6):
        Metrics(tmp_path).log(step, **runs.line(step))
    Metrics(tmp_path).log(5, rating={"elo": 31.0})
    watcher = LiveView(console(terminal=True))
    watcher.run_begin(CONFIG, tmp_path, 5, 25.0)
    facts = watcher.facts()
    watcher.close()
    assert facts.columns["step"].tolist() == [1, 2, 3, 4, 5]
    assert facts.best == (31.0, 5) and 25.0 <= facts.elapsed < 27.0


def test_several_watchers_receive_the_same_events(tmp_path):
    """Checks every method of `Watcher`, so that new ones are forwarded too."""
    heard = []

    def listener(name):
        methods = {
            method: lambda self, *args, method=method: heard.append((name, method, args))
            for method, value in vars(Watcher).items()
            if callable(value) and not method.startswith("_")
        }
        return type("Listener", (Watcher,), methods)()

    both = Watchers(listener("one"), listener("two"))
    methods = [name for name in vars(Watcher) if not name.startswith("_")]
    for method in methods:
        names = inspect.signature(getattr(Watcher, method)).parameters
        arguments = tuple(range(len(names) - 1))
        getattr(both, method)(*arguments)
        assert heard == [("one", method, arguments), ("two", method, arguments)]
        heard.clear()
    assert len(methods) == 10


def test_the_end_is_expected_at_the_pace_of_the_last_steps():
    history = History()
    budget = RunConfig(steps=100)
    assert math.isnan(history.remaining(budget, 0.0, 3.0))
    assert history.remaining(budget, 0.25, 10.0) == 30.0  # no other estimate yet
    for step in range(1, 21):  # ten slow steps, then ten of a second each
        elapsed = 10.0 * step if step <= 10 else 100.0 + (step - 10)
        history.add(step, {"run.elapsed": elapsed, "run.progress": step / 100})
    assert history.remaining(budget, 0.2, 110.0) == pytest.approx(80.0)


def test_a_budget_in_time_ends_when_it_is_spent():
    history = History()
    assert history.remaining(RunConfig(minutes=5), 0.0, 20.0) == 280.0
    assert history.remaining(RunConfig(minutes=5), 1.0, 301.0) == 0.0
    assert history.remaining(RunConfig(minutes=1, steps=1000), 0.01, 20.0) == 40.0
    assert history.remaining(RunConfig(minutes=60, steps=20), 0.5, 20.0) == 20.0
    assert math.isnan(history.remaining(RunConfig(), 0.0, 20.0))


@pytest.mark.parametrize(
    ("actions", "returns", "ending", "text"),
    [
        ([0, 3, 1, 4, 2], [1, -1], "end", "5 plies, seat 0 wins: a1 a2 b1 b2 c1"),
        ([0, 1], [0, 0], "limit", "2 plies, draw (limit): a1 b1"),
        ([0, 1], [-1, 1], "resign", "2 plies, seat 1 wins (resign): a1 b1"),
    ],
)
def test_summary_of_a_game(actions, returns, ending, text):
    spec = GameSpec("tictactoe")
    state = spec.first()
    names = []
    for action in actions:
        names.append(state.action_to_string(action))
        state.apply(action)
    wanted = text.partition(":")[0] + ": " + " ".join(names)
    assert game_summary(spec, record(actions, returns, ending)) == wanted
    short = game_summary(spec, record(actions, returns, ending), moves=1)
    assert short.endswith(f": {names[0]} …")


@pytest.mark.alone
def test_watching_takes_less_than_a_hundredth(tmp_path):
    """CPU time of a second of watching, including the thread."""
    watcher = LiveView(console(terminal=True))
    for step in range(1, 300):
        Metrics(tmp_path).log(step, **runs.line(step))
    watcher.run_begin(CONFIG, tmp_path, 299, 0.0)
    time.sleep(0.5)  # imports, and the first frame
    before, began = time.process_time(), time.monotonic()
    while time.monotonic() - began < 1.5:
        watcher.selfplay_progress(10, 100, 1)
        time.sleep(0.01)
    took = time.process_time() - before
    watcher.close()
    assert WAIT_FACTOR >= 100
    assert took / 1.5 < 0.02  # the loop above is a part of it
