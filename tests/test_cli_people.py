"""`sylvan analyze` on games, `sylvan play` and `sylvan match` with typed input."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import chess
import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sylvan import Search
from sylvan.cli import app
from sylvan.cli.board import coloured_board, plain_board
from sylvan.cli.positions import read_position
from sylvan.errors import SylvanError
from sylvan.games import Chess
from sylvan.games.positions import moves_of
from tests.players.test_players import fake
from tests.test_cli import assert_user_error, facts, sylvan

STOCKFISH = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")
NETS = os.environ.get("SYLVAN_NETS")
needs_nets = pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not name a folder")

SCHOLAR = (
    '[White "Amy"]\n[Black "Bob"]\n[Result "1-0"]\n\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0\n'
)
PIECES = ["e4", "e5", "1.", "{", "}", "0-0", "$1", "/", "8/8", "w", "-", "!", "1-0", "e2e4", "\0"]
OTHER = '\n[White "C"]\n[Black "D"]\n\n1. d4 d5 *\n'


@pytest.fixture
def pgn(tmp_path):
    file = tmp_path / "game.pgn"
    file.write_text(SCHOLAR + OTHER)
    return file


class TestAnalyzeGames:
    def test_summary_and_file(self, pgn, tmp_path):
        out = tmp_path / "annotated.pgn"
        done = sylvan(
            "analyze", str(pgn), "--evaluator", "material", "--out", str(out), "-n", "2000"
        )
        assert done.exit_code == 0, done.stderr
        assert "Amy - Bob  1-0" in done.stdout and "C - D  *" in done.stdout
        assert re.search(r"3\.\.\. Nf6\?\? +#1  lost", done.stdout)
        stream = io.StringIO(out.read_text())
        game, second = chess.pgn.read_game(stream), chess.pgn.read_game(stream)
        assert list(game.mainline())[5].nags == {4}
        assert len(list(second.mainline())) == 2

    def test_json(self, pgn):
        games = facts("analyze", str(pgn), "-n", "500", "--evaluator", "material")["games"]
        assert [game["white"]["name"] for game in games] == ["Amy", "C"]
        assert games[0]["moves"][5]["mark"] == "??"
        assert games[0]["black"]["blunders"] == 1

    def test_stdin_and_option(self, pgn):
        done = CliRunner().invoke(app, ["analyze", "-", "-n", "20", "--json"], input=SCHOLAR)
        assert done.exit_code == 0, done.stderr
        assert len(json.loads(done.stdout)["games"]) == 1
        assert len(facts("analyze", "--pgn", str(pgn), "-n", "20")["games"]) == 2

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["missing.pgn"], ["missing.pgn", "no such file"]),
            (["--pgn", "missing.pgn"], ["missing.pgn"]),
            (["GAME", "--out", "no/such/folder/x.pgn"], ["no/such/folder"]),
            (["GAME", "--tree", "t.svg"], ["--tree"]),
            (["GAME", "--game", "connect4"], ["--game"]),
            (["e4", "--pgn", "GAME"], ["PGN"]),
            (["e4", "--out", "x.pgn"], ["--out", "--tree"]),
            (["e4", "--net", "missing.onnx"], ["missing.onnx"]),
            (["e4", "--net", "net.txt"], ["net.txt"]),
            (["e4", "--net", "a.onnx", "--evaluator", "material"], ["contradict"]),
        ],
    )
    def test_refused(self, pgn, words, said):
        words = [str(pgn) if word == "GAME" else word for word in words]
        assert_user_error(sylvan("analyze", *words), *said)

    @pytest.mark.parametrize("text", ["", "hello", "1. e4 Ke5", '[FEN "x"]\n\n1. e4 *', "\0"])
    def test_malformed_pgn_writes_nothing(self, tmp_path, text):
        file, out = tmp_path / "bad.pgn", tmp_path / "out.pgn"
        file.write_text(text)
        assert_user_error(sylvan("analyze", str(file), "--out", str(out)), "bad.pgn")
        assert not out.exists()

    def test_lines_with_their_scores(self):
        found = facts("analyze", "1. e4 e5 2. Nf3", "-n", "600", "--multipv", "3")
        assert len(found["moves"]) == 3
        for move in found["moves"]:
            assert move["pv"][0] == move["move"]
            assert abs(move["score"]["cp"]) < 300 and move["score"]["mate"] is None
            board = chess.Board(found["fen"])
            for san in move["pv"]:
                board.push_san(san)
        assert found["score"] == found["moves"][0]["score"]

    def test_a_mate_is_a_mate(self):
        found = facts("analyze", "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
        assert found["score"]["mate"] == 1
        assert "#1" in sylvan("analyze", "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1").stdout

    @needs_nets
    def test_a_network(self, pgn):
        net = str(Path(NETS) / "maia-1500.pb.gz")
        found = facts("analyze", "--net", net, "-n", "20")
        assert found["evaluator"] == "maia-1500.pb.gz" and found["best"] in ("e4", "d4")
        games = facts("analyze", str(pgn), "--net", net, "-n", "8")["games"]
        assert games[0]["moves"][5]["mark"] == "??"

    def test_an_interrupt_writes_what_was_done(self, pgn, tmp_path, monkeypatch):
        calls, run = count(), Search.run

        def interrupted(self, *arguments, **options):
            if next(calls) == 4:
                raise KeyboardInterrupt
            return run(self, *arguments, **options)

        monkeypatch.setattr(Search, "run", interrupted)
        out = tmp_path / "out.pgn"
        done = sylvan("analyze", str(pgn), "-o", str(out), "-n", "50")
        assert done.exit_code == 130
        assert "interrupted" in done.stdout and "C - D" not in done.stdout
        assert 1 <= out.read_text().count("%eval") <= 3  # some are of better moves
        assert "Qxf7#" in out.read_text()


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. e4 e5 2. Nf3", ["e4", "e5", "Nf3"]),
        ("1.e4 e5 2.Nf3 Nc6 3.O-O", ["e4", "e5", "Nf3", "Nc6", "O-O"]),
        ("e2e4 e7e5", ["e2e4", "e7e5"]),
        ("1. e4 {a comment with e5} 1... c5 1-0", ["e4", "c5"]),
        ("0-0-0+ e8=Q#!?", ["O-O-O+", "e8=Q#"]),
        ("", []),
    ],
)
def test_moves_as_people_paste_them(text, moves):
    assert moves_of(text) == moves


@given(st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join))
def test_any_text_is_a_position_or_refused(text):
    with suppress(SylvanError):
        assert isinstance(read_position("chess", [text]), Chess)


def read_pgn(path):
    return chess.pgn.read_game(io.StringIO(path.read_text()))


def play(lines: str, *words: str):
    return CliRunner().invoke(app, ["play", *words], input=lines)


class TestPlay:
    def test_the_game_is_written(self, tmp_path):
        out = tmp_path / "game.pgn"
        done = play("f3\n", "chess", "e4", "e5", "-n", "500", "--pgn", str(out))
        assert done.exit_code == 0, done.stderr
        assert "You play White" in done.stdout
        game = read_pgn(out)
        moves = [move.uci() for move in game.mainline_moves()]
        assert moves[:3] == ["e2e4", "e7e5", "f2f3"] and len(moves) == 4
        assert (game.headers["White"], game.headers["Black"]) == ("You", "Sylvan")

    def test_a_win(self):
        done = play("Ra8\n", "chess", "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
        assert done.exit_code == 0
        assert "You win by checkmate." in done.stdout
        assert "1. Ra8# 1-0" in done.stdout

    def test_a_loss(self):
        done = play("Kh1\n", "chess", "r5k1/5ppp/8/8/8/8/5PPP/6K1 w - - 0 1", "-l", "10")
        assert done.exit_code == 0
        assert "You lose by checkmate." in done.stdout

    def test_moves_in_either_notation(self):
        done = play("e2e4\nnf3\nfen\n", "chess", "--seed", "1", "-n", "50")
        assert "PPPP1PPP/RNBQKB1R w KQkq" in done.stdout

    def test_a_bad_move_is_explained_and_asked_again(self):
        done = play("e5\nKe2\nxyzzy\n\ne4\n", "chess", "-n", "10")
        assert "nearest legal moves are" in done.stdout
        assert '"xyzzy" is not a move' in done.stdout
        assert "1. e4" in done.stdout

    def test_undo(self):
        done = play("undo\ne4\nundo\nd4\n", "chess", "-n", "10")
        assert "nothing to take back" in done.stdout
        assert "2 half-move(s) taken back." in done.stdout
        assert "1. d4" in done.stdout and "1. e4" not in done.stdout

    def test_undo_as_black(self):
        done = play("e5\nundo\nfen\n", "chess", "-n", "10", "--side", "black")
        position = re.findall(r"\S+ b KQkq \S+ 0 1", done.stdout)
        assert len(position) == 1

    def test_hint_moves_board_and_help(self):
        done = play("hint\nmoves\nboard\nhelp\n", "chess", "-n", "10")
        hint = re.search(r"would play (\S+), score", done.stdout)[1]
        assert hint in [chess.Board().san(move) for move in chess.Board().legal_moves]
        assert "Na3 Nc3 Nf3 Nh3 a3" in done.stdout
        assert done.stdout.count("8  r n b q k b n r") == 2
        assert "take back your last move" in done.stdout

    def test_resign_and_draw(self):
        assert "You lose by resignation." in play("resign\n", "chess").stdout
        assert '[Result "0-1"]' in play("e4\nresign\n", "chess", "-n", "10").stdout
        done = play("draw\nresign\n", "chess", "6k1/8/8/8/8/8/qqq5/7K w - - 0 1", "-n", "10")
        assert "plays on" in done.stdout

    def test_a_level_position_may_be_drawn(self):
        done = play("Kd1\ndraw\n", "chess", "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1", "-n", "500")
        assert "Drawn by agreement." in done.stdout

    def test_save(self, tmp_path):
        file = tmp_path / "saved.pgn"
        done = play(f"e4\nsave\nsave no/such/folder/x.pgn\nsave {file}\n", "chess", "-n", "10")
        assert done.exit_code == 0
        assert "save game.json" in done.stdout and "no folder" in done.stdout
        assert next(move.uci() for move in read_pgn(file).mainline_moves()) == "e2e4"

    @pytest.mark.parametrize("lines", ["", "quit\n", "e4\n", "e4\nquit\n"])
    def test_leaving_is_a_clean_end(self, lines):
        done = play(lines, "chess", "-n", "10")
        assert done.exit_code == 0 and done.stderr == ""
        assert "The game is not finished." in done.stdout

    def test_ctrl_c_leaves_with_the_game(self, monkeypatch):
        lines = iter(["e4"])

        def read(_):
            line = next(lines, None)
            if line is None:
                raise KeyboardInterrupt
            return line

        monkeypatch.setattr("builtins.input", read)
        done = play("", "chess", "-n", "10")
        assert done.exit_code == 130
        assert "The game is not finished." in done.stdout and "1. e4" in done.stdout

    def test_sides(self):
        black = play("", "chess", "--side", "black", "-n", "10").stdout
        assert "You play Black" in black and "1  R N B K Q B N R" in black
        sides = {
            play("", "chess", "--side", "random", "-n", "2", "--seed", str(i)).stdout[:15]
            for i in range(8)
        }
        assert sides == {"You play White,", "You play Black,"}

    def test_other_games(self):
        done = play("1\n2\n1\n", "connect4", "-n", "500", "4142")
        assert done.exit_code == 0 and "1  2  3  4  5  6  7" in done.stdout
        done = play("2\n", "tictactoe", "0314")
        assert done.exit_code == 0 and "You win." in done.stdout
        assert "saved as PGN" in play("save x.pgn\n", "tictactoe").stdout

    @needs_nets
    def test_a_network(self):
        net = str(Path(NETS) / "maia-1100.pb.gz")
        done = play("e4\n", "chess", "--net", net, "-n", "1")
        assert "Sylvan maia-1100.pb.gz plays" in done.stdout

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["checkers"], ["checkers", "chess"]),
            (["chess", "--level", "11"], ["--level"]),
            (["chess", "--side", "red"], ["--side"]),
            (["chess", "--net", "missing.onnx"], ["missing.onnx"]),
            (["chess", "7k/5KQ1/8/8/8/8/8/8 b - - 0 1"], ["over"]),
            (["chess", "--pgn", "no/such/x.pgn"], ["no/such"]),
            (["connect4", "--pgn", "x.pgn"], ["--pgn"]),
            (["connect4", "--evaluator", "material"], ["material", "rollout"]),
        ],
    )
    def test_refused(self, words, said):
        assert_user_error(sylvan("play", *words), *said)


def test_the_coloured_board_has_every_piece():
    game = Chess(moves="e4 e5")
    for seat in (0, 1):
        text = coloured_board(game, seat).plain
        assert sum(text.count(figure) for figure in "♚♛♜♝♞♟") == 32
    assert plain_board(game, 0).splitlines()[:8] == str(game).splitlines()[:8]


class TestMatch:
    def test_report(self, tmp_path):
        pgn, report = tmp_path / "games.pgn", tmp_path / "report.json"
        done = sylvan(
            *["match", "material:simulations=50", "random", "--games", "4", "-c", "2"],
            *["--pgn", str(pgn), "--report", str(report)],
        )
        assert done.exit_code == 0, done.stderr
        assert "4: 4 won, 0 drawn, 0 lost" in done.stdout and "Elo +inf" in done.stdout
        assert pgn.read_text().count("[Event") == 4
        assert json.loads(report.read_text())["wins"] == 4

    def test_json(self):
        found = facts("match", "random", "random", "--games", "2", "--max-plies", "10")
        assert found["games"] == 2 and found["endings"] == {"length": 2}
        assert found["elo_interval_95"][0] < 0 < found["elo_interval_95"][1]

    def test_a_match_is_continued(self, tmp_path):
        file = str(tmp_path / "match.jsonl")
        words = ["match", "random", "random", "--max-plies", "10", "--out", file]
        assert facts(*words, "--games", "2")["games"] == 2
        before = Path(file).read_text()
        assert facts(*words, "--games", "6")["games"] == 6
        assert Path(file).read_text().startswith(before)
        assert facts(*words, "--games", "4")["games"] == 4
        assert len(Path(file).read_text().splitlines()) == 7
        other = ["match", "random", "material", "--max-plies", "10", "--out", file]
        assert_user_error(sylvan(*other), "another match", "give another file")

    def test_the_sequential_test_stops_a_match(self, tmp_path):
        words = ["match", "material:simulations=100", "random", "--games", "400"]
        found = facts(*words, "--sprt", "0", "100")
        assert found["sprt"]["verdict"] == "H1" and found["games"] < 100

    def test_openings(self, tmp_path):
        file = tmp_path / "book.epd"
        file.write_text("4k3/8/8/8/8/8/4P3/4K3 w - -\n")
        pgn = tmp_path / "games.pgn"
        words = ["--openings", str(file), "--games", "2", "--max-plies", "6", "--pgn", str(pgn)]
        facts("match", "random", "random", *words)
        assert '[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]' in pgn.read_text()

    def test_a_program(self):
        found = facts(
            "match", "random", f"uci:{fake('good')}; nodes=1", "-g", "2", "--max-plies", "12"
        )
        assert found["games"] == 2 and found["faults"]["disconnect"] == {"A": 0, "B": 0}

    def test_programs_that_die_are_counted(self):
        found = facts(
            "match", "random", f"uci:{fake('dies')}", "--nodes", "5", "-g", "4", "-c", "2"
        )
        assert found["faults"]["disconnect"] == {"A": 0, "B": 4}
        assert found["score"] == 1.0

    @pytest.mark.slow
    @pytest.mark.skipif(STOCKFISH is None, reason="stockfish is not installed")
    def test_stockfish(self):
        player = f"uci:{STOCKFISH}; Skill Level=0; nodes=2000"  # no clock to lose on
        found = facts("match", player, "random", "--games", "2", "--tc", "60+1", "-c", "2")
        assert (found["wins"], sum(sum(f.values()) for f in found["faults"].values())) == (2, 0)

    @pytest.mark.slow
    def test_an_interrupt_keeps_the_games(self, tmp_path):
        file = tmp_path / "match.jsonl"
        words = ["match", "random", f"uci:{fake('late')}; nodes=5", "--out", str(file)]
        program = [sys.executable, "-c", "from sylvan.cli import app; app()", *words]
        program += ["--max-plies", "2", "--games", "50"]
        running = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        while not file.exists() or file.read_text().count("\n") < 3:
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=20)
        assert running.returncode == 130
        games = file.read_text().count("\n") - 1
        assert f"{games}: 0 won, {games} drawn, 0 lost" in output

    def test_an_interrupt_while_a_game_is_stored(self, tmp_path, monkeypatch):
        file, calls, fsync = tmp_path / "match.jsonl", count(), os.fsync

        def interrupted(descriptor):
            fsync(descriptor)
            if next(calls) == 2:  # the header, a game, a game
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(os, "fsync", interrupted)
        done = sylvan("match", "random", "random", "--max-plies", "2", "--out", str(file))
        assert done.exit_code == 130
        assert file.read_text().count("\n") == 3
        assert "2: 0 won, 2 drawn, 0 lost" in done.stdout

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["random"], ["B"]),
            (["random", "stockfish"], ["stockfish", "uci:"]),
            (["random", "uci:no-such-program", "--nodes", "5"], ["no-such-program", "install"]),
            (["random", f"uci:{fake('good')}"], ["--tc", "--nodes"]),
            (["random", f"uci:{fake('crashes')}", "--nodes", "1"], ["code 3"]),
            (["random", f"uci:{fake('good')}; Skil=3", "--nodes", "1"], ["Skil", "Skill Level"]),
            (["random", "missing.onnx"], ["missing.onnx"]),
            (["random", "random", "--games", "0"], ["--games"]),
            (["random", "random", "--openings", "missing.pgn"], ["missing.pgn"]),
            (["random", "random", "--openings", "x.txt"], ["x.txt", ".epd"]),
            (["random", "random", "--out", "no/such/x.jsonl"], ["no/such"]),
            (["random", "random", "--pgn", "no/such/x.pgn"], ["no/such"]),
            (["random", "random", "--sprt", "5", "0"], ["elo0", "elo1"]),
            (["random", "random", "--tc", "soon"], ["soon", "60+0.6"]),
            (["random", "random", "--resign", "7"], ["resign"]),
            (["random", "random", "--seconds", "-1"], ["seconds"]),
        ],
    )
    def test_refused(self, words, said):
        assert_user_error(sylvan("match", *words), *said)


class TestLevels:
    def test_higher_levels_see_more(self):
        from sylvan.cli.play import _strength

        for is_network in (False, True):
            configs = [_strength(n, None, None, is_network=is_network) for n in range(1, 11)]
            counts = [config.simulations for config in configs]
            assert counts == sorted(counts) and counts[0] < counts[-1]
            temperatures = [config.temperature for config in configs]
            assert temperatures == sorted(temperatures, reverse=True)
            assert temperatures[-1] == 0
