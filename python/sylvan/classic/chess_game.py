"""The game that `mcts-specification` searches, and how it shows itself to a network.

Boards are `[rank, file, plane]` and move indices 8×8×73 codes, both from the mover's side: a
position and its mirror image differ in one plane, and the same moves have the same index.
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
    """A game of chess with the moves played so far.

    It ends with checkmate, stalemate, insufficient material, and with a draw as soon as it could be
    claimed: when a position has come up three times, or after fifty moves without a capture or a
    pawn's move.

    >>> game = ChessGame()
    >>> game.make_move(chess.Move.from_uci("e2e4"))
    >>> game.get_canonical_board().shape, int(game.get_legal_moves_mask().sum())
    ((8, 8, 18), 20)
    """

    def __init__(self, fen: str | None = None) -> None:
        """A game from a FEN, or from the start.

        :raises ValueError: the FEN cannot be read or breaks a rule.
        """
        self.state = Chess(fen, encoder=PLANES.encoder)
        """The game as the search takes it."""

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
        """What may be played; nothing once the game is over."""
        return list(map(self._move, self.state.legal_actions()))

    def get_legal_moves_mask(self) -> NDArray[np.bool_]:
        """`[4672]` true at the indices of legal moves."""
        mask = np.zeros(POLICY_SIZE, bool)
        mask[list(self.state.legal_actions())] = True
        return mask

    def make_move(self, move: chess.Move) -> None:
        """Play a move.

        :raises ValueError: it is not legal, or the game is over.
        """
        self.state.push(move)

    def undo_move(self) -> chess.Move:
        """Take the last move back and return it.

        :raises ValueError: none was played.
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
        """For the side to move: -1 if it is mated, 0 for a draw; None while the game goes on.

        (A game never ends with a win for the side to move.)
        """
        if not self.is_game_over():
            return None
        return int(self.state.returns()[self.state.to_play()])

    def get_canonical_board(self) -> NDArray[np.float32]:
        """`[8, 8, 18]` what the side to move sees: rank, file, plane.

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
        """The legal move of an index.

        :raises ValueError: no legal move has it.
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
    """Packed planes `[n, 18]` as boards `[n, 8, 8, 18]`."""
    boards: NDArray[np.float32] = expand_planes(packed, PLANES.encoder).transpose(0, 2, 3, 1)
    return boards
