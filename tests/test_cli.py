"""The `sylvan` command: output and errors."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import chess
import pytest
from typer.testing import CliRunner, Result

from sylvan.cli import app
from sylvan.cli.positions import read_position
from sylvan.cli.terminal import Bar
from sylvan.games import Chess

ROOT = Path(__file__).parents[1]
SHUFFLED = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"
COMMANDS = ["analyze", "bench", "convert", "doctor", "match", "perft", "play", "solve"]


def sylvan(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def facts(*words: str) -> dict:
    """The JSON output of a command, parsed strictly."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    done = sylvan(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout, parse_constant=refuse)


def assert_user_error(done: Result, *words: str) -> None:
    """Exit code 2, empty stdout, one line on stderr that contains these words."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_version():
    done = sylvan("--version")
    assert (done.exit_code, done.stdout) == (0, f"sylvan {metadata.version('sylvan')}\n")


def test_version_imports_no_slow_module():
    code = "import sys, sylvan.cli; print([m for m in ('rich', 'chess') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert loaded.stdout == "[]\n", loaded.stdout + loaded.stderr


def test_no_command_shows_the_help():
    done = sylvan()
    assert done.exit_code == 0
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    done = sylvan(command, "--help")
    assert done.exit_code == 0
    assert command == "doctor" or f"sylvan {command} " in done.stdout.partition("Examples:")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anlyze"], ["anlyze", "'analyze'"]),
        (["--no-such-option"], ["--no-such-option"]),
        (["perft", "startpos"], ["depth"]),
        (["perft", "startpos", "three"], ["depth"]),
        (["perft", "startpos", "-1"], ["-1 is read as an option: give a number of at least 0"]),
        (["perft", "startpos", "9" * 20], [f"depth is {'9' * 20}: give 0 to 256 plies"]),
        (["perft", SHUFFLED, "2"], ["Chess960"]),
        (["analyze", "--game", "blob"], ["Chance moves", "2♠ 3♠"]),
        (["play", "blob", "--rule", "players=99"], ["players is 99: it must be 3 to 8"]),
    ],
)
def test_unknown_commands_and_options(words, said):
    assert_user_error(sylvan(*words), *said)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_terminals_without_unicode_get_what_they_can_show(encoding):
    words = ["analyze", "--simulations", "20", "--evaluator", "material"]
    done = subprocess.run(
        [sys.executable, "-c", "from sylvan.cli import app; app()", *words],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert b"20 simulations with material" in done.stdout and b"?" in done.stdout


def test_bytes_that_are_not_text_are_refused():
    assert_user_error(sylvan("analyze", "\udcff"), "bytes that are not UTF-8 text")


def test_internal_errors_keep_their_traceback(monkeypatch):
    def broken():
        raise ZeroDivisionError

    monkeypatch.setattr("sylvan.cli.diagnosis.examine", broken)
    done = sylvan("doctor")
    assert isinstance(done.exception, ZeroDivisionError)


class TestDoctor:
    def test_names_every_extra_of_the_package(self):
        report = facts("doctor")
        assert set(report["extras"]) == set(
            metadata.metadata("sylvan").get_all("Provides-Extra") or []
        )
        assert report["extras"]["dev"]["packages"]["pytest"] == pytest.__version__
        assert report["extras"]["openspiel"]["works"]
        assert report["native_works"]
        assert report["cores"] >= 1

    @pytest.mark.parametrize("preset", ["auto", "cpu"])
    def test_a_command_names_the_extra_that_it_needs(self, preset, tmp_path):
        """In a new process, because torch may be imported already."""
        code = "import sys; sys.modules['torch'] = None; from sylvan.cli import app; app()"
        words = ["train", "tictactoe", "--preset", preset, "--run", str(tmp_path / "run")]
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "pip install 'sylvan[train]' (in a clone: pip install -e '.[train]')" in done.stderr
        assert not (tmp_path / "run").exists()

    def test_an_extra_includes_what_it_refers_to(self):
        extras = facts("doctor")["extras"]
        assert extras["openspiel"]["packages"].items() <= extras["dev"]["packages"].items()

    def test_shows_how_to_install_a_missing_extra(self, monkeypatch):
        import sylvan.cli.diagnosis as module

        real = module.version
        monkeypatch.setattr(
            module, "version", lambda name: None if name == "open-spiel" else real(name)
        )
        assert facts("doctor")["extras"]["openspiel"]["works"] is False
        shown = " ".join(sylvan("doctor").stdout.split())
        assert "extra openspiel not installed: pip install 'sylvan[openspiel]'" in shown

    def test_an_extra_that_does_not_load_does_not_work(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyspiel", None)
        assert facts("doctor")["extras"]["openspiel"]["works"] is False
        assert "does not load" in sylvan("doctor").stdout

    def test_extras_inside_extras(self, monkeypatch):
        import sylvan.cli.diagnosis as module

        lines = [
            'ruff>=1; extra == "dev"',
            'sylvan[train]; extra == "dev"',
            'matplotlib>=3; extra == "train"',
            'sylvan[torch]; extra == "train"',
            'torch>=2; extra == "torch"',
        ]
        monkeypatch.setattr(module, "_requirements", lambda: lines)
        extras = module._extras()
        assert list(extras["dev"]["packages"]) == ["torch", "matplotlib", "ruff"]
        assert list(extras["train"]["packages"]) == ["torch", "matplotlib"]

    def test_every_extra_with_compiled_code_is_probed(self):
        from sylvan.cli.diagnosis import _PROBES

        unprobed = {"dev", "docs", "mlflow", "wandb"}  # the clients take seconds to import
        assert set(_PROBES) == set(facts("doctor")["extras"]) - unprobed

    def test_a_broken_native_module_is_reported(self, monkeypatch):
        monkeypatch.setattr(
            "sylvan.cli.diagnosis._native", lambda: (False, "does not load: no such file")
        )
        done = sylvan("doctor")
        assert done.exit_code == 1
        assert "does not load: no such file" in " ".join(done.stdout.split())


MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"


def demo_fen() -> str:
    """The position that `make demo` searches."""
    (fen,) = re.findall(r"^DEMO_FEN := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return fen


def mates(board: chess.Board, move: chess.Move, within: int) -> bool:
    """Whether `move` forces mate in at most `within` moves, including itself."""
    board.push(move)
    try:
        if within == 1 or board.is_game_over():
            return board.is_checkmate()
        return all(is_mated(board, reply, within - 1) for reply in list(board.legal_moves))
    finally:
        board.pop()


def is_mated(board: chess.Board, reply: chess.Move, within: int) -> bool:
    board.push(reply)
    try:
        return any(mates(board, move, within) for move in list(board.legal_moves))
    finally:
        board.pop()


class TestAnalyze:
    def test_demo_finds_the_mate(self):
        found = facts("analyze", demo_fen(), "--evaluator", "material")
        assert (found["best"], found["value"], found["stopped_by"]) == ("Qd8+", 1.0, "proven")
        board = chess.Board(demo_fen())
        for move in found["pv"]:
            board.push_san(move)
        assert board.is_checkmate()

    def test_demo_has_one_answer(self):
        """By brute force: one move mates within three, and no move is faster."""
        board = chess.Board(demo_fen())
        moves = [board.san(move) for move in board.legal_moves if mates(board, move, 3)]
        assert moves == ["Qd8+"]
        assert not mates(board, board.parse_san("Qd8+"), 2)

    def test_prints_board_moves_line_speed_and_end(self, tmp_path):
        picture = tmp_path / "tree.svg"
        done = sylvan("analyze", demo_fen(), "--evaluator", "material", "--tree", str(picture))
        assert done.exit_code == 0, done.stderr
        for part in ["8  r n b . k b . r", "White to move", "N", "Q", "P", "/s)", "proven"]:
            assert part in done.stdout
        assert "Principal variation: Qd8+ Kxd8 Bg5+" in done.stdout
        assert f"saved in {picture}" in done.stdout.replace("\n", "")
        assert picture.read_text().lstrip().startswith("<svg")

    @pytest.mark.parametrize(
        ("words", "fen"),
        [
            ([], chess.STARTING_FEN),
            (["e4", "c7c5"], "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"),
            (["1. e4 c5"], "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"),
            ([MATE_IN_ONE], MATE_IN_ONE),
            (MATE_IN_ONE.split(), MATE_IN_ONE),
            ([MATE_IN_ONE, "h3", "h6"], "6k1/5pp1/7p/8/8/7P/5PP1/R5K1 w - - 0 2"),
            ([*MATE_IN_ONE.split(), "h3"], "6k1/5ppp/8/8/8/7P/5PP1/R5K1 b - - 0 1"),
        ],
    )
    def test_reads_positions(self, words, fen):
        game = read_position("chess", words)
        assert isinstance(game, Chess)
        assert game.fen() == fen

    def test_the_root_may_have_been_drawn_by_claim(self):
        """Moves may continue after a threefold repetition."""
        there_and_back = ["Nf3", "Nf6", "Ng1", "Ng8"] * 2
        assert facts("analyze", *there_and_back, "e4", "-n", "10")["simulations"] == 10

    def test_other_games(self):
        assert facts("analyze", "--game", "tictactoe", "031", "4")["best"] == "2"
        column = facts("analyze", "--game", "connect4", "112233")
        assert (column["best"], column["stopped_by"]) == ("4", "proven")

    def test_chess960(self):
        found = facts("analyze", "--chess960", SHUFFLED, "g3", "-n", "100")
        board = chess.Board(SHUFFLED, chess960=True)
        board.push_san("g3")
        assert found["fen"] == Chess(board.fen(), chess960=True).fen()
        assert found["best"] in {board.san(move) for move in board.legal_moves}

    def test_top_bounds_the_list(self):
        assert len(facts("analyze", "-k", "3", "-n", "100")["moves"]) == 3

    def test_limits(self):
        assert facts("analyze", "-n", "0")["simulations"] == 0
        assert facts("analyze", "-t", "0.05")["stopped_by"] == "seconds"
        assert facts("analyze", "--set", "nodes=500")["stopped_by"] == "nodes"

    def test_memory_is_a_budget(self):
        assert (
            facts("analyze", "--evaluator", "material", "-n", "50000", "--memory", "1MB")["bytes"]
            <= 1_000_000
        )

    def test_seeds_and_threads(self):
        def moves(*words):
            return facts("analyze", "-n", "300", "--evaluator", "rollout", *words)["moves"]

        assert moves("--seed", "1") == moves("--seed", "1", "--threads", "2")
        assert moves("--seed", "1") != moves("--seed", "2")

    def test_settings_reach_the_search(self):
        words = ("analyze", "-n", "500", "--evaluator", "material", "--set")
        narrow, wide = facts(*words, "c_puct=0.1"), facts(*words, "pb_c_init=8")
        assert narrow["moves"][0]["N"] > wide["moves"][0]["N"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["e5"], ["e5", "e3, e4"]),
            (["8/8/8/8/8/8/8/8 w - - 0 1"], ["king"]),
            (["7k/5KQ1/8/8/8/8/8/8 b - - 0 1"], ["finished"]),
            ([SHUFFLED], ["Chess960"]),
            (["--game", "connect4", "--chess960"], ["--chess960 is for chess, not connect4"]),
            (["--pgn", "x.pgn", "--chess960"], ["omit --chess960"]),
            (["--game", "chss"], ["chss", "chess"]),
            (["--game", "connect4", "9"], ["9"]),
            (["--game", "connect4", "--evaluator", "material"], ["material"]),
            (["--game", "tictactoe", "44"], ["4"]),
            (["--evaluator", "magic"], ["magic", "rollout"]),
            (["--simulations", "-1"], ["--simulations"]),
            (["--seconds", "soon"], ["--seconds"]),
            (["--memory", "much"], ["much", "500MB"]),
            (["--set", "c_put=2"], ["c_put", "c_puct"]),
            (["--set", "c_puct"], ["c_puct", "name=value"]),
            (["--set", "c_puct=-1"], ["c_puct", "-1"]),
            (["--seed", "1", "--set", "seed=2"], ["seed", "twice"]),
            (["--top", "0"], ["--top"]),
            (["--tree", "tree.png"], ["tree.png", ".svg"]),
            (["--tree", "no/such/folder/tree.svg"], ["no/such/folder"]),
        ],
    )
    def test_user_errors(self, words, said):
        assert_user_error(sylvan("analyze", *words), *said)

    @pytest.mark.slow
    def test_interrupt_shows_what_was_found(self):
        words = [sys.executable, "-c", "from sylvan.cli import app; app()", "analyze", "-t", "60"]
        for seconds in (3, 10, 30):  # on a busy machine the search may not have begun
            running = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            time.sleep(seconds)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
            assert running.returncode == 130, err
            if out:
                break
        assert "Principal variation:" in out


class TestBench:
    @pytest.mark.slow
    def test_the_signature_does_not_depend_on_threads(self):
        one, two = facts("bench"), facts("bench", "--threads", "2")
        assert one["signature"] == two["signature"]
        assert one["simulations"] == two["simulations"] > 0
        assert one["speed"] > 0


class TestPerft:
    @pytest.mark.parametrize(
        ("position", "depth", "nodes"),
        [
            ("startpos", 0, 1),
            ("startpos", 4, 197_281),
            (MATE_IN_ONE, 1, 20),
            ("7k/5KQ1/8/8/8/8/8/8 b - - 0 1", 1, 0),
        ],
    )
    def test_counts(self, position, depth, nodes):
        found = facts("perft", position, str(depth))
        assert found["nodes"] == nodes
        assert depth == 0 or sum(found["moves"].values()) == nodes

    def test_agrees_with_python_chess(self):
        board = chess.Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
        found = facts("perft", board.fen(), "2")["moves"]
        for move in board.legal_moves:
            board.push(move)
            assert found[move.uci()] == board.legal_moves.count()
            board.pop()

    def test_chess960(self):
        board = chess.Board(SHUFFLED, chess960=True)
        found = facts("perft", "--chess960", SHUFFLED, "1")["moves"]
        assert set(found) == {move.uci() for move in board.legal_moves}
        assert facts("perft", "--chess960", SHUFFLED, "2")["nodes"] == 528  # the published count

    def test_prints_the_total(self):
        assert re.search(r"total\s+8,902\s", sylvan("perft", "startpos", "3").stdout)


class TestSolve:
    @pytest.mark.slow
    def test_knows_the_score(self):
        found = facts("solve", "connect4", "44444432222")
        assert (found["score"], found["outcome"], found["best"]) == (0, 0, [1])
        assert found["scores"] == [-1, 0, -1, None, -1, -1, -1]
        small = sylvan("solve", "connect4", "--columns", "4", "--rows", "4")
        assert "draws" in small.stdout

    def test_other_boards(self):
        assert facts("solve", "connect4", "--columns", "4", "--rows", "4")["outcome"] == 0

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["chess"], ["chess", "connect4"]),
            (["connect4", "8"], ["8"]),
            (["connect4", "4444444"], ["column 4 is full"]),
            (["connect4", "--columns", "60"], ["60"]),
            (["connect4", "--seconds", "0.01"], ["time ran out"]),
        ],
    )
    def test_user_errors(self, words, said):
        assert_user_error(sylvan("solve", *words), *said)


class TestBar:
    """Progress is shown on a terminal, after two seconds."""

    def shown(self, monkeypatch, terminal: bool, seconds: float) -> str:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("sylvan.cli.terminal.BAR_DELAY", 0.2)
        monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
        with Bar("counting") as bar:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                bar.show(1, 2)
                time.sleep(0.02)
        return stream.getvalue()

    @pytest.mark.slow
    def test_appears_when_it_takes_long(self, monkeypatch):
        assert "counting" in self.shown(monkeypatch, terminal=True, seconds=1.5)

    def test_is_silent_when_it_does_not(self, monkeypatch):
        assert self.shown(monkeypatch, terminal=True, seconds=0.0) == ""

    def test_is_silent_without_a_terminal(self, monkeypatch):
        assert self.shown(monkeypatch, terminal=False, seconds=0.6) == ""
