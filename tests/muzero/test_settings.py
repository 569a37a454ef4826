"""The settings of MuZero runs: the algorithm, presets, fixed settings."""

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.errors import ConfigError, RunError
from sylvan.muzero.config import SHAPING
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import Outcome
from sylvan.runs.presets import MACHINES, preset_settings
from sylvan.runs.run import Run

CARTPOLE = {"name": "gym:CartPole-v1"}


def test_an_environment_implies_the_algorithm():
    config = TrainingConfig(game=CARTPOLE)
    assert config.run.algorithm == "muzero"
    assert config.replace(run=config.run.replace(seed=3)).run.algorithm == "muzero"
    assert TrainingConfig(game={"name": "connect4"}).run.algorithm == "alphazero"


def test_an_environment_has_no_rules_to_search_with():
    with pytest.raises(ConfigError, match="gym:CartPole-v1"):
        TrainingConfig(game=CARTPOLE, run={"algorithm": "alphazero"})


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("game", ["tictactoe", "connect4", "chess"])
def test_presets_of_games_with_hidden_rules_are_settings(game, machine):
    config = TrainingConfig(**preset_settings(game, machine, "muzero"))
    assert config.run.algorithm == "muzero" and not config.run.eight_bits
    assert config.search.discount == config.targets.discount == 1.0
    assert TrainingConfig(**preset_settings(game, machine)).run.algorithm == "alphazero"


@pytest.mark.parametrize("machine", MACHINES)
def test_presets_of_environments_are_settings(machine):
    config = TrainingConfig(**preset_settings("gym:CartPole-v1", machine))
    assert config.run.algorithm == "muzero" and config.network.size.startswith("mlp")
    assert config.search.discount == config.targets.discount < 1
    assert config.targets.td_steps is not None


def test_settings_of_the_layers_are_fixed(tmp_path):
    run = Run.create(tmp_path / "run", TrainingConfig(game=CARTPOLE))
    assert set(SHAPING) < set(type(run.config.muzero).model_fields)
    with pytest.raises(RunError, match=r"muzero\.support.*30.*40"):
        run.change(run.config.replace(muzero=run.config.muzero.replace(support=40)))
    assert run.change(run.config.replace(muzero=run.config.muzero.replace(unroll=7))) == {
        "muzero.unroll": "5 → 7"
    }
    tictactoe = Run.create(tmp_path / "other", TrainingConfig(game={"name": "tictactoe"}))
    learned = tictactoe.config.run.replace(algorithm="muzero")
    with pytest.raises(RunError, match=r"run\.algorithm.*'alphazero'.*'muzero'"):
        tictactoe.change(tictactoe.config.replace(run=learned))


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The arguments of the training loop, which is replaced."""
    monkeypatch.chdir(tmp_path)
    calls = []

    def noted(config, folder, *, watch, start, fitted):
        calls.append(config)
        run = Run.open(folder) if Run.exists(folder) else Run.create(folder, config)
        return Outcome(run, 3, "done")

    monkeypatch.setattr("sylvan.runs.loop.train", noted)
    return calls


def train(*arguments):
    result = CliRunner().invoke(app, ["train", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_takes_the_preset_of_the_algorithm(asked):
    train("tictactoe", "--algorithm", "muzero", "--preset", "cpu")
    assert asked[0] == TrainingConfig(**preset_settings("tictactoe", "cpu", "muzero"))
    train("tictactoe", "--set", "algorithm=muzero", "--preset", "cpu", "--run", "runs/other")
    assert asked[1] == asked[0]
    train("gym:CartPole-v1", "--preset", "cpu")
    assert asked[2] == TrainingConfig(**preset_settings("gym:CartPole-v1", "cpu"))


def test_a_resumed_run_keeps_its_algorithm(asked):
    train("tictactoe", "--algorithm", "muzero", "--preset", "cpu", "--run", "runs/a")
    train("tictactoe", "--run", "runs/a", "--preset", "cpu", "--steps", 99)
    assert asked[1].run.algorithm == "muzero" and asked[1].run.steps == 99
    assert asked[1].muzero == asked[0].muzero and asked[1].search == asked[0].search
