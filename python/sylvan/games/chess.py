"""Chess and Chess960.

- *Seats*: White is 0, Black is 1. *Returns* are 1, 0 or -1.
- An *action* is AlphaZero's 8×8×73 code, `73 * square + plane`, from the mover's side: for Black
  the ranks are turned over. `action_to_string` writes UCI, `san` SAN; `string_to_action` reads
  both. Castling is the king's step of two files, in Chess960 the king taking its own rook.
- An *observation* is an array of bit planes, uint64 of shape `(planes,)`, one bit per square. The
  default is the 112 planes of lc0's input format 1: the last eight boards, castling rights, side to
  move and the half-move clock. `expand_planes` unpacks the bits into floats. `Encoding` names the
  layouts of planes and of policy outputs.
- *The end*: checkmate, stalemate and insufficient material end a game; so do threefold repetition
  and fifty moves without capture or pawn move, except at the root of a search: a root that has
  legal moves is searched.

The rules are in Rust (`sylvan._native`); boards, pictures and PGN come from python-chess.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from sylvan import _native
from sylvan.errors import GameOver, IllegalAction, IllegalPosition
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.pawns import centipawns

if TYPE_CHECKING:
    import chess
    import chess.pgn

__all__ = ["Chess", "Encoding", "expand_planes", "first_pgn_error", "has_game", "pgn_builder"]

expand_planes = _native.expand_planes

_WORTH = {"P": 1, "N": 3, "B": 3, "R": 5, "Q": 9}


class Chess(_native.Chess, Game):
    """A game of chess, made from a FEN and the moves that followed it.

    :param fen: the first position; the start of chess if None.
    :param moves: the moves played since: UCI, SAN, codes or python-chess moves in a sequence, or a
        string with spaces between moves. They may continue after a draw could be claimed.
    :param chess960: castling as in Chess960.
    :param repetitions: how often a position must occur inside a search to count as a draw: 3, or 2
        to leave cycles sooner. Positions before the search always need 3.
    :param history_fill: the content of an observation's boards before `fen`: `"no"`
        (nothing), `"fen_only"` (the first position, unless it is the start of chess) or `"always"`.
    :param encoder: the planes of an observation: `"lc0_112"`, `"az119"`, `"planes19"`,
        `"planes18"` or `"planes29"`.
    :param codec: the layout of a network's policy outputs: `"az73"` (the action codes) or `"lc0"`.
    :param syzygy: a folder with Syzygy endgame tables (several, separated as in PATH). A search
        then knows the result of positions in the tables, and at its root considers only moves
        that keep it; the game itself does not end. `probe` queries the tables, `table_hits` counts
        hits.
    :raises IllegalPosition: the FEN cannot be read, or breaks a rule; the message says which.
    :raises IllegalAction: a move is not legal; the message lists the nearest legal moves.
    :raises GameOver: a move follows mate or stalemate.
    :raises ConfigError: an option has an unknown value.

    >>> game = Chess(moves="e4 e5 Nf3")
    >>> print(game)
    8  r n b q k b n r
    7  p p p p . p p p
    6  . . . . . . . .
    5  . . . . p . . .
    4  . . . . P . . .
    3  . . . . . N . .
    2  P P P P . P P P
    1  R N B Q K B . R
       a b c d e f g h   Black to move
    >>> action = game.string_to_action("Nc6")
    >>> game.action_to_string(action), game.san(action), action
    ('b8c6', 'Nc6', 129)
    >>> game.apply(action)
    >>> game.moves
    ['e2e4', 'e7e5', 'g1f3', 'b8c6']
    """

    __slots__ = ()

    num_players = 2
    num_actions = 4672
    zero_sum = True
    default_evaluator = "shipped"
    fallback_evaluator = "material"
    value_range = (-1.0, 1.0)

    if TYPE_CHECKING:

        def __init__(
            self,
            fen: str | None = None,
            moves: str | Iterable[str | int | chess.Move] = (),
            *,
            chess960: bool = False,
            repetitions: int = 3,
            history_fill: str = "fen_only",
            encoder: str = "lc0_112",
            codec: str = "az73",
            syzygy: str | PathLike[str] | None = None,
        ) -> None: ...

    @property
    def encoding(self) -> Encoding:
        """The layout of observations and policy outputs."""
        return Encoding(self.encoder, self.codec, self.history_fill)

    def estimate(self) -> tuple[float, float]:
        """Give a quarter of a win to the side with more material: pawns 1, minor pieces 3, rooks 5,
        queens 9.

        >>> Chess("4k3/8/8/8/8/8/8/R3K3 b - - 0 1").estimate()
        (0.25, -0.25)
        """
        pieces = self.fen().partition(" ")[0]
        white = sum(
            _WORTH.get(piece.upper(), 0) * (1 if piece.isupper() else -1) for piece in pieces
        )
        ahead = 0.25 * ((white > 0) - (white < 0))
        return ahead, -ahead

    def encoded(self, encoding: Encoding | None) -> Self:
        """Return a copy that uses another encoding; None keeps the encoding.

        >>> game = Chess().encoded(Encoding("planes19", "lc0"))
        >>> e4 = game.string_to_action("e4")
        >>> game.observation().shape, game.num_logits, e4, game.logit_index(e4)
        ((19,), 1858, 877, 322)
        """
        if encoding is None:
            return self.clone()
        return self.shown_as(encoding.encoder, encoding.codec, encoding.history_fill)

    @classmethod
    def from_board(cls, board: chess.Board, **options: Any) -> Self:
        """Convert a python-chess board, its move stack included.

        :param options: `repetitions`, `history_fill`, `encoder`, `codec`, `syzygy` as for `Chess`.
        :raises IllegalPosition: the board belongs to a variant, or breaks a rule.
        :raises IllegalAction: the stack has a move that is not legal, such as a null move.

        >>> import chess
        >>> board = chess.Board()
        >>> board.push_san("d4")
        Move.from_uci('d2d4')
        >>> Chess.from_board(board).board() == board
        True
        """
        if not hasattr(board, "move_stack"):
            raise IllegalPosition(
                f"the board is {board!r}: give a chess.Board, or make the game of a FEN with Chess"
            )
        if board.uci_variant != "chess":
            raise IllegalPosition(
                f"the board is a {type(board).__name__}, but only chess and Chess960 are "
                "supported: give a chess.Board"
            )
        start = board.root().fen(en_passant="fen")
        return cls(start, board.move_stack, chess960=board.chess960, **options)

    @classmethod
    def from_pgn(cls, text: str, ply: int | None = None, **options: Any) -> Self:
        """Read the main line of the first game in a PGN, up to `ply` half-moves or its end.

        :param options: `repetitions`, `history_fill`, `encoder`, `codec`, `syzygy` as for `Chess`.
        :raises IllegalPosition: there is no game in the text, or its FEN breaks a rule.
        :raises IllegalAction: a move is not legal, or there are fewer than `ply`.

        >>> Chess.from_pgn("1. e4 e5 2. Nf3 *", ply=2).fen()
        'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2'
        """
        import chess.pgn

        game = chess.pgn.read_game(io.StringIO(text), Visitor=pgn_builder())
        if game is None or not (game.errors or has_game(game)):
            raise IllegalPosition("the text has no game: give a PGN with moves like '1. e4 e5'")
        if game.errors:
            raise first_pgn_error(game)
        moves = list(game.mainline_moves())
        if ply is not None and not 0 <= ply <= len(moves):
            raise IllegalAction(f"ply is {ply}, but the game has 0 to {len(moves)} half-moves")
        board = game.board()
        start = board.fen(en_passant="fen")
        return cls(start, moves[:ply], chess960=board.chess960, **options)

    def board(self) -> chess.Board:
        """Convert to a python-chess board with its move stack.

        States inside a search have no move stack.
        """
        import chess

        board = chess.Board(self.start_fen, chess960=self.chess960)
        for move in self.moves:
            board.push_uci(move)
        return board

    def seat_name(self, seat: int) -> str:
        """Return `White` for seat 0, `Black` for seat 1."""
        return ("White", "Black")[seat]

    def pawns(self, value: float) -> float:
        """Convert a value from -1 to 1 to pawns, as chess programs show it.

        >>> Chess().pawns(0.6)
        3.0
        """
        return centipawns(value) / 100

    def __str__(self) -> str:
        ranks = self.fen().split()[0]
        for number in range(1, 9):
            ranks = ranks.replace(str(number), "." * number)
        lines = [f"{8 - i}  {' '.join(rank)}" for i, rank in enumerate(ranks.split("/"))]
        return "\n".join([*lines, f"   a b c d e f g h   {self._status()}"])

    def _status(self) -> str:
        sides = ("White", "Black")
        if self.outcome == "checkmate":
            return f"{sides[1 - self.to_play()]} has mated"
        if self.outcome is not None:
            return f"draw by {self.outcome.replace('_', ' ')}"
        return f"{sides[self.to_play()]} to move"

    def __repr__(self) -> str:
        options = [
            f"{name}={value!r}"
            for name, default in _OPTIONS.items()
            if (value := getattr(self, name)) != default
        ]
        moves = [f"moves={' '.join(self.moves)!r}"] if self.moves else []
        return f"{type(self).__name__}({', '.join([repr(self.start_fen), *moves, *options])})"

    def _repr_svg_(self) -> str:
        import chess.svg

        board = self.board()
        last = board.move_stack[-1] if board.move_stack else None
        check = board.king(board.turn) if board.is_check() else None
        return str(chess.svg.board(board, lastmove=last, check=check, size=360))


_OPTIONS: dict[str, Any] = {
    "chess960": False,
    "repetitions": 3,
    "history_fill": "fen_only",
    "encoder": "lc0_112",
    "codec": "az73",
    "syzygy": None,
}


def pgn_builder() -> Any:
    """Return a visitor class for `chess.pgn.read_game` that stores move errors and does not log
    them.
    """
    import chess.pgn

    class Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
        def handle_error(self, error: Exception) -> None:
            self.game.errors.append(error)

        def end_variation(self) -> None:
            # python-chess pops the game itself at an unmatched parenthesis after a skipped move.
            if len(self.variation_stack) > 1:
                super().end_variation()

    return Builder


def has_game(game: chess.pgn.Game) -> bool:
    """Whether it has moves or tags: python-chess reads any other text as an empty game."""
    unknown = ("?", "????.??.??", "*", "")
    return bool(game.variations) or any(tag not in unknown for tag in game.headers.values())


def first_pgn_error(game: chess.pgn.Game) -> IllegalAction | IllegalPosition:
    """Convert the first error stored by `pgn_builder` to a Sylvan exception."""
    import chess

    error = " ".join(str(game.errors[0]).split())
    moves = (chess.IllegalMoveError, chess.InvalidMoveError, chess.AmbiguousMoveError)
    if not isinstance(game.errors[0], moves):
        return IllegalPosition(f"the PGN cannot be read: {error}")
    found = re.search(r"(?:san: |for )'?([^' ]+)'? .*?in (\S+ ([wb]) \S+ \S+ \d+ (\d+))$", error)
    if found is None:
        return IllegalAction(f"the PGN has a move that cannot be played: {error}")
    move, fen, side, number = found.groups()
    try:
        Chess(fen, [move], chess960=game.headers.is_chess960())
    except IllegalPosition as wrong:
        return wrong
    except (IllegalAction, GameOver) as wrong:
        error = str(wrong)
    return IllegalAction(
        f"{number}{'...' if side == 'b' else '.'} {move} cannot be played: {error}"
    )
