"""Chess: mates, traps and every way to draw, for both colours, against python-chess.

Every position is also searched with its colours exchanged: what holds for White holds for Black.
"""

import chess
import numpy as np
import pytest

from sylvan import Search, SearchResult
from sylvan.errors import GameOver
from sylvan.games import Chess

RULES = {
    "puct": {"selection": "puct"},
    "puct in flight": {"leaves_in_flight": 16},
    "uct": {"selection": "uct"},
    "gumbel": {"selection": "gumbel", "gumbel_scale": 0.0, "max_considered": 64},
}
COLOURS = pytest.mark.parametrize("colour", ["white", "black"])


def seen_by(colour: str, fen: str) -> chess.Board:
    """The position, or the same with the colours exchanged."""
    board = chess.Board(fen)
    return board if colour == "white" else board.mirror()


def search(board: chess.Board, evaluator="uniform", **settings) -> SearchResult:
    return Search(evaluator, **settings).run(Chess.from_board(board))


def edge(result: SearchResult, board: chess.Board, san: str):
    """The edge of a move, which is given for White."""
    move = board.parse_san(san) if board.turn else board.mirror().parse_san(san)
    uci = move.uci() if board.turn else mirrored(move).uci()
    return result.tree.root.edge(result.game.string_to_action(uci))


def mirrored(move: chess.Move) -> chess.Move:
    squares = (chess.square_mirror(move.from_square), chess.square_mirror(move.to_square))
    return chess.Move(*squares, promotion=move.promotion)


def mates_within(board: chess.Board, moves: int) -> bool:
    """Whether the side to move mates in at most so many moves, by trying everything."""
    return any(forces_mate(board, move, moves) for move in board.legal_moves)


def forces_mate(board: chess.Board, move: chess.Move, moves: int) -> bool:
    """Whether a move mates, or leads to mate against every reply."""
    if moves == 1 and not board.gives_check(move):
        return False
    board.push(move)
    try:
        if moves == 1 or board.is_game_over():
            return board.is_checkmate()
        return all(answered(board, reply, moves - 1) for reply in board.legal_moves)
    finally:
        board.pop()


def answered(board: chess.Board, reply: chess.Move, moves: int) -> bool:
    board.push(reply)
    try:
        return mates_within(board, moves)
    finally:
        board.pop()


# Mates ------------------------------------------------------------------------------------------

BACK_RANK = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
SCHOLAR = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
MORPHY = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"
SMOTHERED = "5r1k/6pp/7N/8/2Q5/8/8/7K w - - 0 1"
DISCOVERED = "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1"
RETI = "rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 9"


@COLOURS
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("fen", "moves"), [(BACK_RANK, 1), (SCHOLAR, 1), (MORPHY, 2), (SMOTHERED, 2), (DISCOVERED, 3)]
)
def test_mates_in_one_two_and_three_are_proven(fen, moves, rule, colour):
    """With no knowledge at all; the move that is found forces mate in time."""
    board = seen_by(colour, fen)
    result = search(board, simulations=100_000, **RULES[rule])
    assert result.stopped_by == "proven"
    assert result.values == ((1.0, -1.0) if board.turn else (-1.0, 1.0))
    assert result.policy[result.best] == 1.0
    best = chess.Move.from_uci(result.game.action_to_string(result.best))
    assert forces_mate(board, best, moves)
    if moves > 1:
        assert not forces_mate(board, best, moves - 1)


@COLOURS
def test_a_queen_sacrifice_that_mates_in_three_is_found(colour):
    """Réti - Tartakower, Vienna 1910: 9. Qd8+ is the only move that mates in three."""
    board = seen_by(colour, RETI)
    result = search(board, simulations=200_000, selection="uct")
    assert result.value == 1.0
    assert result.best == edge(result, board, "Qd8+").action


@COLOURS
@pytest.mark.parametrize("fen", [BACK_RANK, SCHOLAR, MORPHY, SMOTHERED])
def test_the_default_evaluation_proves_short_mates_too(fen, colour):
    result = search(seen_by(colour, fen), "material", simulations=100_000)
    assert (result.stopped_by, result.value) == ("proven", 1.0)


@COLOURS
def test_a_mate_that_cannot_be_stopped_is_proven_for_the_side_that_suffers_it(colour):
    """After 1. Ra6 in Morphy's problem every reply is mated, and all are equally lost."""
    board = seen_by(colour, MORPHY)
    board.push(chess.Move.from_uci("a1a6") if board.turn else chess.Move.from_uci("a8a3"))
    result = search(board, simulations=10_000)
    assert (result.stopped_by, result.value) == ("proven", -1.0)
    assert result.best in result.game.legal_actions()


# The only move ----------------------------------------------------------------------------------

ONLY_MOVES = [
    ("8/8/2q5/1B6/8/4k3/6b1/3K4 w - - 0 1", "Bxc6"),
    ("7B/8/K7/2b5/8/3k4/1q6/8 w - - 0 1", "Bxb2"),
    ("8/8/8/1B5b/8/K1k5/4q3/8 w - - 0 1", "Bxe2"),
]


@pytest.mark.slow
@COLOURS
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("fen", "san"), ONLY_MOVES)
def test_the_only_move_is_found_though_it_has_the_lowest_prior(fen, san, rule, colour):
    """It takes the queen, and two bishops on one colour of squares are left; any other is mated."""
    board = seen_by(colour, fen)
    game = Chess.from_board(board)
    key = game.string_to_action(board_san(board, san))
    for move in board.legal_moves:
        board.push(move)
        assert mates_within(board, 2) != (move.uci() == game.action_to_string(key))
        board.pop()

    def doubtful(leaves):
        logits = np.zeros(len(leaves.actions), np.float32)
        if leaves.forest.batches == 1:  # the root
            logits[list(leaves.legal(0)).index(key)] = -6.0
        return logits, np.zeros(len(leaves), np.float32)

    result = Search(doubtful, simulations=30_000, **RULES[rule]).run(game)
    priors = {e.action: e.P for e in result.tree.root.edges}
    assert min(priors, key=priors.__getitem__) == key
    assert result.best == key
    assert result.tree.root.edge(key).proven == 0.0


def board_san(board: chess.Board, san: str) -> str:
    """A move that is given for White, in UCI for the side to move."""
    if board.turn:
        return board.parse_san(san).uci()
    return mirrored(board.mirror().parse_san(san)).uci()


# Draws ------------------------------------------------------------------------------------------


def drawn(result: SearchResult, board: chess.Board, san: str) -> bool:
    """Whether the move ends the game, at once, in a draw."""
    found = edge(result, board, san)
    return found.proven == 0.0 and found.child is not None and found.child.kind == "terminal"


@COLOURS
@pytest.mark.parametrize(
    ("fen", "san"),
    [
        ("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", "Qg6"),
        ("k7/2Q5/8/8/8/8/8/1K6 w - - 0 1", "Kb2"),
        ("8/8/8/8/8/2K5/p7/k7 w - - 0 1", "Kc2"),
    ],
)
def test_stalemate_is_a_draw_for_both_colours(fen, san, colour):
    """An outcome without a winner is no win for anybody: not for Black either."""
    board = seen_by(colour, fen)
    result = search(board, simulations=400, c_puct=5.0)
    assert drawn(result, board, san)


@COLOURS
def test_a_stalemate_trap_is_avoided_and_a_win_is_not_thrown_away(colour):
    """Qg6 and Qf7 leave no move; with the king at hand there is a mate in two instead."""
    board = seen_by(colour, "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    result = search(board, simulations=20_000)
    assert result.value == 1.0
    best = chess.Move.from_uci(result.game.action_to_string(result.best))
    board.push(best)
    assert not board.is_stalemate()


@COLOURS
def test_a_lost_side_takes_the_stalemate(colour):
    """The queen gives itself up: 1. Qg8+ Kxg8 is forced and leaves no move; to keep it loses."""
    board = seen_by(colour, "7k/8/6Q1/3r4/8/1q6/8/K7 w - - 0 1")
    result = search(board, "material", simulations=60_000)
    assert edge(result, board, "Qg8+").proven == 0.0
    low, _ = result.tree.root.edge(result.best).bounds
    assert low == 0.0
    assert result.value > -0.05


SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"]


def test_the_third_occurrence_is_a_draw_when_two_are_in_the_real_history():
    """After seven half-moves of knights going out and home, Black can make it three."""
    result = Search("uniform", simulations=300).run(Chess(moves=(SHUFFLE * 2)[:7]))
    home = result.tree.root.edge(result.game.string_to_action("f6g8"))
    assert home.proven == 0.0
    assert home.child.kind == "terminal"


def test_the_same_position_without_history_is_no_draw():
    """A FEN has no history, and a search that forgets it would see nothing here."""
    fen = Chess(moves=(SHUFFLE * 2)[:7]).fen()
    result = Search("uniform", simulations=300).run(Chess(fen))
    home = result.tree.root.edge(result.game.string_to_action("f6g8"))
    assert home.N > 0
    assert home.proven is None
    assert home.child.kind == "decision"


def shuffling(leaves):
    """An evaluator that wants nothing but knights going out and home."""
    logits = np.full(len(leaves.actions), -20.0, np.float32)
    for i, state in enumerate(leaves.states):
        legal = [state.action_to_string(a) for a in leaves.legal(i)]
        out = [move for move in SHUFFLE if move in legal]
        # a knight that is out goes home first
        wish = next((move for move in out if move in ("f3g1", "f6g8")), out[0])
        logits[leaves.offsets[i] + legal.index(wish)] = 0.0
    return logits, np.zeros(len(leaves), np.float32)


@pytest.mark.parametrize(("repetitions", "length"), [(3, 8), (2, 4)])
def test_repetition_inside_the_tree_ends_the_game_at_the_third_or_second_occurrence(
    repetitions, length
):
    """The root is the first; with knights out and home it comes back every four half-moves."""
    game = Chess(repetitions=repetitions)
    result = Search(shuffling, simulations=12, proofs=False).run(game)
    node, moves = result.tree.root, []
    while node.kind == "decision":
        best = node.edges[0]
        moves.append(node.state.action_to_string(best.action))
        node = best.child
    assert node.kind == "terminal"
    assert moves == (SHUFFLE * 2)[:length]
    assert node.values == (0.0, 0.0)


def test_a_second_occurrence_of_a_position_before_the_search_is_no_draw_inside():
    """With `repetitions=2` too: the history before the root counts only up to the third."""
    for repetitions in (2, 3):
        game = Chess(moves=SHUFFLE[:3], repetitions=repetitions)
        result = Search("uniform", simulations=200).run(game)
        home = result.tree.root.edge(game.string_to_action("f6g8"))
        assert home.N > 0
        assert home.proven is None


def test_a_lost_side_repeats():
    """Black is a queen down, and the position after 3... Kg8 has been there twice."""
    start = "6k1/5ppp/8/8/8/8/4QPPP/6K1 b - - 0 1"
    moves = "Kf8 Kf1 Kg8 Kg1 Kf8 Kf1 Kg8 Kg1 Kf8 Kf1"
    for played, claim in ((moves, True), ("Kf8 Kf1", False)):
        result = Search("material", simulations=400).run(Chess(start, moves=played))
        home = result.tree.root.edge(result.game.string_to_action("Kg8"))
        assert (home.proven == 0.0) is claim
        assert (result.best == home.action and result.value > -0.3) is claim


def test_a_root_where_a_draw_could_be_claimed_is_searched():
    """After a third repetition, and after fifty moves; the game itself says that it is over."""
    repeated = Chess(moves=SHUFFLE * 2)
    quiet = Chess("8/8/8/8/8/5k2/8/4R2K w - - 100 80")
    for game in (repeated, quiet):
        assert game.is_terminal()
        result = Search("uniform", simulations=20).run(game)
        assert result.simulations == 20
        assert sum(e.N for e in result.tree.root.edges) == 20
    with pytest.raises(GameOver):
        Search("uniform", simulations=1).run(Chess("8/8/8/8/8/5k2/8/4K3 w - - 0 1"))
    with pytest.raises(GameOver):
        Search("uniform", simulations=1).run(Chess("7k/5Q2/8/8/8/8/8/K7 b - - 0 1"))


@COLOURS
def test_the_hundredth_quiet_half_move_is_a_draw_unless_it_mates(colour):
    """A pawn move starts the count anew; mate comes before the count."""
    board = seen_by(colour, "6k1/5ppp/8/8/8/8/7P/R3K3 w - - 99 80")
    result = search(board, simulations=60, proofs=False, c_puct=10.0)
    for san in ("Ra2", "Rb1", "Kd1", "Ra7"):
        ends = edge(result, board, san)
        assert ends.child.kind == "terminal"
        assert ends.Q == 0.0
    assert edge(result, board, "h3").child.kind == "decision"
    assert edge(result, board, "Ra8#").Q == 1.0
    proven = search(board, simulations=1000)
    assert (proven.value, proven.best) == (1.0, edge(proven, board, "Ra8#").action)


@COLOURS
def test_one_half_move_earlier_it_is_no_draw_yet(colour):
    board = seen_by(colour, "6k1/5ppp/8/8/8/8/7P/R3K3 w - - 98 80")
    result = search(board, simulations=60, proofs=False, c_puct=10.0)
    assert edge(result, board, "Ra2").child.kind == "decision"


@COLOURS
@pytest.mark.parametrize(
    ("fen", "san", "ends"),
    [
        ("8/8/8/3k4/8/8/3r4/3K4 w - - 0 1", "Kxd2", True),  # king against king
        ("8/8/8/3k4/8/8/3r4/3KN3 w - - 0 1", "Kxd2", True),  # a knight cannot mate
        ("8/8/8/3k4/8/8/3r4/3KR3 w - - 0 1", "Kxd2", False),  # a rook can
        ("8/8/8/3k4/8/8/3r4/2NKN3 w - - 0 1", "Kxd2", False),  # two knights could
    ],
)
def test_insufficient_material_ends_the_game(fen, san, ends, colour):
    board = seen_by(colour, fen)
    result = search(board, simulations=100, proofs=False, c_puct=10.0)
    kind = edge(result, board, san).child.kind
    assert kind == ("terminal" if ends else "decision")
    board.push_uci(board_san(board, san))
    assert board.is_insufficient_material() is ends
