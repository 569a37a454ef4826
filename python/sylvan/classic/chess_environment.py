"""`ChessEnvironment` of the programs around the document `muzero-chess`.

    environment = ChessEnvironment()
    observation = environment.reset()
    observation, reward, done, info = environment.step(environment.get_legal_actions()[0])

Observations `[8, 8, 19]` are `[rank, file, plane]`; actions 0 to 4671 are `73 * square + plane`.
Both are from the view of the side to move: a square has the same index in both, and a position and
its mirror image differ in one plane only. Every legal move has its own action, which decodes to the
same move; promotions to a queen and to lesser pieces are different actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameOver
from sylvan.games.chess import Chess, expand_planes

__all__ = ["ChessEnvironment"]


class ChessEnvironment:
    """A game of chess; the caller moves for both sides.

    >>> environment = ChessEnvironment("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    >>> observation = environment.reset()
    >>> mate = environment.state.string_to_action("Ra8#")
    >>> observation, reward, done, info = environment.step(mate)
    >>> observation.shape, reward, done, info["outcome"]
    ((8, 8, 19), 1.0, True, 'checkmate')
    """

    observation_shape = (8, 8, 19)
    action_space_size = Chess.num_actions

    def __init__(self, fen: str | None = None, max_moves: int | None = 512) -> None:
        """Create a game from a FEN, or from the start.

        Args:
            fen: the first position
            max_moves: half-moves after which the game ends as a draw, 512 as in the publication's
                board games; None: no limit

        :raises ValueError: the FEN cannot be read or breaks a rule.
        """
        if max_moves is not None and max_moves < 1:
            raise ConfigError(f"max_moves is {max_moves}: give at least 1, or None.")
        self.max_moves = max_moves
        self._first = Chess(fen, encoder="planes19")
        self.reset()

    def reset(self) -> NDArray[np.float32]:
        """Start again; return the first observation."""
        self.state: Chess = self._first.clone()
        """The game."""
        self.outcome: str | None = self.state.outcome
        """Why it is over: `checkmate`, `stalemate`, ..., `illegal_move` or `move_limit`."""
        return self.observation()

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return self.outcome is not None

    def observation(self) -> NDArray[np.float32]:
        """The view of the side to move, `[8, 8, 19]`.

        Planes 0-5 are its pawns, knights, bishops, rooks, queens and king, 6-11 the opponent's; 12
        is all ones if Black is to move; 13, 14 its castling rights (king's, queen's side), 15, 16
        the opponent's; 17 the square of a capture en passant; 18 half-moves since the last capture
        or pawn's move, in hundreds.
        """
        planes: NDArray[np.float32] = expand_planes(self.state.observation()[None], "planes19")
        return np.ascontiguousarray(planes[0].transpose(1, 2, 0))

    def get_legal_actions(self) -> list[int]:
        """The legal actions of the side to move; empty when the game is over."""
        return [] if self.done else list(self.state.legal_actions())

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, dict[str, Any]]:
        """Play an action.

        Returns:
            the observation of the next side to move; the reward of the side that moved (1 for mate,
            -1 for an illegal action, else 0); whether the game is over; a dictionary with
            `to_play`, `outcome`, `move` and `fen`

        :raises GameOver: the game was over before.
        """
        if self.done:
            raise GameOver(f"The game is over ({self.outcome}): call reset().")
        reward, move = -1.0, None
        if action in self.state.legal_actions():
            mover, move = self.state.to_play(), self.state.action_to_string(int(action))
            self.state.apply(int(action))
            self.outcome, reward = self.state.outcome, 0.0
            if self.state.is_terminal():
                reward = float(self.state.returns()[mover])
            elif len(self.state.moves) == self.max_moves:
                self.outcome = "move_limit"
        else:  # the position stays; the game is lost
            self.outcome = "illegal_move"
        info = {
            "to_play": self.state.to_play(),
            "outcome": self.outcome,
            "move": move,
            "fen": self.state.fen(),
        }
        return self.observation(), reward, self.done, info
