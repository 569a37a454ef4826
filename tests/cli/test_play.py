"""`sylvan play` beyond chess: Connect Four, tic-tac-toe, users' games, networks of runs."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.cli.board import coloured
from sylvan.cli.opinion import Oracle
from sylvan.engines.match.session import GameSession
from sylvan.errors import ConfigError
from sylvan.evaluators import Shipped, shipped_network
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.planning import Search
from sylvan.players.player import RandomPlayer
from tests.evaluators.models import linear_model

EXAMPLES = Path(__file__).parents[2] / "examples"


def play(lines, *words):
    return CliRunner().invoke(app, ["play", *words], input=lines)


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A folder of shipped networks, made for the test."""
    folder = tmp_path / "nets"
    folder.mkdir()
    monkeypatch.setattr("sylvan.evaluators.shipped.NETS", folder)
    return folder


def run_folder(path, game, value="wdl"):
    """The folder of a run that has a best network."""
    (path / "networks").mkdir(parents=True)
    (path / "config.toml").write_text("")
    (path / "networks" / "best.onnx").write_bytes(linear_model(game, value)[0])
    return path


# --- commands -------------------------------------------------------------------------------------


def test_a_game_of_connect_four_with_every_command():
    done = play("help\nmoves\nhint\n4\nundo\nboard\nxyzzy\n9\nresign\n", "connect4", "-n", "50")
    assert done.exit_code == 0, done.output
    assert "a column, 1 to 7" in done.stdout
    assert "1 2 3 4 5 6 7" in done.stdout
    assert re.search(r"would play [1-7]\.", done.stdout)
    assert "2 half-move(s) taken back." in done.stdout
    assert "xyzzy" in done.stdout and "You lose by resignation." in done.stdout


def test_solve_shows_the_exact_value_of_connect_four():
    done = play("solve\nopinion\n", "connect4", "44444432222262", "-n", "10")
    expected = str(ConnectFour("44444432222262").solve())
    assert done.stdout.count(expected) == 2


def test_solve_shows_the_exact_value_of_tic_tac_toe():
    done = play("solve\n", "tictactoe", "0", "--side", "black", "-n", "10")
    assert "the game is drawn. Moves that keep it so: 4." in done.stdout
    won = Oracle().opinion(TicTacToe([0, 3, 1, 4]))
    assert won == "With perfect play the seat to move wins. Moves that keep it so: 2."


def test_the_solver_has_a_timeout(monkeypatch):
    monkeypatch.setattr("sylvan.cli.opinion.SOLVE_SECONDS", 0.01)
    with pytest.raises(ConfigError, match="did not finish"):
        Oracle().opinion(ConnectFour("4"))
    assert "no solver for Chess" in play("solve\n", "chess", "-n", "10").stdout


def test_as_second_seat_the_opponent_moves_first():
    done = play("", "tictactoe", "--side", "black", "-n", "10")
    assert "You play second." in done.stdout and "Sylvan plays" in done.stdout


# --- other games ----------------------------------------------------------------------------------


def test_a_users_game_is_played():
    nim = f"{EXAMPLES / 'nim.py'}:Nim"
    done = play("moves\nhelp\nhint\nquit\n", nim, "-n", "100")
    assert done.exit_code == 0, done.output
    assert "as `moves` lists them" in done.stdout and "The search would play" in done.stdout


def test_a_game_without_text_shows_its_observation(tmp_path):
    source = (EXAMPLES / "nim.py").read_text()
    kept = re.sub(r"\n    def __(str|repr)__.*?(?=\n    def |\n\n\n)", "", source, flags=re.S)
    (tmp_path / "nim.py").write_text(kept)
    done = play("", f"{tmp_path / 'nim.py'}:Nim", "-n", "5")
    assert done.exit_code == 0 and "object at" not in done.stdout and "[" in done.stdout


def test_a_game_with_chance_rolls_its_own_dice():
    done = play("moves\n" * 3, f"{EXAMPLES / 'pig.py'}:Pig", "--seed", "1", "-n", "20")
    assert done.exit_code == 0, done.output


def test_chance_is_the_same_after_undo():
    start = GameSpec(f"{EXAMPLES / 'pig.py'}:Pig").first()
    session = GameSession(start, 0, RandomPlayer(), seed=3)
    session.play(session.game.legal_actions()[0])
    before = list(session.actions)
    assert len(before) >= 2  # the roll and its outcome
    session.undo()
    assert session.actions == before[: len(session.actions)] and session.is_persons_turn
    session.play(before[len(session.actions)])
    assert session.actions == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conect4"], "did you mean 'connect4'"),
        ([f"{EXAMPLES / 'three_seats.py'}:ThreeSeats"], "has 3 seats"),
        (["missing.py:Game"], "missing.py"),
    ],
)
def test_invalid_options_are_refused(words, said):
    done = play("", *words)
    assert done.exit_code == 2 and said in done.stderr


# --- networks -------------------------------------------------------------------------------------


def test_a_runs_folder_is_a_network(tmp_path):
    run = run_folder(tmp_path / "first", ConnectFour())
    done = play("4\n", "connect4", "--net", str(run), "-n", "20")
    assert done.exit_code == 0, done.output
    assert "Sylvan first plays" in done.stdout


def test_a_network_of_another_game_is_refused(tmp_path):
    run = run_folder(tmp_path / "first", ConnectFour())
    done = play("4\n", "tictactoe", "--net", str(run))
    assert done.exit_code == 2 and "plays connect_four, not tic_tac_toe" in done.stderr


def test_a_run_plays_matches(tmp_path):
    run = run_folder(tmp_path / "first", Chess(encoder="planes18", codec="lc0"))
    words = ["match", f"{run}:simulations=2", "random", "--games", "2", "--max-plies", "6"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "match.jsonl")])
    assert done.exit_code == 0, done.output
    assert "first:simulations=2 against random" in done.stdout


def test_a_run_without_a_network_is_refused(tmp_path):
    (tmp_path / "networks").mkdir()
    (tmp_path / "config.toml").write_text("")
    done = play("", "connect4", "--net", str(tmp_path))
    assert done.exit_code == 2 and "has no network yet" in done.stderr


def test_the_shipped_network_is_the_default(nets):
    """A damaged file shows whether it is read."""
    (nets / "connect4.onnx").write_bytes(b"no network")
    done = play("", "connect4")
    assert done.exit_code == 2 and "connect4.onnx is not a model" in done.stderr
    assert play("", "connect4", "--evaluator", "rollout", "-n", "5").exit_code == 0
    assert play("", "tictactoe", "-n", "5").exit_code == 0  # no shipped network
    (nets / "connect4.onnx").write_bytes(linear_model(ConnectFour(), "wdl")[0])
    assert "Sylvan plays" in play("4\n", "connect4", "-n", "10").stdout


def test_shipped_networks_are_found_by_game_and_board(nets):
    for name in ("connect4", "tictactoe"):
        (nets / f"{name}.onnx").touch()
    assert shipped_network(ConnectFour("44")) == nets / "connect4.onnx"
    assert shipped_network(TicTacToe()) == nets / "tictactoe.onnx"
    assert shipped_network(ConnectFour(columns=6, rows=6)) is None
    assert shipped_network(Chess()) is None


def test_a_search_can_use_the_shipped_network(nets):
    with pytest.raises(ConfigError, match="No network for this ConnectFour comes with Sylvan"):
        Search("shipped", simulations=5).run(ConnectFour())
    model, _ = linear_model(ConnectFour(), "wdl")
    (nets / "connect4.onnx").write_bytes(model)
    found = Search("shipped", simulations=40).run(ConnectFour())
    same = Search(nets / "connect4.onnx", simulations=40).run(ConnectFour())
    assert found.evaluator == Shipped.name and (found.policy == same.policy).all()


# --- boards ---------------------------------------------------------------------------------------


def shown(picture):
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)
    console.print(picture)
    return console.file.getvalue()


def test_connect_four_in_colours():
    picture = coloured(ConnectFour("4453"), 0, last=2)
    assert picture.plain.count("●") == 41 and picture.plain.count("◉") == 1
    lines = picture.plain.splitlines()
    assert len(lines) == 7 and lines[-1].split() == list("1234567")
    assert lines[5][7] == "◉"  # third column, lowest row, three characters a cell
    assert shown(picture).count("224;69;60") == 2  # two red stones
    assert shown(picture).count("245;200;50") == 2


def test_tic_tac_toe_in_colours():
    picture = coloured(TicTacToe([4, 0]), 0, last=0).plain
    assert picture.count("✕") == 1 and picture.count("○") == 1
    assert [cell for cell in "12345678" if cell in picture] == list("1235678")


def test_other_games_have_no_picture():
    assert coloured(GameSpec(f"{EXAMPLES / 'nim.py'}:Nim").first(), 0) is None
