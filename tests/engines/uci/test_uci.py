"""The engine with a real client: python-chess's engine module."""

import random
import time

import chess
import chess.engine
import pytest
from chess.engine import Limit, Mate, SimpleEngine

from sylvan.players.strength import LADDER, STRONGEST
from tests.engines.uci.gui import COMMAND, Gui

MATE_IN_TWO = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"


@pytest.fixture(scope="module")
def engine():
    with SimpleEngine.popen_uci(COMMAND, timeout=30) as client:
        yield client


def test_it_identifies_itself(engine):
    assert engine.id["name"].startswith("Sylvan ")
    named = {"Threads", "Hash", "WeightsFile", "Backend", "MultiPV", "Ponder", "UCI_Chess960"}
    named |= {"UCI_ShowWDL", "UCI_LimitStrength", "UCI_Elo", "SyzygyPath", "MoveOverhead", "CPuct"}
    named |= {"FPU", "Temperature", "BatchSize", "VerboseMoveStats"}
    assert set(engine.options) == named
    for option in engine.options.values():
        if option.type == "spin":
            assert option.min <= option.default <= option.max
        if option.type == "combo":
            assert option.default in option.var


def test_analysis_reports_everything(engine):
    board = chess.Board()
    board.push_uci("e2e4")
    found = engine.analyse(board, Limit(nodes=3000), options={"UCI_ShowWDL": True})
    assert found["nodes"] == 3000 and found["depth"] >= 2 <= found["seldepth"]
    assert found["time"] > 0 and found["nps"] > 0 and found["tbhits"] == 0
    assert 0 <= found["hashfull"] <= 1000
    assert -200 < found["score"].pov(chess.BLACK).score() < 100
    assert found["wdl"].relative.total() == 1000
    for move in found["pv"]:
        assert move in board.legal_moves
        board.push(move)


def test_several_lines(engine):
    board = chess.Board()
    lines = engine.analyse(board, Limit(nodes=2000), multipv=4)
    assert [line["multipv"] for line in lines] == [1, 2, 3, 4]
    assert len({line["pv"][0] for line in lines}) == 4
    few = engine.analyse(chess.Board("k7/8/8/8/8/8/1q6/K7 w - - 0 1"), Limit(nodes=50), multipv=4)
    assert len(few) == 1 and few[0]["pv"] == [chess.Move.from_uci("a1b2")]


def test_only_some_moves(engine):
    board = chess.Board()
    some = [chess.Move.from_uci(move) for move in ("a2a3", "h2h4")]
    lines = engine.analyse(board, Limit(nodes=500), root_moves=some, multipv=3)
    assert {line["pv"][0] for line in lines} == set(some)
    assert engine.play(board, Limit(nodes=100), root_moves=some[:1]).move == some[0]
    assert engine.play(board, Limit(nodes=100)).move not in some  # all moves again


def test_a_mate_is_announced_and_played(engine):
    board = chess.Board(MATE_IN_TWO)
    found = engine.analyse(board, Limit(mate=2))
    assert found["score"].relative == Mate(2) and len(found["pv"]) == 3
    while not board.is_game_over():
        board.push(engine.play(board, Limit(nodes=5000)).move)
    assert board.is_checkmate() and len(board.move_stack) == 3


def test_the_defence_that_lasts_longest(engine):
    """Some moves allow mate immediately, others a move later."""
    board = chess.Board("6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1")
    found = engine.analyse(board, Limit(nodes=500))
    assert found["score"].relative > Mate(-1)


def test_an_analysis_runs_until_it_is_stopped(engine):
    began = time.perf_counter()
    with engine.analysis(chess.Board()) as analysis:
        for info in analysis:
            if info.get("nodes", 0) > 5000 and time.perf_counter() - began > 0.3:
                break
    assert analysis.wait().move in chess.Board().legal_moves


def test_a_proven_position_waits_for_stop():
    with Gui() as gui:
        gui.send(f"position fen {MATE_IN_TWO}", "go infinite")
        while " score mate 2 " not in gui.until("info"):
            pass
        with pytest.raises(AssertionError, match="'bestmove'"):
            gui.until("bestmove", seconds=0.3)
        assert gui.ask("stop").startswith("bestmove a1a6 ponder ")


def test_pondering_on_the_right_move(engine):
    board = chess.Board()
    for _ in range(3):
        result = engine.play(board, Limit(white_clock=5, black_clock=5), ponder=True)
        board.push(result.move)
        assert result.ponder in board.legal_moves
        board.push(result.ponder)  # the opponent plays what was expected: a ponderhit
    board.push(engine.play(board, Limit(nodes=50)).move)


def test_pondering_on_the_wrong_move(engine):
    board, rng = chess.Board(), random.Random(7)
    for _ in range(3):
        result = engine.play(board, Limit(white_clock=5, black_clock=5), ponder=True)
        board.push(result.move)
        others = [move for move in board.legal_moves if move != result.ponder]
        board.push(rng.choice(others))
    assert engine.play(board, Limit(nodes=50)).move in board.legal_moves


@pytest.mark.alone
def test_a_ponderhit_starts_the_clock():
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        gui.send("position startpos moves e2e4", "go ponder wtime 3000 btime 3000")
        time.sleep(0.3)
        began = time.perf_counter()
        gui.ask("ponderhit", seconds=2)
        assert time.perf_counter() - began < 0.5  # a fortieth of three seconds, or three of them
        gui.send("position startpos moves e2e4", "go ponder movetime 100000")
        time.sleep(0.2)
        began = time.perf_counter()
        gui.ask("stop")
        assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize("number", [0, 518, 700, 959])
def test_chess960(engine, number):
    board = chess.Board.from_chess960_pos(number)
    for _ in range(30):
        board.push(engine.play(board, Limit(nodes=30)).move)
        if board.is_game_over():
            break


def test_castling_in_chess960_is_the_king_taking_its_rook():
    fen = "4k3/8/8/8/8/8/8/RK6 w A - 0 1"
    with Gui() as gui:
        gui.send("setoption name UCI_Chess960 value true", f"position fen {fen}")
        assert gui.ask("go nodes 50 searchmoves b1a1").startswith("bestmove b1a1")


def test_limited_strength(engine):
    board = chess.Board()
    weak = {"UCI_LimitStrength": True, "UCI_Elo": 800}
    moves = {engine.play(board, Limit(time=5), options=weak).move for _ in range(12)}
    assert len(moves) > 1  # it varies, and does not use its five seconds
    found = engine.analyse(board, Limit(time=5), options={**weak, "UCI_Elo": STRONGEST})
    assert found["nodes"] == LADDER[-1].simulations


def test_a_finished_game():
    with Gui() as gui:
        mate = "position fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1"
        assert gui.ask(mate, "go wtime 1000 btime 1000") == "bestmove (none)"
        stalemate = "position fen 7k/5K2/6Q1/8/8/8/8/8 b - - 0 1"
        assert gui.ask(stalemate, "go nodes 10") == "bestmove (none)"
        # Two kings: the game is drawn, but a GUI may ask for a move.
        kings = "position fen 4k3/8/8/8/8/8/8/4K3 w - - 0 1"
        assert gui.ask(kings, "go movetime 100")[:12] in {"bestmove e1d", "bestmove e1e"}


def test_a_claimable_draw_is_searched():
    shuffle = "g1f3 g8f6 f3g1 f6g8 " * 3
    with Gui() as gui:
        answer = gui.ask(f"position startpos moves {shuffle}", "go nodes 200")
        assert chess.Move.from_uci(answer.split()[1]) in chess.Board().legal_moves
        gui.ask(f"position startpos moves {shuffle} g1f3 g8f6", "go nodes 200")


def test_the_tree_is_kept_from_move_to_move():
    with Gui() as gui:
        first = gui.ask("position startpos", "go nodes 30000").split()
        line = [first[1], first[3]]
        gui.ask(f"position startpos moves {' '.join(line)}", "go nodes 1")
        kept = gui.heard[-2].split()
        assert kept[kept.index("nodes") + 1] == "1"
        assert int(kept[kept.index("depth") + 1]) > 3  # one simulation alone has depth 1
        gui.ask("ucinewgame", f"position startpos moves {' '.join(line)}", "go nodes 1")
        fresh = gui.heard[-2].split()
        assert int(fresh[fresh.index("depth") + 1]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("side", ["w", "b"])
@pytest.mark.alone
def test_only_the_own_clock_counts(side):
    other = "b" if side == "w" else "w"
    moves = "" if side == "w" else " moves e2e4"
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        began = time.perf_counter()
        gui.ask(f"position startpos{moves}", f"go {side}time 1000 {other}time 3600000")
        assert time.perf_counter() - began < 0.5


@pytest.mark.alone
def test_a_forced_move_takes_no_time():
    with Gui() as gui:
        gui.ask("isready", answer="readyok")
        began = time.perf_counter()
        in_check = "position fen 6k1/8/8/8/8/7r/6P1/r5K1 w - - 0 1"
        assert gui.ask(in_check, "go wtime 600000 btime 600000").startswith("bestmove g1f2")
        assert time.perf_counter() - began < 2.0
