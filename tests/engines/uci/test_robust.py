"""The engine survives any input, and ends with its GUI."""

import gzip
import importlib
import io
import os
import random
import signal
import subprocess
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import chess
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan.engines.lines import LONGEST, Output, lines_of
from sylvan.engines.uci.commands import read_go, read_option, read_position
from sylvan.engines.uci.engine import Engine
from sylvan.engines.uci.options import Options, announcements, changed, table
from sylvan.errors import ConfigError, ProtocolError, SylvanError
from sylvan.evaluators import MateFinder
from sylvan.games import Chess
from sylvan.players.strength import LADDER
from tests.engines.uci.gui import COMMAND, Gui

NETS = os.environ.get("SYLVAN_NETS")
TABLES = os.environ.get("SYLVAN_SYZYGY")

few = settings(suppress_health_check=list(HealthCheck))


def run_engine(*lines):
    """Return the answers of an engine in this process, which uses `material`."""
    stream = io.StringIO()
    engine = Engine(Output(stream))
    engine.hear("setoption name WeightsFile value material")
    for line in lines:
        engine.hear(line)
        engine.wait()
    engine.leave()
    return stream.getvalue().splitlines()


# --- invalid lines ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fly", "There is no command 'fly': the commands are uci, isready"),
        ("position", "position must be followed by 'startpos'"),
        ("position fen", "position must be followed by 'startpos'"),
        ("position fen 8/8/8/8 w - - 0 1", "its board must be 8 ranks"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "king is missing"),
        ("position startpos moves e2e5", "e2e5 is not legal in"),
        ("position startpos moves e2e4 e7e5 0000", "0000 is not legal in"),
        ("go nodes", "go nodes has no number"),
        ("go nodes many", "go nodes 'many': give a whole number"),
        ("go depth -3", "go depth -3: give a number from 0"),
        ("go nodes 99999999999999999999", "give a number from 0 to 9223372036854775807"),
        ("go searchmoves", "go searchmoves names no move"),
        ("go searchmoves e2e5", "is not legal in"),
        ("go perft 12", "takes hours: give a depth of at most 7"),
        ("setoption Hash 5", "setoption must be followed by 'name', a name"),
        ("setoption name Hsh value 5", "There is no option 'Hsh': did you mean Hash?"),
        ("setoption name qqqqq", "There is no option 'qqqqq': use one of WeightsFile"),
        ("setoption name Hash value x", "Hash is 'x': it must be a whole number from 4 to 65536"),
        ("setoption name Hash value 1", "Hash is 1: it must be from 4 to 65536"),
        ("setoption name Hash", "Hash is '': it must be a whole number"),
        ("setoption name Ponder value 1", "Ponder is '1': it must be true or false"),
        ("setoption name Backend value x", "Backend is 'x': it must be auto or onnx or torch"),
        ("setoption name CPuct value nan", "CPuct is 'nan': it must be a number from 0 to 100"),
        ("setoption name FPU value win", "from -1 to 1 or parent, reduction, zero, loss"),
    ],
)
def test_a_bad_line_is_answered_and_ignored(line, says):
    stream = io.StringIO()
    engine = Engine(Output(stream))
    engine.hear("position startpos moves e2e4")
    before = (engine.options, engine.game, engine.position)
    assert engine.hear(line)
    engine.wait()
    answer = stream.getvalue()
    assert answer.startswith("info string ") and answer.count("\n") == 1
    assert says in answer and answer.endswith("The line is ignored.\n")
    assert (engine.options, engine.game, engine.position) == before
    engine.leave()


def test_unknown_words_of_go_are_ignored():
    answers = run_engine("go nodes 10 quickly please")
    assert "info string go has no option 'quickly': it is ignored." in answers
    assert answers[-1].startswith("bestmove")


def test_words_may_be_separated_by_any_spaces():
    answers = run_engine("  position \t startpos   moves e2e4", "\tgo\t nodes  30 ")
    assert answers[-1].startswith("bestmove") and not any("string" in line for line in answers)


def test_chess960_may_be_switched_off_after_a_game():
    """The option is accepted even if the old position is illegal under the other rules."""
    engine = Engine(Output(io.StringIO()))
    engine.hear("setoption name UCI_Chess960 value true")
    engine.hear("position fen 4k3/8/8/8/8/8/8/RK6 w A - 0 1 moves b1a1")  # castles
    assert engine.game.moves == ["b1a1"]
    engine.hear("setoption name UCI_Chess960 value false")
    assert not engine.options.chess960 and engine.game == Chess()
    engine.leave()


def test_huge_limits_are_accepted():
    """Some GUIs send huge limits for a game without a clock."""
    huge = 2**62
    answers = run_engine(f"go nodes 30 wtime {huge} btime {huge} winc {huge} depth {huge}")
    assert answers[-1].startswith("bestmove") and " nodes 30 " in answers[-2]
    answers = run_engine(f"go nodes {huge} movetime 20", "go wtime -5000 btime -5000")
    assert sum(line.startswith("bestmove") for line in answers) == 2
    assert not any("string" in line for line in answers)


def test_a_second_go_is_refused_while_the_first_is_open():
    answers = run_engine("go infinite", "go nodes 5", "stop")
    assert any("A search is running" in line for line in answers)
    assert sum(line.startswith("bestmove") for line in answers) == 1


COMMANDS = ["uci", "isready", "setoption", "ucinewgame", "position", "go", "stop", "ponderhit"]
WORDS = st.one_of(
    st.sampled_from([*COMMANDS, "name", "value", "startpos", "fen", "moves", "nodes", "e2e4"]),
    st.sampled_from([option.name for _, option, _ in table()]),
    st.sampled_from(["searchmoves", "depth", "mate", "wtime", "movetime", "infinite", "ponder"]),
    st.sampled_from(["0", "1", "-1", "true", "1e9", "", "\t", "<empty>", "8/8/8/8/8/8/8/8", "w"]),
    st.text(max_size=8),
)


@few
@given(st.sampled_from(["go", "position", "setoption"]), st.lists(WORDS, max_size=8))
def test_commands_are_read_or_refused(command, words):
    """The parsers raise only `ProtocolError` and `ConfigError`."""
    with suppress(ProtocolError, ConfigError):
        if command == "go":
            read_go(words)
        elif command == "position":
            read_position(words)
        else:
            changed(Options(), *read_option(" ".join(words)))


def test_every_option_takes_its_default_and_its_ends():
    for own, option, default in table():
        shown = str(default).lower() if isinstance(default, bool) else str(default) or "<empty>"
        assert getattr(changed(Options(), option.name.upper(), shown), own) == default
        assert f"option name {option.name} type {option.kind} default {shown}" in " | ".join(
            announcements()
        )
        if option.kind == "spin":
            for text in (option.least, option.most):
                assert getattr(changed(Options(), option.name, str(text)), own) == text
            with pytest.raises(ConfigError, match="from"):
                changed(Options(), option.name, str(option.most + 1))


def test_the_page_lists_every_option_and_strength_level():
    page = (Path(__file__).parents[3] / "docs" / "uci.md").read_text()
    for _, option, default in table():
        shown = str(default).lower() if isinstance(default, bool) else str(default) or "<empty>"
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{option.name}` |")]
        assert f"| `{shown}` |" in row and option.meaning in row
        if option.kind == "spin":
            assert f"| {option.least} to {option.most} |" in row
    for rung in LADDER:
        assert f"| {rung.elo} | {rung.simulations:,} | {rung.temperature:g} |" in page


def test_long_lines_are_cut_and_nulls_become_spaces():
    stream = io.BytesIO(b"go\0nodes 5\n" + b"x" * (3 * LONGEST) + b"\nisready\nlast")
    lines = list(lines_of(stream))
    assert [line[:10] for line in lines] == ["go nodes 5", "x" * 10, "isready\n", "last"]


def garbage(rng):
    """Return a line of random bytes, or of UCI words in random order."""
    if rng.random() < 0.5:
        return bytes(rng.choices(range(256), k=rng.randrange(80))).replace(b"\n", b" ")
    words = [*COMMANDS[2:], "fen", "startpos", "moves", "e2e4", "e7e5", "nodes", "10", "movetime"]
    words += ["5", "depth", "2", "infinite", "name", "MultiPV", "value", "Hash", "-7", "ponder"]
    line = " ".join(rng.choices(words, k=rng.randrange(1, 9)))
    return line.replace("quit", "").encode()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_garbage_for_a_while(seed):
    rng = random.Random(seed)
    with Gui() as gui:
        end = time.perf_counter() + 2.0
        while time.perf_counter() < end:
            lines = [garbage(rng) for _ in range(40)]
            gui.send(*(line for line in lines if line.split()[:1] != [b"quit"]))
            gui.send("stop")
            gui.ask("isready", answer="readyok")
        gui.send("stop", "ucinewgame", "setoption name MultiPV value 1")
        gui.ask("isready", answer="readyok")
        assert gui.ask("position startpos", "go nodes 50").startswith("bestmove ")
        assert gui.process.poll() is None and not gui.errors


# --- response times -------------------------------------------------------------------------


@pytest.mark.alone
def test_isready_and_stop_work_during_a_search():
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        gui.send("position startpos", "go infinite")
        waits = []
        for _ in range(20):
            began = time.perf_counter()
            gui.ask("isready", answer="readyok")
            waits.append(time.perf_counter() - began)
            time.sleep(0.01)
        assert sorted(waits)[10] < 0.05  # the median: this machine may have other work
        began = time.perf_counter()
        gui.ask("stop")
        assert time.perf_counter() - began < 1.0


def test_options_can_be_set_during_a_search():
    with Gui() as gui:
        gui.send("position startpos", "go infinite", "setoption name MultiPV value 3")
        gui.ask("isready", answer="readyok")
        gui.ask("stop")
        gui.heard.clear()
        gui.ask("go nodes 500")
        assert any(" multipv 3 " in line for line in gui.heard)


# --- the end --------------------------------------------------------------------------------


def test_the_engine_ends_with_its_gui():
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        gui.send("position startpos", "go infinite")
        time.sleep(0.2)
        gui.process.stdin.close()
        assert gui.process.wait(timeout=5) == 0
        assert gui.until("bestmove")


def test_quit_ends_a_search():
    with Gui() as gui:
        gui.send("position startpos", "go infinite", "quit")
        assert gui.process.wait(timeout=10) == 0 and not gui.errors


def test_a_gui_that_closes_its_input():
    """The engine ends without a traceback if the pipe is closed."""
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    process.stdin.write(b"uci\nposition startpos\ngo nodes 100\nisready\n")
    process.stdin.close()
    assert process.wait(timeout=20) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_ctrl_c_ends_it_at_once():
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        gui.send("go infinite")
        gui.process.send_signal(signal.SIGINT)
        assert gui.process.wait(timeout=10) == -signal.SIGINT and not gui.errors


def test_ctrl_c_stays_ignored_if_the_parent_ignores_it():
    """As with nohup: a shell that ignores SIGINT for background jobs is respected."""
    with Gui(["sh", "-c", 'trap "" INT; exec "$@"', "sh", *COMMAND]) as gui:
        gui.ask("isready", answer="readyok")
        gui.process.send_signal(signal.SIGINT)
        gui.ask("isready", answer="readyok")


# --- weights --------------------------------------------------------------------------------


def test_invalid_weights_keep_the_evaluator(tmp_path):
    files = {
        "empty.pb.gz": b"",
        "noise.pb.gz": random.Random(3).randbytes(2000),
        "noise.pb": random.Random(4).randbytes(2000),
        "noise.onnx": random.Random(5).randbytes(2000),
        "zipped.pb.gz": gzip.compress(gzip.compress(b"nothing")),
        "wrong.txt": b"hello",
    }
    with Gui() as gui:
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
            gui.heard.clear()
            gui.ask(
                f"setoption name WeightsFile value {tmp_path / name}", "isready", answer="ready"
            )
            sent = [line for line in gui.heard if line.startswith("info string")]
            assert len(sent) == 1 and sent[0].endswith("The engine keeps material."), sent
            assert gui.ask("position startpos", "go nodes 20").startswith("bestmove")
        missing = tmp_path / "no such file.pb.gz"
        gui.ask(f"setoption name WeightsFile value {missing}", "isready", answer="readyok")
        assert f"There is no file {missing}" in gui.heard[-2]
        assert not gui.errors


@pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not say where networks are")
def test_a_network_stays_if_the_next_is_invalid(tmp_path):
    good, bad = Path(NETS) / "maia-1100.pb.gz", tmp_path / "cut.pb.gz"
    bad.write_bytes(good.read_bytes()[:20000])
    with Gui() as gui:
        gui.ask(f"setoption name WeightsFile value {good}", "isready", answer="readyok")
        assert gui.heard[-2] == "info string The evaluator is maia-1100.pb.gz."
        gui.ask("position startpos", "go nodes 100")
        assert gui.heard[-1].split()[1] in {"e2e4", "d2d4"}  # as people below 1200 play
        gui.ask(f"setoption name WeightsFile value {bad}", "isready", answer="readyok")
        assert gui.heard[-2].endswith("The engine keeps maia-1100.pb.gz.")
        gui.ask("position startpos moves e2e4", "go movetime 200")
        assert gui.ask("setoption name WeightsFile value material", "isready", answer="readyok")
        assert gui.heard[-2] == "info string The evaluator is material."


def test_repaired_weights_are_loaded(tmp_path):
    """The same path is loaded once its file exists; the error is reported only once."""
    if NETS is None:
        pytest.skip("SYLVAN_NETS does not say where networks are")
    path = tmp_path / "net.pb.gz"
    with Gui() as gui:
        gui.ask(f"setoption name WeightsFile value {path}", "isready", answer="readyok")
        gui.ask("isready", "position startpos", "go nodes 5")
        assert sum("There is no file" in line for line in gui.heard) == 1
        path.write_bytes((Path(NETS) / "maia-1100.pb.gz").read_bytes())
        gui.ask(f"setoption name WeightsFile value {path}", "isready", answer="readyok")
        assert gui.heard[-2] == "info string The evaluator is net.pb.gz."


@pytest.mark.slow
@pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not say where networks are")
def test_pytorch_as_the_backend(tmp_path):
    pytest.importorskip("torch")
    noise = tmp_path / "noise.safetensors"
    noise.write_bytes(random.Random(6).randbytes(2000))
    with Gui() as gui:
        weights = f"setoption name WeightsFile value {Path(NETS) / 'maia-1100.pb.gz'}"
        gui.ask(
            "setoption name Backend value torch", weights, "isready", answer="readyok", seconds=60
        )
        assert gui.heard[-2] == "info string The evaluator is maia-1100.pb.gz."
        assert gui.ask("go nodes 30", seconds=60).split()[1] in {"e2e4", "d2d4"}
        gui.ask(f"setoption name WeightsFile value {noise}", "isready", answer="readyok")
        assert gui.heard[-2].endswith("The engine keeps maia-1100.pb.gz.")


@pytest.mark.skipif(not TABLES, reason="SYLVAN_SYZYGY does not say where endgame tables are")
def test_endgame_tables(tmp_path):
    with Gui() as gui:
        gui.ask(f"setoption name SyzygyPath value {tmp_path}", answer="info string")
        assert "cannot be opened" in gui.heard[-1]  # an empty folder
        gui.send(f"setoption name SyzygyPath value {TABLES}")
        board = chess.Board("8/8/8/8/3k4/1p6/8/K1Q4R w - - 0 1")
        gui.ask(f"position fen {board.fen()}", "go nodes 3000")
        report = gui.heard[-2].split()
        assert int(report[report.index("tbhits") + 1]) > 0
        board = chess.Board("8/8/8/3k4/8/8/8/KQ6 w - - 0 1")
        while not board.is_game_over():
            moves = " ".join(move.uci() for move in board.move_stack)
            sent = f"position fen 8/8/8/3k4/8/8/8/KQ6 w - - 0 1 moves {moves}"
            board.push_uci(gui.ask(sent, "go nodes 300").split()[1])
        assert board.is_checkmate() and len(board.move_stack) < 50


def test_an_evaluator_that_fails_does_not_lose_the_game():
    stream = io.StringIO()
    engine = Engine(Output(stream))

    def broken(leaves):
        raise ValueError("the card was pulled out")

    engine.hear("setoption name WeightsFile value material")
    engine.thinker.evaluator = broken
    engine.hear("position startpos moves e2e4 e7e5")
    for line in ("go nodes 50", "go nodes 50"):  # and again: the evaluator may recover
        engine.hear(line)
        engine.wait()
    engine.leave()
    lines = stream.getvalue().splitlines()
    assert sum("the card was pulled out This move is made by material" in x for x in lines) == 2
    assert sum(line.startswith("bestmove ") for line in lines) == 2
    assert engine.thinker.evaluator is broken


def test_it_plays_with_the_shipped_network():
    """Weak levels play without the search for mates."""
    stream = io.StringIO()
    engine = Engine(Output(stream))
    limited = "setoption name UCI_LimitStrength value "
    finders = []
    for line in ("go nodes 20", limited + "true", "go nodes 20", limited + "false", "go nodes 20"):
        engine.hear(line)
        engine.wait()
        finders.append(isinstance(engine.thinker.evaluator, MateFinder))
    engine.leave()
    said = [line for line in stream.getvalue().splitlines() if "evaluator is" in line]
    assert said == ["info string The evaluator is chess network."] * 3
    assert [finders[0], finders[2], finders[4]] == [True, False, True]


def test_the_program_is_installed_under_its_name():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    module, _, function = project["project"]["scripts"]["sylvan-uci"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_errors_are_sylvans():
    assert issubclass(ProtocolError, SylvanError) and ProtocolError("x", "id").field == "id"


@pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not say where networks are")
def test_a_new_game_clears_the_networks_cache():
    """A new game clears cached evaluations of other move orders."""
    net = Path(NETS) / "maia-1100.pb.gz"

    def searched(gui, moves):
        gui.heard.clear()
        gui.ask(f"position startpos moves {moves}", "go nodes 100")
        return [line for line in gui.heard if line.startswith("info string")]

    with Gui() as gui:
        gui.ask(f"setoption name WeightsFile value {net}", "isready", answer="readyok")
        gui.send("setoption name VerboseMoveStats value true")
        first = searched(gui, "g1f3 g8f6 b1c3")
        gui.send("ucinewgame")
        other = searched(gui, "b1c3 g8f6 g1f3")
        gui.send("ucinewgame")
        again = searched(gui, "g1f3 g8f6 b1c3")
    assert len(first) > 20 and first == again and first != other
