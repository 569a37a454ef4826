"""Puzzles as examples: solutions become records, and a bad line is named."""

import json
import re

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.evaluators import load_evaluator
from sylvan.games import Chess
from sylvan.games.naming import GameSpec
from sylvan.learning.examples import ExamplesConfig, Skipped, read_examples
from sylvan.replay.buffer import Replay

SPEC = GameSpec("chess")
MATE_IN_2 = "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1"  # it is in three: Qd1+
LINE = "d6d1 c1d1 d7g4 d1c1 d8d1"
LADDER = "7k/8/R7/1R6/8/8/8/K7 w - - 0 1"  # Rb7 and Ra7 both mate next, Rb8+ Kg7 does not


def records(tmp_path, name, text, spec=SPEC):
    path, skipped = tmp_path / name, Skipped()
    path.write_text(text)
    return list(read_examples(path, spec, ExamplesConfig(), skipped)), skipped


def moves_of(record):
    """Per position learned from: seat, moves with their shares, and the value of the seat."""
    state, found = Chess(record.start), []
    for ply, action in enumerate(record.actions):
        policy = zip(record.legal(ply).tolist(), record.target(ply).tolist(), strict=True)
        shares = {state.action_to_string(each): share for each, share in policy}
        if record.weights[ply]:
            seat = state.to_play()
            found.append((seat, shares, float(record.values[ply][seat])))
        else:
            assert not shares and not record.values[ply].any()
        state.apply(int(action))
    return found


def test_the_solver_is_learned_from_and_the_forced_answers_are_not(tmp_path):
    (record,), skipped = records(tmp_path, "p.csv", f"fen,moves\n{MATE_IN_2},{LINE}\n")
    assert skipped.count == 0 and record.ending == "end"
    assert moves_of(record) == [(1, {move: 1.0}, 1.0) for move in LINE.split()[::2]]
    assert record.returns.tolist() == [-1, 1]


def test_the_same_puzzle_in_every_format(tmp_path):
    board = chess.Board(MATE_IN_2)
    san = board.variation_san([chess.Move.from_uci(move) for move in LINE.split()])
    words = [word for word in re.split(r"\d+\.+| ", san) if word]
    rows = {
        "a.csv": f"fen,moves\n{MATE_IN_2},{LINE}\n",
        "b.csv": f"moves,other,fen\n{' '.join(words)},x,{MATE_IN_2}\n",
        "c.jsonl": json.dumps({"fen": MATE_IN_2, "moves": LINE.split()}) + "\n",
        "d.epd": f"{' '.join(MATE_IN_2.split()[:4])} pv {' '.join(words)}; dm 3;\n",
    }
    first, *others = [records(tmp_path, name, text)[0] for name, text in rows.items()]
    for other in others:
        assert moves_of(other[0]) == moves_of(first[0])


def test_the_files_of_lichess_begin_with_the_opponents_move(tmp_path):
    board = chess.Board("7k/8/R7/1R6/8/8/8/K7 w - - 0 1")
    board.turn = chess.BLACK
    board.set_piece_at(chess.G8, chess.Piece(chess.KING, chess.BLACK))
    board.remove_piece_at(chess.H8)
    text = f"PuzzleId,FEN,Moves,Rating\n00sHx,{board.fen()},g8h8 b5b7 h8g8 a6a8,1760\n"
    (record,), _ = records(tmp_path, "lichess.csv", text)
    assert [seat for seat, _, _ in moves_of(record)] == [0, 0]
    assert record.weights.tolist() == [0, 1, 0, 1] and record.returns.tolist() == [1, -1]


def test_moves_that_mate_at_once_are_equally_good(tmp_path):
    """Compared with python-chess, in the last positions of random games that end in mate."""
    rng = np.random.default_rng(3)
    rows, expected = ["fen,moves"], []
    while len(expected) < 6:
        board = chess.Board()
        while not board.is_game_over():
            moves = list(board.legal_moves)
            mates = [move for move in moves if mating(board, move)]
            board.push(mates[0] if mates else moves[rng.integers(len(moves))])
        if not board.is_checkmate():
            continue
        last = board.pop()
        expected.append({each.uci() for each in board.legal_moves if mating(board, each)})
        rows.append(f"{board.fen(en_passant='fen')},{last.uci()}")
    found, skipped = records(tmp_path, "mates.csv", "\n".join(rows))
    assert skipped.count == 0 and any(len(mates) > 1 for mates in expected)
    for record, mates in zip(found, expected, strict=True):
        ((_, shares, value),) = moves_of(record)
        assert value == 1 and set(shares) == mates
        assert list(shares.values()) == pytest.approx([1 / len(mates)] * len(mates))


def mating(board, move):
    board.push(move)
    mate = board.is_checkmate()
    board.pop()
    return mate


def test_epd_with_best_moves_and_a_distance_to_mate(tmp_path):
    start = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - -"
    text = f'# mates\n{start} bm Ra8+; dm 1; id "back rank";\n\n{start} bm Ra8+ h3; ce 400;\n'
    (mate, other), skipped = records(tmp_path, "p.epd", text)
    assert skipped.count == 0
    assert moves_of(mate) == [(0, {"a1a8": 1.0}, 1.0)]
    ((_, shares, value),) = moves_of(other)
    assert set(shares) == {"a1a8", "h2h3"} and value == pytest.approx(np.tanh(1))


@pytest.mark.parametrize(
    ("name", "text", "line", "named"),
    [
        ("p.csv", f"fen,moves\n{MATE_IN_2},{LINE}\n{MATE_IN_2},d6d1 c1c2\n", 3, "c1c2"),
        ("p.csv", f"fen,moves\n{MATE_IN_2},d6d1 c1d1\n", 2, "mate"),
        ("p.csv", f"fen,moves\n{MATE_IN_2},Qh9\n", 2, "Qh9"),
        ("p.csv", "fen,moves\nnonsense,e2e4\n", 2, "nonsense"),
        ("p.csv", f"fen,moves\n{MATE_IN_2},{LINE} a2a3\n", 2, "over"),
        ("p.csv", f"FEN,Moves\n{chess.STARTING_FEN},e2e4\n", 2, "solver"),
        ("p.csv", f"fen,moves,value\n{MATE_IN_2},d6d1,2\n", 2, "2.0"),
        ("p.jsonl", "\n" + json.dumps({"fen": MATE_IN_2, "moves": ["e2e4"]}), 2, "e2e4"),
        ("p.jsonl", json.dumps({"moves": "e2e4"}), 1, "start"),
        ("p.epd", f"{' '.join(MATE_IN_2.split()[:4])} bm Qh8; dm 1;\n", 1, "Qh8"),
        ("p.epd", f"{' '.join(MATE_IN_2.split()[:4])} bm Qd1+;\n", 1, "value"),
        ("p.epd", "nonsense\n", 1, "nonsense"),
    ],
)
def test_a_bad_line_is_left_out_and_named(name, text, line, named, tmp_path):
    found, skipped = records(tmp_path, name, text)
    assert skipped.count == 1 and len(found) == (1 if line == 3 else 0)
    assert skipped.first[0].startswith(f"line {line}") and named in skipped.first[0]


def test_solutions_of_another_game(tmp_path):
    rows = json.dumps({"start": "445544", "moves": "3 1 2"})  # 2345 in a row
    (record,), skipped = records(tmp_path, "p.jsonl", rows, GameSpec("connect4"))
    assert skipped.count == 0
    assert record.weights.tolist() == [1, 0, 1] and record.returns.tolist() == [1, -1]


@pytest.mark.slow
def test_the_command_learns_the_solutions(tmp_path, monkeypatch):
    """A network that has seen three puzzles often enough plays their first moves."""
    monkeypatch.setattr("sylvan.learning.pretrain.REPORTS", 1)  # each one writes the network
    puzzles = [
        (MATE_IN_2, LINE),
        ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8"),
        ("r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", "a8a1"),
    ]
    path = tmp_path / "mates.csv"
    path.write_text("fen,moves\n" + "".join(f"{fen},{line}\n" for fen, line in puzzles * 40))
    words = ["pretrain", path, "--out", tmp_path / "warm", "--network", "mlp1x32", "--epochs", "8"]
    words += ["--set", "learner.batch=32", "--set", 'pretrain.params={"encoder": "planes18"}']
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    assert sum(1 for _ in Replay.read(tmp_path / "warm" / "examples")) == 120
    network = load_evaluator(tmp_path / "warm")
    for fen, line in puzzles:
        game = Chess(fen).encoded(network.encoding)
        policy = network.infer(game.observation()[None]).policy[0]
        best = max(game.legal_actions(), key=lambda action: policy[action])
        assert game.action_to_string(best) == line.split()[0]
