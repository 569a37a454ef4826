"""Annotation of games: correct marks, PGN content is kept, invalid input is refused."""

import io

import chess
import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Search
from sylvan.engines.analysis.annotate import THRESHOLDS, annotate
from sylvan.errors import ConfigError, IllegalAction, IllegalPosition
from sylvan.games import Chess
from sylvan.games.pgn import game_text, read_games, read_text
from sylvan.players.score import q_of_centipawns, result_score

SCHOLAR = '[White "Amy"]\n[Black "Bob"]\n\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0'
HANGS = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. Qe2 Qe7 6. Qxa6 bxa6 *"


def read(text: str) -> chess.pgn.Game:
    return read_games(text, "test")[0]


def annotated(text: str, simulations: int = 3000):
    return annotate(read(text), Search("material", simulations=simulations))


class TestMarks:
    def test_allowing_a_mate_is_a_blunder(self):
        found = annotated(SCHOLAR)
        blunder = found.moves[5]
        assert (blunder.move, blunder.mark, blunder.score) == ("Nf6", "??", "#1")
        assert found.moves[6].loss == 0 and found.moves[6].best == "Qxf7#"
        assert found.moves[6].score == ""  # the game is over
        assert [player.name for player in found.players] == ["Amy", "Bob"]
        assert found.players[1].blunders == 1 and found.players[0].blunders == 0

    def test_losing_a_queen_is_a_blunder(self):
        found = annotated(HANGS)
        assert [move.move for move in found.moves if move.mark == "??"] == ["Qxa6"]
        assert found.moves[10].centipawns > 400
        assert found.moves[11].mark == ""  # it was taken

    def test_drawing_a_won_game_is_a_blunder(self):
        found = annotated('[FEN "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"]\n\n1. Qf7 1/2-1/2')
        (move,) = found.moves
        assert (move.mark, move.score, move.loss) == ("??", "", 0.5)

    def test_the_searchs_own_choice_has_no_loss(self):
        state, moves = Search("material", simulations=500), []
        board = chess.Board()
        for _ in range(6):  # a game of the search's own moves
            result = Search("material", simulations=500).run(_chess(board))
            moves.append(board.san(chess.Move.from_uci(result.game.action_to_string(result.best))))
            board.push_san(moves[-1])
        game = chess.pgn.Game.from_board(board)
        (first, *_) = annotate(game, state).moves
        assert (first.best, first.loss) == (moves[0], 0.0)

    def test_a_mark_holds_if_the_best_move_is_searched_too(self):
        """The loss of a marked move is at most that of a search after the best move."""
        settings = {"simulations": 800}
        found = annotate(read(HANGS), Search("material", **settings))
        board, marked = chess.Board(), 0
        for move in found.moves:
            if move.mark:
                marked += 1
                board.push_san(move.best)
                best = -result_score(Search("material", **settings).run(_chess(board))).q
                board.pop()
                played = q_of(move.score) * (1 if move.seat == 0 else -1)
                assert move.loss <= (best - played) / 2 + 0.005
            board.push_san(move.move)
        assert marked > 1

    def test_thresholds_are_ordered(self):
        least = [loss for loss, _ in THRESHOLDS]
        assert least == sorted(least, reverse=True)
        found = annotated(HANGS, 1000)
        for move in found.moves:
            reached = [mark for loss, mark in THRESHOLDS if move.loss >= loss]
            assert move.mark == (reached[0] if reached else "")
            assert bool(move.line) == bool(move.mark)

    def test_the_summary_adds_up(self):
        found = annotated(HANGS, 1000)
        for seat, player in enumerate(found.players):
            moves = [move for move in found.moves if move.seat == seat]
            assert player.moves == len(moves) == 6
            assert player.average_loss == pytest.approx(sum(m.loss for m in moves) / 6, abs=1e-4)
            assert player.agreement == pytest.approx(
                sum(m.move == m.best for m in moves) / 6, abs=1e-4
            )
            marks = player.inaccuracies + player.mistakes + player.blunders
            assert marks == sum(bool(move.mark) for move in moves)

    def test_the_tree_is_kept(self):
        search = Search("material", simulations=300)
        annotate(read("1. e4 e5 2. Nf3 Nc6 *"), search)
        assert search.result.tree.root.N > 301


def q_of(score: str) -> float:
    """Return the mean result of a score in pawns."""
    return q_of_centipawns(100 * float(score))


def _chess(board: chess.Board):
    from sylvan.games import Chess

    return Chess.from_board(board)


class TestPgn:
    def test_the_annotated_pgn_can_be_read(self):
        found = annotated(SCHOLAR)
        again = read(game_text(found.game))
        nodes = list(again.mainline())
        assert [node.san() for node in nodes] == [move.move for move in found.moves]
        assert nodes[5].nags == {chess.pgn.NAG_BLUNDER}
        assert nodes[5].eval().white() == chess.engine.Mate(1)
        assert nodes[6].eval() is None
        better = nodes[5].parent.variations[1]
        assert better.san() == found.moves[5].best
        assert "best: " in better.comment

    def test_scores_are_for_white(self):
        found = annotated(HANGS)
        nodes = list(found.game.mainline())
        assert nodes[11].eval().white().score() < -300  # a queen down
        assert found.moves[11].score.startswith("-")

    def test_earlier_comments_and_variations_stay(self):
        text = "1. e4 {mine} e5 $1 2. Bc4 (2. Nf3 Nc6) 2... Nc6 3. Qh5 Nf6 $4 4. Qxf7# 1-0"
        nodes = list(annotated(text).game.mainline())
        assert "mine" in nodes[0].comment and nodes[0].eval() is not None
        assert 1 in nodes[1].nags
        assert any(v.san() == "Nf3" for v in nodes[2].parent.variations)
        assert nodes[5].nags == {4}

    def test_annotating_twice_changes_nothing(self):
        once = annotated(SCHOLAR)
        twice = annotate(read(game_text(once.game)), Search("material", simulations=3000))
        assert game_text(twice.game) == game_text(once.game)
        assert twice.moves == once.moves

    def test_earlier_marks_are_replaced(self):
        node = annotated("1. e4 $4 e5 *").game.variations[0]
        assert node.nags == set()

    def test_black_begins(self):
        found = annotated('[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"]\n\n1... Kd7 2. e4 *', 200)
        assert [move.seat for move in found.moves] == [1, 0]
        assert found.to_json()["black"]["moves"] == 1

    def test_no_moves(self):
        assert annotated('[White "A"]\n\n*').moves == []

    def test_a_game_may_continue_after_a_claimable_draw(self):
        moves = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. e4 *"
        assert len(annotated(moves, 100).moves) == 11

    def test_a_draw_by_repetition_is_a_draw(self):
        """The side with an extra queen repeats: drawing is its mistake."""
        start = '[FEN "6k1/8/8/8/8/8/8/Q5K1 w - - 0 1"]\n[Result "1/2-1/2"]\n\n'
        moves = "1. Qa2+ Kh8 2. Qa1+ Kg8 3. Qa2+ Kh8 4. Qa1+ Kg8 1/2-1/2"
        last = annotated(start + moves).moves[-1]
        assert last.score == ""
        before = annotated(start + moves.replace("4. Qa1+ Kg8 1/2-1/2", "1/2-1/2")).moves[-1]
        assert before.score.startswith("+") or before.score.startswith("#")

    def test_chess960(self):
        fen = "rkr5/pppppppp/8/8/8/8/PPPPPPPP/RKR5 w CAca - 0 1"
        board = chess.Board(fen, chess960=True)
        board.push(next(move for move in board.legal_moves if board.is_castling(move)))
        game = chess.pgn.Game.from_board(board)
        assert len(annotate(game, Search("material", simulations=50)).moves) == 1

    def test_an_interrupt_keeps_finished_moves(self):
        calls = []

        def progress(done, total):
            calls.append((done, total))
            if done == 3:
                raise KeyboardInterrupt

        found = annotate(read(SCHOLAR), Search("material", simulations=50), progress)
        assert found.interrupted and len(found.moves) == 2
        assert calls == [(1, 8), (2, 8), (3, 8)]
        assert not found.to_json()["complete"]


class TestReading:
    def test_all_games(self):
        games = read_games(f"{SCHOLAR}\n\n{HANGS}\n\n", "x.pgn")
        assert [len(list(game.mainline())) for game in games] == [7, 12]

    @pytest.mark.parametrize(
        ("text", "error", "sentence"),
        [
            ("", IllegalPosition, r"x\.pgn.*game"),
            ("what is this", IllegalPosition, r"x\.pgn.*game"),
            ("1. e4 e5 2. Kd4 *", IllegalAction, r"game 1.*2\. Kd4"),
            (
                f"{SCHOLAR}\n\n1. e5 *",
                IllegalAction,
                r"game 2.*1\. e5",
            ),
            (
                '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n1. e4 *',
                IllegalPosition,
                r"game 1.*FEN",
            ),
            ('[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n*', IllegalPosition, r"game 1.*empty"),
            ('[FEN "nonsense"]\n\n1. e4 *', IllegalPosition, "game 1"),
            ('[Variant "Atomic"]\n\n1. e4 *', IllegalPosition, r"game 1.*atomic"),
        ],
    )
    def test_refused(self, text, error, sentence):
        with pytest.raises(error, match=sentence) as caught:
            read_games(text, "x.pgn")
        assert "\n" not in str(caught.value)

    def test_encodings(self, tmp_path):
        file = tmp_path / "x.pgn"
        for data in ('﻿[White "Müller"]'.encode(), '[White "Müller"]'.encode("latin-1")):
            file.write_bytes(data)
            assert read_text(file) == '[White "Müller"]'

    def test_not_a_text(self, tmp_path):
        file = tmp_path / "x.pgn"
        file.write_bytes(b"\x7fELF\0\0")
        with pytest.raises(ConfigError, match="text"):
            read_text(file)
        with pytest.raises(ConfigError, match="directory"):
            read_text(tmp_path)

    @pytest.mark.parametrize("text", ["a1)!", "a1)--", "a1) e4"])
    def test_an_unmatched_parenthesis(self, text):
        with pytest.raises(IllegalAction, match="game 1"):
            read_games(text, "x")
        with pytest.raises(IllegalAction, match="played"):
            Chess.from_pgn(text)

    @given(st.text(alphabet='[]"{}()*;%.\n\\ 012345678NBRQKabcdefghxO-=+#!?$FENe4', max_size=80))
    def test_any_text_is_read_or_refused(self, text):
        games, sentence = [], ""
        try:
            games = read_games(text, "x")
        except (IllegalAction, IllegalPosition) as error:
            sentence = str(error)
        assert bool(games) != bool(sentence)
        assert "\n" not in sentence
        assert all(game_text(game) for game in games)


def test_reader_against_python_chess():
    """A game read, written and read again equals the game of python-chess's own reader."""
    ours = read(SCHOLAR)
    theirs = chess.pgn.read_game(io.StringIO(SCHOLAR))
    assert list(ours.mainline_moves()) == list(theirs.mainline_moves())
    assert ours.headers == theirs.headers
