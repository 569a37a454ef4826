"""Exact values during a game, from solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.errors import ConfigError, SolveTimeout

if TYPE_CHECKING:
    from sylvan.games import ConnectFour, Game, TicTacToe
    from sylvan.games.connect_four import Solver

__all__ = ["Oracle"]

SOLVE_SECONDS = 20.0
"""Timeout of a solve in seconds."""


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

        :raises ConfigError: the game has no solver, or the solver did not finish in time.
        """
        from sylvan.games import ConnectFour, TicTacToe

        if isinstance(game, TicTacToe):
            return _tic_tac_toe(game)
        if isinstance(game, ConnectFour):
            return self._connect_four(game)
        raise ConfigError(f"There is no solver for {type(game).__name__}: use hint.")

    def _connect_four(self, game: ConnectFour) -> str:
        from sylvan.games.connect_four import Solver

        self._solver = self._solver or Solver(256)
        try:
            return str(self._solver.solve(game, SOLVE_SECONDS))
        except SolveTimeout:
            raise ConfigError(
                f"The solver did not finish within {SOLVE_SECONDS:g} s: try again, it continues "
                "from its cache, or make some moves first."
            ) from None


def _tic_tac_toe(game: TicTacToe) -> str:
    from sylvan.games.tic_tac_toe_states import tic_tac_toe_moves

    moves, value = tic_tac_toe_moves(game)
    end = {1: "the seat to move wins", 0: "the game is drawn", -1: "the seat to move loses"}[value]
    names = ", ".join(game.action_to_string(move) for move in moves)
    return f"With perfect play {end}. Moves that keep it so: {names}."
