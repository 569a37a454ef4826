"""Networks that come with Sylvan: Connect Four on 7 × 6, tic-tac-toe.

They are ONNX files in `sylvan/nets` and run without PyTorch; `sylvan/nets/README.md` gives the
command that made each. `sylvan play` uses them by default. A search uses them only on request
(`evaluator="shipped"`), so that its default results do not change with the files of a version, and
it starts without loading ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sylvan import _native, registry
from sylvan.errors import ConfigError
from sylvan.evaluators.loading import load_evaluator

if TYPE_CHECKING:
    from sylvan.evaluators.cached import Cached
    from sylvan.evaluators.network import NetworkEvaluator
    from sylvan.evaluators.protocol import Answer, Leaves
    from sylvan.games import Game

__all__ = ["NETS", "Shipped", "shipped_network"]

NETS = Path(__file__).parents[1] / "nets"
"""The folder of these networks."""


def shipped_network(game: Game) -> Path | None:
    """Return the network that comes with Sylvan for a game with its options; None if there is none.

    >>> from sylvan.games import Chess, ConnectFour
    >>> shipped_network(Chess()), shipped_network(ConnectFour(columns=5, rows=4))
    (None, None)
    """
    from sylvan.networks.header import game_name

    choose: Callable[[Game], str | None] | None = registry.find("networks", game_name(game))
    name = None if choose is None else choose(game)
    return NETS / name if name is not None and (NETS / name).is_file() else None


def connect_four_network(game: Game) -> str | None:
    """Return the file in `NETS` for a game of Connect Four; None if its board is another."""
    if isinstance(game, _native.ConnectFour) and (game.columns, game.rows) == (7, 6):
        return "connect4.onnx"
    return None


def tic_tac_toe_network(game: Game) -> str | None:
    """Return the file in `NETS` for a game of tic-tac-toe."""
    return "tictactoe.onnx" if isinstance(game, _native.TicTacToe) else None


class Shipped:
    """An evaluator that uses the network that comes with Sylvan for the searched game."""

    name: ClassVar[str] = "shipped"
    preferred_batch = 16

    def __init__(self) -> None:
        self._evaluators: dict[Path, NetworkEvaluator | Cached] = {}

    def __call__(self, leaves: Leaves) -> Answer:
        """Return logits of the legal actions and values.

        :raises ConfigError: Sylvan has no network for this game.
        """
        game = leaves.forest.states[0]
        path = shipped_network(game)
        if path is None:
            raise ConfigError(
                f"No network for this {type(game).__name__} comes with Sylvan: use 'rollout', or "
                "train a network."
            )
        if path not in self._evaluators:
            self._evaluators[path] = load_evaluator(path)
        return self._evaluators[path](leaves)
