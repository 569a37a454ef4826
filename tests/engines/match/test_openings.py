"""Openings: the built-in set is valid, files are read or refused."""

import shutil

import chess
import pytest

from sylvan.engines.match.openings import builtin_openings, digest, read_openings
from sylvan.errors import ConfigError, SylvanError
from sylvan.players.uci_client import UciClient

STOCKFISH = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")


def test_builtin_openings_are_distinct_and_short():
    openings = builtin_openings()
    assert len(openings) >= 100  # 200 games without a repetition
    positions = {opening.start().fen().rsplit(" ", 2)[0] for opening in openings}
    assert len(positions) == len({opening.name for opening in openings}) == len(openings)
    assert all(4 <= len(opening.moves) <= 8 for opening in openings)


def test_builtin_openings_are_what_python_chess_reads():
    for opening in builtin_openings():
        board = chess.Board()
        for move in opening.moves:
            board.push_uci(move)
        assert board.fen() == opening.start().board().fen()


@pytest.mark.slow
@pytest.mark.skipif(STOCKFISH is None, reason="stockfish is not installed")
def test_builtin_openings_are_balanced():
    """A shallow search of Stockfish gives each at most about a pawn for either side."""
    engine = UciClient([STOCKFISH])
    try:
        for opening in builtin_openings():
            answer = engine.go(f"startpos moves {' '.join(opening.moves)}", "nodes 5000", 20)
            assert abs(answer.cp) < 120, opening.name
    finally:
        engine.close()


def test_pgn(tmp_path):
    file = tmp_path / "book.pgn"
    file.write_text(
        '[ECO "C20"]\n\n1. e4 e5 2. Nf3 *\n\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n'
        '[SetUp "1"]\n\n1. e4 *\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
    )
    first, second, mate = (
        read_openings(file, plies=2),
        read_openings(file)[1],
        read_openings(file)[2],
    )
    assert [opening.moves for opening in first][:2] == [("e2e4", "e7e5"), ("e2e4",)]
    assert first[0].name == "C20"
    assert second.fen == "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert mate.moves == ("f2f3", "e7e5", "g2g4")  # the mate is taken back, so there is a game


def test_epd_and_fen(tmp_path):
    file = tmp_path / "book.epd"
    file.write_text(
        '# a comment\n4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id "x";\n\n'
        "4k3/8/8/8/8/8/4P3/4K3 b - - 12 34\n4k3/8/8/8/8/8/4P3/4K3 b - - 12 34\n"
    )
    openings = read_openings(file)
    assert [opening.fen for opening in openings] == [
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/4P3/4K3 b - - 12 34",
    ]
    assert digest(openings) != digest(openings[:1])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("book.txt", "", r"\.pgn"),
        ("book.pgn", "", "game"),
        ("book.pgn", "hello there", "game"),
        ("book.pgn", "1. e4 e5 2. Ke3 *", r"game 1.*2\. Ke3"),
        ("book.pgn", '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n[SetUp "1"]\n\n*', r"game 1.*empty"),
        ("book.epd", "", "opening"),
        ("book.epd", "4k3/8/8 w - -", r"line 1.*8"),
        ("book.fen", "\nnonsense", r"line 2.*read"),
        ("book.fen", "7k/5KQ1/8/8/8/8/8/8 b - - 0 1", r"line 1.*over"),
        ("book.epd", "4k3/8\0", "bytes"),
        (None, None, "no such file"),
    ],
)
def test_refused(tmp_path, name, content, sentence):
    file = tmp_path / (name or "missing.pgn")
    if content is not None:
        file.write_text(content)
    with pytest.raises(SylvanError, match=sentence) as caught:
        read_openings(file)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ConfigError) or str(file) in str(caught.value)
