"""`sylvan train`: the settings of a command, its output, and resuming."""

import re

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import Outcome
from sylvan.runs.presets import preset_settings
from sylvan.runs.run import Run

SMALL = [
    "--network",
    "mlp1x16",
    "--threads",
    "1",
    "--device",
    "cpu",
    "--set",
    "simulations=8",
    "--set",
    "selfplay.games=12",
    "--set",
    "selfplay.positions=60",
    "--set",
    "learner.batch=16",
    "--set",
    "replay.window_min=100",
    "--set",
    "arena.games=2",
    "--set",
    "arena.simulations=2",
    "--set",
    "arena.positions=20",
    "--set",
    "arena.every=2",
]


def sylvan(*arguments):
    result = CliRunner().invoke(app, ["train", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The arguments of the training loop, which is replaced."""
    monkeypatch.chdir(tmp_path)
    calls = []

    def noted(config, folder, *, watch, start, fitted):
        assert fitted is None  # a named preset, or a resumed run
        calls.append((config, folder, start))
        run = Run(folder, config)
        if not Run.exists(folder):
            run = Run.create(folder, config)
        return Outcome(run, 3, "done")

    monkeypatch.setattr("sylvan.runs.loop.train", noted)
    return calls


def test_the_preset_is_the_default(asked):
    assert sylvan("connect4", "--preset", "cpu")[0] == 0
    config, folder, start = asked[0]
    assert config == TrainingConfig(**preset_settings("connect4", "cpu"))
    assert (str(folder), start) == ("runs/connect4", None)


def test_the_command_line_over_the_file_over_the_preset(asked, tmp_path):
    (tmp_path / "my.yaml").write_text(
        "simulations_per_move: 9\nlearner:\n  batch: 32\n  learning_rate: 0.5\nrun:\n  seed: 4\n"
    )
    code, _ = sylvan(
        "connect4", "--preset", "cpu", "--config", "my.yaml", "--set", "learner.batch=64",
        "--seed", 5, "--network", "2x16", "--run", "runs/x", "--threads", 1,
    )  # fmt: skip
    config = asked[0][0]
    assert code == 0
    assert (config.search.simulations, config.learner.batch) == (9, 64)
    assert (config.learner.learning_rate, config.run.seed, config.run.threads) == (0.5, 5, 1)
    assert config.network.size == "2x16"


def test_the_preset_fits_the_game_with_its_arguments(asked, tmp_path):
    """The game's observation depends on them, and the game may require some."""
    (tmp_path / "wide.py").write_text(
        "import numpy as np\n"
        "from sylvan.games import TicTacToe\n"
        "class Wide(TicTacToe):\n"
        "    def __new__(cls, board): return super().__new__(cls)\n"
        "    def __init__(self, board): self.board = board\n"
        "    def clone(self): return Wide(self.board)\n"
        "    def observation(self): return np.zeros((2, 8, 8) if self.board else 5, np.float32)\n"
    )
    for board in ("true", "false"):
        code, _ = sylvan(
            "wide.py:Wide", "--preset", "cpu", "--set", f"game.params.board={board}",
            "--run", f"runs/{board}",
        )  # fmt: skip
        assert code == 0
    assert [config.network.size for config, _, _ in asked] == ["4x48", "mlp3x128"]
    assert sylvan("wide.py:Wide", "--preset", "cpu", "--run", "runs/true")[0] == 0  # kept


@pytest.mark.parametrize(
    ("option", "budget"),
    [
        (["--steps", 7], (7, None)),
        (["--minutes", 0.5], (None, 0.5)),
        (["--set", "run.steps=3"], (3, None)),
        (["--steps", 7, "--minutes", 2], (7, 2.0)),
    ],
)
@pytest.mark.parametrize("game", ["connect4", "tictactoe"])
def test_a_new_budget_replaces_the_old_one(asked, game, option, budget):
    sylvan(game, "--preset", "cpu", *option)
    run = asked[0][0].run
    assert (run.steps, run.minutes) == budget


def test_a_resumed_run_keeps_its_settings(asked):
    sylvan("connect4", "--preset", "cpu", "--steps", 3, "--set", "learner.batch=32")
    sylvan("connect4")
    sylvan("connect4", "--minutes", 9, "--set", "c_puct=3")
    first, second, third = (config for config, _, _ in asked)
    assert second == first
    assert third.run.minutes == 9 and third.run.steps is None
    assert third.search.c_puct == 3 and third.learner.batch == 32


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["conect4"], "There is no game 'conect4': did you mean 'connect4'?"),
        (["nowhere.py:Game"], "There is no file 'nowhere.py'"),
        (["gym:Pendulum-v1"], "Pendulum-v1 has continuous actions, Box(1,): Sylvan takes"),
        (["gym:CartPol-v1"], "Gymnasium has no environment 'CartPol-v1': did you mean"),
        (["connect4", "--set", "lerning_rate=1"], "did you mean 'learner.learning_rate'?"),
        (["connect4", "--set", "learner.batch"], "has no value: write --set section.name"),
        (["connect4", "--set", "learner.batch=0"], "learner.batch is 0: it must be at least 1"),
        (["connect4", "--preset", "tpu"], "There is no preset 'tpu': use cpu, gpu8, big or auto"),
        (["connect4", "--config", "x.json"], "x.json is not a settings file"),
        (["connect4", "--from", "runs/nowhere"], "runs/nowhere"),
        (["connect4", "--wrapper", "a:B"], "--wrapper is for environments, gym:name: omit it"),
        (["connect4", "--workers", "3"], "--workers is for runs on a cluster: add --cluster"),
        (["connect4", "--cluster-mode", "exact"], "or omit --cluster-mode"),
        (["connect4", "--ahead", "3"], "or omit --ahead"),
        (["connect4", "--learners", "2"], "or omit --learners"),
        (["connect4", "--run", __file__], "is a file: name a folder for the run"),
    ],
)
def test_errors_are_one_line(asked, arguments, sentence):
    code, output = sylvan(*arguments)
    assert code == 2 and asked == []
    assert re.fullmatch(r"error: [^\n]*\n", output) and sentence in output, output


def test_from_takes_the_shape_of_the_other_network(asked, tmp_path):
    from sylvan.games import ConnectFour
    from sylvan.networks import build_network, save_network

    network = build_network("3x8", game=ConnectFour(), norm="fixed", seed=1)
    save_network(network, tmp_path / "a.safetensors")
    assert sylvan("connect4", "--preset", "cpu", "--from", "a.safetensors")[0] == 0
    config, _, start = asked[0]
    assert config.network.size == "3x8" and config.network.settings["norm"] == "fixed"
    assert str(start) == "a.safetensors"
    assert sylvan("connect4", "--preset", "cpu", "--minutes", 9)[0] == 0  # resumed
    assert asked[1][0].network == config.network and asked[1][0].run.minutes == 9


@pytest.mark.parametrize("encoder", ["lc0_112", "planes19", "planes29"])
def test_from_takes_the_encoding_of_the_other_network(asked, tmp_path, encoder):
    """The preset for a processor has an encoder of its own."""
    from sylvan.games import Chess
    from sylvan.games.encoding import Encoding
    from sylvan.networks import build_network, save_network

    encoding = Encoding(encoder, "lc0")
    network = build_network("1x8", game=Chess(), encoding=encoding, seed=1)
    save_network(network, tmp_path / "a.safetensors")
    assert sylvan("chess", "--preset", "cpu", "--from", "a.safetensors")[0] == 0
    assert asked[0][0].game.spec.first().encoding == encoding
    other = ["--set", "game.params.encoder=az119"]
    assert (
        sylvan("chess", "--run", "b", "--preset", "cpu", "--from", "a.safetensors", *other)[0] == 0
    )
    assert asked[1][0].game.spec.first().encoding == Encoding("az119", "lc0")


@pytest.mark.slow
def test_a_run_from_the_command_line(tmp_path):
    folder = tmp_path / "run"
    code, output = sylvan("tictactoe", "--run", folder, "--steps", 2, *SMALL)
    assert code == 0, output
    assert "step 2" in output
    assert "Done: 2 steps." in output
    assert f"sylvan play {folder}" in output
    assert (folder / "networks/best.onnx").is_file()
    code, output = sylvan("tictactoe", "--run", folder)
    assert code == 0 and "Done: 2 steps." in output and "step 2" not in output
    code, output = sylvan("tictactoe", "--run", folder, "--steps", 3, "--quiet")
    assert code == 0 and "Done: 3 steps." in output and "step 3" not in output
    code, output = sylvan("connect4", "--run", folder)
    assert code == 2 and "game.name is 'tictactoe', not 'connect4'" in output
    code, output = sylvan("tictactoe", "--run", folder, "--from", folder)
    assert code == 2 and "already started, so --from" in output


def test_help_has_examples():
    code, output = sylvan("--help")
    assert code == 0
    assert "sylvan train connect4" in output and "my_game.py:MyGame" in output


def test_names_of_folders():
    from sylvan.cli.train import _folder_name

    assert _folder_name("connect4") == "connect4"
    assert _folder_name("a/b/nim.py:Nim") == "nim"
    assert _folder_name("open_spiel:breakthrough(rows=6,columns=6)") == "breakthrough"


def test_a_short_game_that_begins_with_chance_is_trained_and_played(tmp_path):
    pytest.importorskip("pyspiel")
    folder = tmp_path / "poker"
    code, output = sylvan("open_spiel:kuhn_poker", *SMALL, "--run", folder, "--steps", "1")
    assert code == 0 and f"sylvan play {folder}" in output
    played = CliRunner().invoke(app, ["play", str(folder), "-n", "8"], input="Pass\nBet\n")
    assert played.exit_code == 0 and "You " in played.output.splitlines()[-1]


@pytest.mark.slow
def test_only_commands_that_work_are_suggested(tmp_path):
    pytest.importorskip("gymnasium")
    pytest.importorskip("tests.muzero.environments")
    words = [*SMALL, "--set", "arena.games=2", "--steps", "1"]
    for game, watched in (("gym:CartPole-v1", True), ("gym:test/Walk-v0", False)):
        _, output = sylvan(game, *words, "--run", tmp_path / game[-8:])
        assert ("sylvan watch" in output) is watched and "sylvan play" not in output
