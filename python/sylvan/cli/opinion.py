"""Exact values during a game, from solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.errors import ConfigError, SolveTimeout

if TYPE_CHECKING:
    from sylvan.games import ConnectFour, Game, TicTacToe
    from sylvan.games.connect_four import Solver

__all__ = ["Oracle"]

PATIENCE = 20.0
"""Seconds before a solve is given up."""


class Oracle:
    """Solves positions of Connect Four and tic-tac-toe, and caches the results.

    >>> from sylvan.games import TicTacToe
    >>> print(Oracle().opinion(TicTacToe([0])))
    With perfect play the game is drawn. Moves that keep it so: 4.
    """

    def __init__(self) -> None:
        self._solver: Solver | None = None

    def opinion(self, game: Game) -> str:
        """Return the value of a position and the moves that keep it.

        :raises ConfigError: the game has no solver, or the position has too few stones.
        """
        from sylvan.games import ConnectFour, TicTacToe

        if isinstance(game, TicTacToe):
            return _tic_tac_toe(game)
        if isinstance(game, ConnectFour):
            return self._connect_four(game)
        raise ConfigError(f"There is no solver for {type(game).__name__}: ask for a hint.")

    def _connect_four(self, game: ConnectFour) -> str:
        from sylvan.games.connect_four import Solver

        self._solver = self._solver or Solver(256)
        try:
            return str(self._solver.solve(game, PATIENCE))
        except SolveTimeout:
            raise ConfigError(
                f"The solver did not finish within {PATIENCE:g} s, it is too early in the game: "
                "ask "
                "again, it remembers, or after some moves."
            ) from None


def _tic_tac_toe(game: TicTacToe) -> str:
    from sylvan.games.tic_tac_toe_states import tic_tac_toe_moves

    moves, value = tic_tac_toe_moves(game)
    end = {1: "the seat to move wins", 0: "the game is drawn", -1: "the seat to move loses"}[value]
    names = ", ".join(game.action_to_string(move) for move in moves)
    return f"With perfect play {end}. Moves that keep it so: {names}."
