"""`sylvan play` beyond chess: Connect Four, tic-tac-toe, users' games, networks of runs."""

import io
import json
import re
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.cli.board import coloured
from sylvan.cli.opinion import Oracle
from sylvan.engines.match.session import GameSession
from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators import shipped_network
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.planning import Search
from sylvan.players.player import RandomPlayer
from tests.evaluators.models import linear_model

EXAMPLES = Path(__file__).parents[2] / "examples"
THREE = f"{EXAMPLES / 'three_seats.py'}:ThreeSeats"


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
    assert re.search(r"would play [1-7], value [+-]", done.stdout)
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
    assert "solve" not in play("help\n", "chess", "-n", "10").stdout  # there is no solver


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
        ([THREE, "--side", "black"], "for games of two seats"),
        ([THREE, "--seat", "3"], "give one from 0 to 2"),
        (["tictactoe", "--seat", "1", "--side", "black"], "contradict"),
        (["missing.py:Game"], "missing.py"),
    ],
)
def test_invalid_options_are_refused(words, said):
    done = play("", *words)
    assert done.exit_code == 2 and said in done.stderr


def test_a_game_of_three_seats_against_two_opponents():
    done = play("take 1\n" * 9, THREE, "--seat", "1", "-n", "60")
    assert done.exit_code == 0, done.output
    assert "You play seat 1 of 0 to 2" in done.stdout
    assert "for seat 0" in done.stdout and "for seat 2" in done.stdout
    assert re.search(r"You get (-?1|0); the seats get ", done.stdout)


def test_bytes_that_are_not_text_are_no_move():
    done = CliRunner().invoke(app, ["play", "tictactoe", "-n", "5"], input=b"\xff\nquit\n")
    assert done.exit_code == 0 and "is not a cell" in done.stdout, done.output


def test_commands_are_listed_where_they_apply():
    def listed(*words):
        lines = play("help\nquit\n", *words, "-n", "5").stdout.splitlines()
        return {line.split()[0] for line in lines if re.match(r"\w+( FILE)? {2,}", line)}

    assert {"rules", "solve", "draw", "resign"} <= listed("tictactoe")
    assert not {"fen", "solve", "draw", "resign"} & listed(THREE)
    assert "fen" in listed("chess") and "solve" not in listed("chess")
    assert "PGN" in play("help\n", "chess").stdout
    assert "PGN" not in play("help\n", "tictactoe").stdout


@pytest.mark.parametrize("game", ["chess", "connect4", "tictactoe", THREE])
def test_every_game_has_rules(game):
    said = play("rules\nquit\n", game, "-n", "5").stdout
    assert re.search(r"\d seats; the result of a seat is from -1 to 1\.", said)


@pytest.mark.parametrize("game", ["chess", "tictactoe", THREE, f"{EXAMPLES / 'pig.py'}:Pig"])
def test_a_saved_game_is_resumed(game, tmp_path):
    first = play(f"moves\nsave {tmp_path / 'g.json'}\nquit\n", game, "-n", "20", "--seed", "4")
    assert first.exit_code == 0 and "resume it with: sylvan play" in first.stdout, first.output
    move = first.stdout.split("your move: moves")[1].split("\n")[1].split(" ")[0]
    move = {THREE: "take 1"}.get(game, move)
    played = play(f"{move}\nsave {tmp_path / 'g.json'}\nquit\n", game, "-n", "20", "--seed", "4")
    assert played.exit_code == 0, played.output
    again = play("moves\nquit\n", game, "--resume", str(tmp_path / "g.json"), "-n", "20")
    assert again.exit_code == 0, again.output
    actions = json.loads((tmp_path / "g.json").read_text())["actions"]
    assert actions and "You play" in again.stdout


def test_a_damaged_saved_game_is_refused(tmp_path):
    path = tmp_path / "g.json"
    assert play(f"4\nsave {path}\nquit\n", "tictactoe", "-n", "20").exit_code == 0
    facts = json.loads(path.read_text())
    for change, said in (
        ({"actions": [4, 4]}, "is not a game of tictactoe: Action 4 is not legal"),
        ({"format": "other"}, "ts format is not"),
        ({"seat": "x"}, "is not a saved game"),
    ):
        path.write_text(json.dumps(facts | change))
        done = play("", "--resume", str(path))
        assert done.exit_code == 2 and said in done.stderr, done.stderr
    path.write_text(json.dumps(facts))
    assert "omit --seat" in play("", "--resume", str(path), "--seat", "0").stderr
    other = play("", "connect4", "--resume", str(path)).stderr
    assert f"is a game of tictactoe: sylvan play tictactoe --resume {path}" in other
    path.write_text('[Event "a game as PGN"]')
    assert "a PGN cannot be resumed" in play("", "--resume", str(path)).stderr


def test_a_hint_comes_with_a_value():
    assert re.search(
        r"would play \S+, score [+-]\d\.\d\d\.", play("hint\n", "chess", "-n", "9").stdout
    )
    said = play("hint\n", "tictactoe", "-n", "9").stdout
    assert re.search(r"would play \d, value [+-]\d\.\d\d \(from -1 to 1\)\.", said)


def test_a_draw_is_declined_on_the_first_move_and_accepted_by_the_worse_side():
    assert "plays on." in play("e4\ndraw\nquit\n", "chess", "-n", "200").stdout
    lost = "3qk3/8/8/8/8/8/8/4K2R b K - 0 1"  # the search has the rook, the person the queen
    done = play("d8e7\ndraw\n", "chess", lost, "--side", "black", "-n", "200")
    assert "Drawn by agreement." in done.stdout


def test_a_game_has_its_date():
    today = f"{date.today():%Y.%m.%d}"
    assert f'[Date "{today}"]' in play("e4\nresign\n", "chess", "-n", "5").stdout


# --- hidden information ---------------------------------------------------------------------------


def test_a_person_sees_only_their_own_card():
    """The same deal but for the opponent's card looks the same, and the game ends properly."""
    pytest.importorskip("pyspiel")
    shown = {}
    for seed in range(12):
        done = play("Pass\nBet\n", "open_spiel:kuhn_poker", "-n", "50", "--seed", str(seed))
        assert done.exit_code == 0, done.output
        assert re.search(r"You (win|lose)\.", done.stdout), done.output
        before, _, _ = done.stdout.partition("Sylvan plays")
        card = re.search(r"seat 0 knows: (\d)", before)[1]
        shown.setdefault(card, set()).add(before)
    assert len(shown) == 3 and all(len(texts) == 1 for texts in shown.values())


HIGH_CARD = '''
import numpy as np
import sylvan


class HighCard(sylvan.Game):
    """Each seat has a secret card from 0 to 4 and says whether it stays; the higher one wins."""

    num_players = 2
    num_actions = 5

    def __init__(self):
        self.cards, self.said, self.observer = [], [], None

    def is_chance(self):
        return len(self.cards) < 2 and self.observer is None

    def chance_outcomes(self):
        left = [card for card in range(5) if card not in self.cards]
        return [(card, 1 / len(left)) for card in left]

    def legal_actions(self):
        return [0, 1]

    def apply(self, action):
        (self.cards if self.is_chance() else self.said).append(action)

    def clone(self):
        copy = HighCard()
        copy.cards, copy.said, copy.observer = [*self.cards], [*self.said], self.observer
        return copy

    def to_play(self):
        return len(self.said) % 2

    def is_terminal(self):
        return len(self.said) == 2

    def returns(self):
        won = 1 if self.cards[0] > self.cards[1] else -1
        return (won, -won)

    def observation(self):
        return np.eye(5, dtype=np.float32)[self.cards[self.to_play()]]

    def observe(self, seat):
        view = self.clone()
        view.observer = seat
        view.cards[1 - seat] = None
        return view

    def sample(self, rng):
        deal = self.clone()
        deal.observer = None
        left = [card for card in range(5) if card not in self.cards]
        deal.cards[1 - self.observer] = left[rng.below(len(left))]
        return deal

    def __str__(self):
        return f"cards {self.cards}, said {self.said}"
'''


def test_a_game_of_ones_own_is_shown_as_its_seat_sees_it(tmp_path):
    (tmp_path / "cards.py").write_text(HIGH_CARD)
    for seat, other in (("0", r"\[\d, None\]"), ("1", r"\[None, \d\]")):
        words = [f"{tmp_path / 'cards.py'}:HighCard", "--seat", seat, "-n", "40", "--seed", "1"]
        done = play("board\nhint\n1\n", *words)
        assert done.exit_code == 0, done.output
        assert re.search(rf"cards {other}", done.stdout)
        assert not re.search(r"cards \[\d, \d\]", done.stdout)
        assert re.search(r"You (win|lose)\.", done.stdout)


# --- networks -------------------------------------------------------------------------------------


def test_a_runs_folder_is_a_network(tmp_path):
    run = run_folder(tmp_path / "first", ConnectFour())
    done = play("4\n", "connect4", "--net", str(run), "-n", "20")
    assert done.exit_code == 0, done.output
    assert "Sylvan first plays" in done.stdout


def test_the_folder_of_a_run_stands_for_its_game(tmp_path):
    run = run_folder(tmp_path / "first", ConnectFour(columns=5, rows=4))
    settings = 'game = {name = "connect4", params = {columns = 5, rows = 4}}\n'
    (run / "config.toml").write_text(settings)
    done = play("moves\n", str(run), "-n", "20")
    assert done.exit_code == 0, done.output
    assert "1 2 3 4 5\n" in done.stdout


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
    with pytest.warns(RuntimeWarning, match="connect4 network is not a model"):
        assert play("", "connect4", "-n", "5").exit_code == 0
    assert play("", "connect4", "--evaluator", "rollout", "-n", "5").exit_code == 0
    with pytest.warns(RuntimeWarning, match="tictactoe.onnx, a part of Sylvan, is missing"):
        assert play("", "tictactoe", "-n", "5").exit_code == 0
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
    with pytest.raises(NetworkError, match=r"connect4\.onnx"):
        Search("shipped", simulations=5).run(ConnectFour())
    with pytest.raises(ConfigError, match="ConnectFour"):
        Search("shipped", simulations=5).run(ConnectFour(columns=5, rows=4))
    model, _ = linear_model(ConnectFour(), "wdl")
    (nets / "connect4.onnx").write_bytes(model)
    found = Search("shipped", simulations=40).run(ConnectFour())
    same = Search(nets / "connect4.onnx", simulations=40).run(ConnectFour())
    assert found.evaluator == "connect4 network" and (found.policy == same.policy).all()


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
