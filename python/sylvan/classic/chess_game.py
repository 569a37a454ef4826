"""`ChessGame` of the document `mcts-specification`, and its boards for the network.

Boards are `[rank, file, plane]` and move indices are 8×8×73 codes, both from the mover's side: a
position and its mirror image differ in one plane only, and mirrored moves have the same index.
"""

from __future__ import annotations

import chess
import numpy as np
from numpy.typing import NDArray

from sylvan.errors import IllegalAction
from sylvan.games.chess import Chess, expand_planes
from sylvan.games.encoding import Encoding

__all__ = ["PLANES", "POLICY_SIZE", "ChessGame", "boards_of"]

PLANES = Encoding(encoder="planes18")
POLICY_SIZE = Chess.num_actions


class ChessGame:
    """A game of chess with its move history.

    It ends with checkmate, stalemate or insufficient material, and as a draw as soon as a player
    could claim one: at the third repetition of a position, or after fifty moves without a capture
    or pawn move.

    >>> game = ChessGame()
    >>> game.make_move(chess.Move.from_uci("e2e4"))
    >>> game.get_canonical_board().shape, int(game.get_legal_moves_mask().sum())
    ((8, 8, 18), 20)
    """

    def __init__(self, fen: str | None = None) -> None:
        """Create a game from a FEN, or from the start.

        :raises ValueError: the FEN cannot be read or breaks a rule.
        """
        self.state = Chess(fen, encoder=PLANES.encoder)
        """The game as a `sylvan.games.Chess`, for searches."""

    @property
    def board(self) -> chess.Board:
        """The game as a python-chess board with its move stack, as a copy."""
        return self.state.board()

    def clone(self) -> ChessGame:
        """An independent copy."""
        copy = ChessGame.__new__(ChessGame)
        copy.state = self.state.clone()
        return copy

    def get_state(self) -> str:
        """The FEN."""
        return self.state.fen()

    def get_legal_moves(self) -> list[chess.Move]:
        """The legal moves; empty when the game is over."""
        return list(map(self._move, self.state.legal_actions()))

    def get_legal_moves_mask(self) -> NDArray[np.bool_]:
        """Whether each move index is legal, `[4672]`."""
        mask = np.zeros(POLICY_SIZE, bool)
        mask[list(self.state.legal_actions())] = True
        return mask

    def make_move(self, move: chess.Move) -> None:
        """Play a move.

        :raises ValueError: it is not legal, or the game is over.
        """
        self.state.push(move)

    def undo_move(self) -> chess.Move:
        """Take back the last move and return it.

        :raises ValueError: no move was played.
        """
        moves = self.state.moves
        if not moves:
            raise IllegalAction("There is no move to take back: none was played.")
        self.state = Chess(self.state.start_fen, moves[:-1], encoder=PLANES.encoder)
        return chess.Move.from_uci(moves[-1])

    def is_game_over(self) -> bool:
        """Whether the game has ended."""
        return self.state.is_terminal()

    def get_result(self) -> int | None:
        """The result for the side to move: -1 if mated, 0 for a draw; None before the end.

        The side to move cannot have won.
        """
        if not self.is_game_over():
            return None
        return int(self.state.returns()[self.state.to_play()])

    def get_canonical_board(self) -> NDArray[np.float32]:
        """The view of the side to move, `[8, 8, 18]`: rank, file, plane.

        Planes 0-5 are its pawns, knights, bishops, rooks, queens and king, 6-11 the opponent's;
        12, 13 its castling rights (king's, queen's side), 14, 15 the opponent's; 16 the square
        of a capture en passant; 17 is all ones if Black is to move.
        """
        board: NDArray[np.float32] = boards_of(self.state.observation()[None])[0]
        return board

    def get_move_index(self, move: chess.Move) -> int:
        """The index of a legal move, `73 * square + plane` from the mover's side.

        :raises ValueError: the move is not legal here.
        """
        return self.state.string_to_action(move.uci())

    def get_move_from_index(self, index: int) -> chess.Move:
        """The legal move with an index.

        :raises ValueError: no legal move has this index.
        """
        if index not in self.state.legal_actions():
            raise IllegalAction(
                f"Index {index} is no legal move of {self.get_state()!r}: take one that "
                "get_legal_moves_mask has."
            )
        return self._move(int(index))

    def _move(self, action: int) -> chess.Move:
        return chess.Move.from_uci(self.state.action_to_string(action))


def boards_of(packed: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Unpack planes `[n, 18]` to boards `[n, 8, 8, 18]`."""
    boards: NDArray[np.float32] = expand_planes(packed, PLANES.encoder).transpose(0, 2, 3, 1)
    return boards
