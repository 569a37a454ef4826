"""Settings fitted to a budget: the pace they aim at, what stays, and where they are kept."""

import json
import math
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.fit import GAMES, ROOT
from sylvan.cli import app
from sylvan.runs import fit as fitting
from sylvan.runs import rehearsal
from sylvan.runs.config import TrainingConfig, merged
from sylvan.runs.fit import FIT, can_fit, fit, smaller, weights
from sylvan.runs.metrics import Metrics
from sylvan.runs.presets import preset_settings
from sylvan.runs.rehearsal import Costs, _plies_of_chance, rehearse
from sylvan.runs.run import Run
from tests.games.sound_games import Row
from tests.runs.test_config import LINE


@dataclass(frozen=True)
class Machine:
    """Costs by a formula, in place of measurements."""

    rules: float = 1e-5
    """Seconds per simulation outside the network."""
    network: float = 1e-9
    """Seconds per simulation and weight."""
    second_core: float = 1.8
    """Speed of two threads ÷ that of one."""

    def costs(self, config, length, positions=0, before=None):
        speed = self.second_core if config.run.threads > 1 else 1.0
        evaluating = self.network * weights(config.network.size) / speed
        return Costs(
            simulation=self.rules + evaluating,
            network=evaluating / (self.rules + evaluating),
            update=3 * config.learner.batch * evaluating,
            step=0.05,
            rated_ply=4 * 32 * (self.rules + evaluating),
        )

    def step(self, config):
        """Seconds of a step, by the same formula."""
        costs = self.costs(config, 0)
        each = costs.position(config) + costs.learned(config)
        return costs.step + config.selfplay.positions * each


def settings_of(game="connect4", minutes=3.0, **given):
    preset = preset_settings(game, "cpu")
    budget = {"run": {"minutes": minutes, "steps": None, "device": "cpu"}}
    return TrainingConfig(**merged(merged(preset, budget), given))


def fitted(machine, config, given=None):
    """The fit on a machine with two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "rehearse", machine.costs)
        patch.setattr(fitting.os, "sched_getaffinity", lambda _: {0, 1})
        patch.setattr(fitting.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
        return fit(config, given or {})


machines = st.builds(
    Machine,
    rules=st.floats(1e-7, 2e-4),
    network=st.floats(1e-11, 1e-7),
    second_core=st.floats(0.05, 1.9),
)


@given(machines, st.floats(0.5, 60))
def test_a_budget_has_room_for_enough_steps(machine, minutes):
    """By the machine's own formula, unless everything is as small as it may be."""
    found = fitted(machine, settings_of(minutes=minutes))
    chosen = found.config
    steps = 60 * minutes * (1 - fitting.RATED) / machine.step(chosen)
    smallest = chosen.selfplay.positions == fitting.LEAST_POSITIONS
    assert steps >= 0.9 * fitting.STEPS or smallest
    assert math.ceil(steps / chosen.arena.every) >= 5 or smallest


@given(machines, st.floats(0.5, 60))
def test_ratings_take_their_share_of_the_time(machine, minutes):
    found = fitted(machine, settings_of(minutes=minutes))
    arena = found.config.arena
    shorter = arena.simulations / 32
    rating = arena.games * found.length * machine.costs(found.config, 0).rated_ply * shorter
    ratings = math.ceil(found.steps / arena.every)
    shortest = arena.games <= fitting.LEAST_RATED and arena.simulations <= 12
    assert ratings * rating <= 0.2 * 60 * minutes or shortest


def test_a_preset_stays_where_its_pace_is_right():
    fast = Machine(rules=1e-7, network=1e-11)
    before = settings_of(minutes=20)
    found = fitted(fast, before)
    kept = ("network.size", "search.simulations", "selfplay.positions", "selfplay.games")
    assert not set(kept) & set(found.changes)
    assert found.config.network == before.network


def test_threads_are_used_only_if_they_help():
    for second_core, threads in ((1.8, 2), (1.0, 1), (0.1, 1)):
        found = fitted(Machine(rules=0.0, second_core=second_core), settings_of())
        assert found.config.run.threads == threads


def test_slow_rules_do_not_shrink_the_network():
    slow_rules = fitted(Machine(rules=1e-3, network=1e-12), settings_of())
    assert slow_rules.config.network.size == "5x48"
    assert slow_rules.config.search.simulations == fitting.LEAST_SIMULATIONS
    slow_network = fitted(Machine(rules=1e-7, network=1e-7), settings_of())
    assert weights(slow_network.config.network.size) < weights("5x48") / 2


@given(machines)
def test_given_settings_win(machine):
    asked = {
        "run": {"threads": 2},
        "network": {"size": "6x64"},
        "search": {"simulations": 99},
        "selfplay": {"games": 77, "positions": 5000},
        "arena": {"every": 7, "games": 12, "simulations": 31, "positions": 9},
    }
    found = fitted(machine, settings_of(**asked), asked)
    assert found.changes == {}
    for section, values in asked.items():
        for name, value in values.items():
            assert getattr(getattr(found.config, section), name) == value


def test_budgets_in_steps_and_other_machines_are_not_fitted():
    assert can_fit(settings_of())
    assert not can_fit(settings_of(run={"steps": 3}))
    assert not can_fit(settings_of(minutes=None, run={"steps": 3}))
    assert not can_fit(settings_of(run={"device": "cuda"}))


def test_networks_get_smaller_to_the_end():
    for size in ("4x48", "mlp3x128", "10x256", "suits3x128"):
        seen = [size]
        while less := smaller(seen[-1]):
            assert weights(less) < weights(seen[-1])
            seen.append(less)
        assert len(seen) > 2 and weights(seen[-1]) <= 2 * 16**2
    assert smaller("networks/mine.py:Net") is None


def test_the_expected_length_of_games():
    """Random games of Connect Four have 21.2 plies, with a spread of 7.5; a board has 42 cells."""
    assert 1.25 * 15 < fitted(Machine(), settings_of()).length < 1.25 * 28
    short = settings_of(selfplay={"max_plies": 7})
    assert fitted(Machine(), short).length == 7


def test_the_expected_length_of_episodes():
    """CartPole's limit is 500; Blackjack has none, and random play takes 1 to 2 steps."""
    pytest.importorskip("gymnasium")
    assert fitted(Machine(), settings_of("gym:CartPole-v1")).length == 500
    assert 2 <= fitted(Machine(), settings_of("gym:Blackjack-v1")).length <= 4


def test_a_game_that_fails_is_one_sentence(tmp_path):
    broken = LINE.replace("self.seat ^= 1", "self.seat ^= 1; 1 // max(0, self.left - 3)")
    (tmp_path / "broken.py").write_text(broken)
    words = [f"{tmp_path}/broken.py:Line", "--minutes", 1, "--run", tmp_path / "run"]
    result = CliRunner().invoke(app, ["train", *map(str, words)])
    assert result.exit_code == 2 and "ZeroDivisionError" in result.output, result.output
    assert not (tmp_path / "run").exists()


def test_a_rehearsal_leaves_no_folder_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = settings_of("tictactoe", network={"size": "mlp1x16"}, arena={"positions": 0})
    costs = rehearse(config.resolved(), 9)
    assert list(tmp_path.glob("sylvan-*")) == []
    assert all(cost > 0 for cost in (costs.simulation, costs.update, costs.step, costs.rated_ply))
    assert 0 < costs.network < 1 and costs.solved == 0


def test_a_step_whose_games_were_played_before_says_nothing_about_costs(monkeypatch):
    """On a busy machine all games of a lease may end beside those of the lease before."""
    busy = {"selfplay.positions": 50.0, "seconds.selfplay": 2.0, "seconds.network": 1.0}
    idle = busy | {"seconds.selfplay": 1e-4, "seconds.network": 0.0}
    steps = iter([busy, idle, busy, busy])
    trainer = SimpleNamespace(
        step=0,
        save=lambda _: None,
        play=lambda **_: next(steps),
        replay=SimpleNamespace(window=0),
        config=settings_of("tictactoe"),
    )
    monkeypatch.setattr(rehearsal, "ROUNDS", 2)
    costs = rehearsal._play_and_learn(trainer)
    assert costs.simulation * trainer.config.search.simulations == 0.04
    assert costs.network == 0.5 and trainer.step == 4
    steps = iter([idle] * 5)  # where all moves are forced
    assert rehearsal._play_and_learn(trainer).network == 0.0


@pytest.mark.slow
def test_a_rehearsal_plays_on_after_the_deal():
    """The first 35 plies of Blob are chance: nothing would be searched in the first four."""
    small = {"network": {"size": "suits1x16"}, "search": {"simulations": 2}, "arena": {"games": 2}}
    costs = rehearse(settings_of("blob", **small).resolved(), 9)
    assert 0 < costs.simulation < 1 and costs.rated_ply > 0


# --- the command ---------------------------------------------------------------------------------


def train(*arguments):
    return CliRunner().invoke(app, ["train", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.slow
def test_a_fitted_run_keeps_its_settings(tmp_path, monkeypatch):
    """They are chosen once: resuming measures nothing, and repeats them."""
    folder = tmp_path / "run"
    shown = train("tictactoe", "--minutes", 0.1, "--device", "cpu", "--run", folder).output
    run, record = Run.open(folder), json.loads((folder / FIT).read_text())
    assert "Fitted to 6 s" in shown and "2x" in shown
    for name, (_, chosen) in record["changes"].items():
        section, _, own = name.partition(".")
        assert getattr(getattr(run.config, section), own) == chosen
    elapsed = next(iter(Metrics(folder).lines()))["run.elapsed"]
    spent = min(record["seconds"], 3)  # at most half of the budget
    assert elapsed > spent > 0
    monkeypatch.setattr(fitting, "rehearse", lambda *_: pytest.fail("measured again"))
    assert train("tictactoe", "--run", folder, "--minutes", 0.11).exit_code == 0
    again = Run.open(folder).config
    assert again == run.config.replace(run=run.config.run.replace(minutes=0.11))


def test_a_named_preset_is_not_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "fit", lambda *_: pytest.fail("fitted"))
    words = ["--minutes", 0.001, "--device", "cpu", "--network", "mlp1x16", "--run", tmp_path / "r"]
    small = ["selfplay.positions=20", "selfplay.games=4", "arena.every=0", "simulations=2"]
    sets = [word for text in small for word in ("--set", text)]
    assert train("tictactoe", "--preset", "cpu", *words, *sets).exit_code == 0


@pytest.mark.soak
@pytest.mark.parametrize("name", GAMES)
def test_a_minute_has_ten_steps_and_five_ratings(tmp_path, monkeypatch, name):
    """As `python -m benchmarks.fit` measures for three minutes."""
    if GAMES[name].startswith("open_spiel:"):
        pytest.importorskip("pyspiel")
    monkeypatch.chdir(ROOT)
    assert train(GAMES[name], "--minutes", 1, "--run", tmp_path / "run", "--quiet").exit_code == 0
    lines = list(Metrics(tmp_path / "run").lines())
    rated = [line["seconds.arena"] for line in lines if "seconds.arena" in line]
    assert len(lines) >= 10 and len(rated) >= 5 and sum(rated) <= 60 / 5


def test_environments_that_cannot_be_copied_are_rehearsed():
    class Single(Row):
        def clone(self):
            raise AssertionError("there is only one")

    assert _plies_of_chance(Single(), None) == 0
