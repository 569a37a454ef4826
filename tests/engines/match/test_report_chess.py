"""The facts of chess in a match's report, compared with counts by hand."""

import chess
import pytest

from sylvan.engines.match import Match
from sylvan.engines.match.arbiter import Adjudication
from sylvan.engines.match.chess_facts import ChessFacts
from sylvan.engines.match.match import Played
from sylvan.engines.match.report import Report
from sylvan.players.specs import player_spec

WORTH = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9, "k": 0}


def points(fen, side, pawns):
    letters = fen.split()[0]
    mine = [c for c in letters if c.isalpha() and c.isupper() == side]
    return sum(WORTH[c.lower()] for c in mine if pawns or c.lower() != "p")


@pytest.mark.parametrize(
    ("fen", "moves", "opening", "material", "endgame", "ply"),
    [
        (None, "e2e4 d7d5 e4d5 d8d5", "1. e4 d5 2. exd5 Qxd5", 0, None, 4),
        (None, "e2e4", "1. e4", 0, None, 1),
        # The queens are traded: 14 points a side, then a rook for nothing.
        ("r2qk3/8/8/8/8/8/8/3QK2R w - - 0 1", "d1d8 a8d8", "1. Qxd8+ Rxd8", 0, "rook", 2),
        ("r3k3/8/8/8/8/8/8/4K2R b - - 0 1", "", "", 0, "rook", 0),
        ("4k3/pp6/8/8/8/8/8/4K3 b - - 0 9", "a7a5", "9...a5", -2, "pawn", 0),
        ("4k3/8/8/8/8/8/8/QR2K3 w - - 0 1", "b1b8 e8e7", "1. Rb8+ Ke7", 14, None, 2),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "", "", 0, "king", 0),
    ],
)
def test_facts_of_a_game(fen, moves, opening, material, endgame, ply):
    assert ChessFacts.of(fen, moves.split()) == ChessFacts(opening, material, endgame, ply)


def test_a_report_counts_from_a_s_side():
    """A has Black in game 1; both games are won by A, a rook ahead in a rook endgame."""
    white = "4k3/8/8/8/8/8/8/4K2R w - - 0 1"
    black = "4k2r/8/8/8/8/8/8/4K3 b - - 0 1"
    games = [
        Played(number, "test", fen, moves.split(), 0, 1.0, "resignation", 0, 0, (0.0, 0.0))
        for number, (fen, moves) in enumerate([(white, "h1h2"), (black, "h8h7 e1e2")])
    ]
    match = Match((player_spec("random"), player_spec("uniform")))
    facts = Report(match, games).to_json()
    assert facts["material"] == {"mean": 5, "median": 5, "least": 5, "most": 5}
    assert facts["opening_moves"] == {"1. Rh2": 1, "1...Rh7 2. Ke2": 1}
    assert facts["endgames"]["games"] == 2 and facts["endgames"]["score"] == 1.0
    assert facts["endgames"]["kinds"] == {"rook": 2}
    assert facts["endgames"]["plies"]["most"] == 0


def test_facts_of_played_games_agree_with_their_last_positions():
    players = (player_spec("material:simulations=20"), player_spec("random"))
    match = Match(players, rules=Adjudication(length=60))
    for game in match.play(range(4)):
        facts = ChessFacts.of(game.fen, game.moves)
        board = chess.Board(game.fen or chess.STARTING_FEN)
        reached = []
        for move in [None, *game.moves]:
            if move is not None:
                board.push_uci(move)
            reached.append(max(points(board.fen(), side, False) for side in (True, False)) <= 13)
        assert facts.material == points(board.fen(), True, True) - points(board.fen(), False, True)
        assert (facts.endgame is not None) == any(reached)
        assert not any(reached) or facts.endgame_ply == reached.index(True)


def test_other_games_have_none_of_it():
    match = Match((player_spec("random"), player_spec("random")), game=spec("connect4"))
    facts = Report(match, list(match.play(range(2)))).to_json()
    assert not {"material", "endgames", "opening_moves"} & facts.keys()


def spec(name):
    from sylvan.games.naming import GameSpec

    return GameSpec(name)
