"""`sylvan match` and `sylvan analyze` for every game: own games, OpenSpiel's, runs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.engines.match import Match
from sylvan.engines.match.openings import random_openings
from sylvan.games import ConnectFour, TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.players.specs import player_spec
from tests.cli.test_play import EXAMPLES, HIGH_CARD, THREE, run_folder

NIM, PIG = (f"{EXAMPLES / f'{name.lower()}.py'}:{name}" for name in ("Nim", "Pig"))


def sylvan(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def one_line(done, *said):
    assert done.exit_code == 2 and done.stderr.count("\n") == 1, done.output
    for words in said:
        assert words in done.stderr, done.stderr


@pytest.fixture
def high_card(tmp_path):
    """A game with hidden cards that begins with chance."""
    (tmp_path / "cards.py").write_text(HIGH_CARD)
    return f"{tmp_path / 'cards.py'}:HighCard"


@pytest.fixture
def tictactoe(tmp_path):
    """The folder of a run of tic-tac-toe."""
    run = run_folder(tmp_path / "first", TicTacToe())
    (run / "config.toml").write_text('game = {name = "tictactoe"}\n')
    return run


# --- matches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["connect4", "tictactoe", NIM])
def test_a_search_beats_random_moves(game):
    done = sylvan("match", "rollout:simulations=200", "random", "--game", game, "--games", 10)
    assert done.exit_code == 0, done.output
    assert "first seat" in done.stdout and "captures" not in done.stdout
    won, drawn = (int(part.split()[0]) for part in done.stdout.split("10: ")[1].split(", ")[:2])
    assert won + drawn >= 8


def test_chance_and_hidden_cards_are_played(high_card):
    for game in (PIG, high_card):
        words = ["match", "rollout:simulations=8", "random", "--game", game, "--games", 4, "--json"]
        done = sylvan(*words)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["games"] == 4
        assert sylvan(*words).stdout.split('"seconds"')[0] == done.stdout.split('"seconds"')[0]


def test_every_opening_is_played_from_both_seats():
    players = (player_spec("random"), player_spec("random"))
    match = Match(players, game=GameSpec("connect4"))
    first, second = match.play(range(2))
    assert first.moves[: first.book] == second.moves[: second.book] and first.book == 2
    moves = [opening.moves for opening in random_openings(GameSpec("connect4"))]
    assert len(set(moves)) == len(moves) > 30
    assert all(not ConnectFour("".join(each)).is_terminal() for each in moves)


def test_runs_say_what_they_play(tictactoe, tmp_path):
    done = sylvan("match", f"{tictactoe}:simulations=4", "random", "--games", 2)
    assert done.exit_code == 0 and "first seat" in done.stdout, done.output
    other = run_folder(tmp_path / "second", ConnectFour())
    (other / "config.toml").write_text('game = {name = "connect4"}\n')
    one_line(sylvan("match", tictactoe, other), "plays connect4, not tictactoe")
    one_line(sylvan("match", tictactoe, "random", "--game", "connect4"), "plays tictactoe, not")
    network = tictactoe / "networks" / "best.onnx"
    one_line(sylvan("match", network, "random"), "plays tic_tac_toe, not chess")


def test_players_of_other_games_are_refused():
    one_line(sylvan("match", "material", "random", "--game", "connect4"), "knows only chess")
    one_line(sylvan("match", "random", "random", "--game", THREE), "has 3 seats")
    one_line(sylvan("match", "random", "random", "--game", NIM, "--pgn", "x.pgn"), "for chess")
    one_line(sylvan("match", "random", "random", "--game", "nmi.py:Nim"), "nmi.py")


def test_random_moves_take_the_place_of_an_absent_program():
    words = ["match", "uci:no-such-program Skill Level=3", "random", "--games", 2, "--nodes", 5]
    one_line(sylvan(*words), "'no-such-program' was not found: install it, or give its path")
    done = sylvan(*words, "--or-random", "--max-plies", 4)
    assert done.exit_code == 0 and "random (A) against random (B)" in done.stdout
    assert "no-such-program Skill Level=3 is not installed: random" in done.stderr


def test_a_match_of_another_game_is_resumed(tmp_path):
    out = tmp_path / "match.jsonl"
    words = ["match", "random", "random", "--game", NIM, "--out", out, "--json"]
    assert sylvan(*words, "--games", 2).exit_code == 0
    done = sylvan(*words, "--games", 4)
    assert json.loads(done.stdout)["games"] == 4 and len(out.read_text().splitlines()) == 5
    one_line(
        sylvan("match", "random", "random", "--game", "tictactoe", "--out", out), "its game is"
    )


# --- analysis -------------------------------------------------------------------------------------


def test_positions_of_every_game_are_analysed(high_card):
    for words in ((NIM,), (NIM, "0"), (THREE, "take 2"), (high_card, "3", "1"), ("tictactoe", "4")):
        done = sylvan("analyze", "--game", *words, "-n", 50)
        assert done.exit_code == 0, done.output
        assert "object at" not in done.stdout and "50 simulations" in done.stdout


def test_a_hidden_hand_is_not_shown(high_card):
    shown = sylvan("analyze", "--game", high_card, "3", "1", "-n", 50).stdout
    assert "[3, None]" in shown
    one_line(sylvan("analyze", "--game", high_card, "3"), "Chance moves", "0 1 2 4")


def test_a_run_is_analysed_with_its_network(tictactoe):
    done = sylvan("analyze", "--game", tictactoe, "-n", 30)
    assert done.exit_code == 0 and "30 simulations with first" in done.stdout, done.output
    words = ["analyze", "--game", "connect4", "--net", tictactoe]
    one_line(sylvan(*words), "plays tic_tac_toe, not connect_four")


def test_several_pgn_files_are_annotated(tmp_path):
    for name, moves in (("a", "1. e4 e5 *"), ("b", "1. d4 d5 *")):
        (tmp_path / f"{name}.pgn").write_text(f'[White "{name}"]\n\n{moves}\n')
    done = sylvan("analyze", tmp_path / "a.pgn", tmp_path / "b.pgn", "-n", 20, "--json")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["games"]) == 2


def test_the_tree_file_has_the_depth_and_width_that_are_asked_for(tmp_path):
    path = tmp_path / "tree.json"
    words = ["analyze", "-n", 2000, "--tree", path, "--tree-depth", 2, "--tree-width", 3]
    assert sylvan(*words).exit_code == 0
    rows = json.loads(Path(path).read_text())["nodes"]
    assert max(row["depth"] for row in rows) == 2
    children = [sum(row["parent"] == parent["id"] for row in rows) for parent in rows]
    assert max(children) == 3
    one_line(sylvan("analyze", "--tree-depth", 2), "are for --tree FILE")
