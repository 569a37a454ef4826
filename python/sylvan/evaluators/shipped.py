"""Networks that come with Sylvan: Connect Four on 7 × 6, tic-tac-toe.

They lie in `sylvan/nets`, as ONNX, and play without PyTorch; `sylvan/nets/README.md` says which
command made them. `sylvan play` takes them where nothing else is asked for. A search does only when
it is told to (`evaluator="shipped"`): a search by default should find the same whatever files a
version of the package has, and start without loading ONNX Runtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sylvan import _native, registry
from sylvan.errors import ConfigError
from sylvan.evaluators.loading import load_evaluator

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["NETS", "Shipped", "shipped_network"]

NETS = Path(__file__).parents[1] / "nets"
"""Where they are."""


def shipped_network(game: Game) -> Path | None:
    """The network that comes with Sylvan for a game as it is set up; None if there is none.

    >>> from sylvan.games import Chess, ConnectFour
    >>> shipped_network(Chess()), shipped_network(ConnectFour(columns=5, rows=4))
    (None, None)
    """
    from sylvan.networks.header import game_name

    which = registry.find("networks", game_name(game))
    name: str | None = None if which is None else which(game)
    return NETS / name if name is not None and (NETS / name).is_file() else None


def connect_four_network(game: Game) -> str | None:
    """The file in `NETS` for a game of Connect Four."""
    if isinstance(game, _native.ConnectFour) and (game.columns, game.rows) == (7, 6):
        return "connect4.onnx"
    return None


def tic_tac_toe_network(game: Game) -> str | None:
    """The file in `NETS` for a game of tic-tac-toe."""
    return "tictactoe.onnx" if isinstance(game, _native.TicTacToe) else None


class Shipped:
    """An evaluator that asks the network that comes with Sylvan for the game that is searched."""

    name: ClassVar[str] = "shipped"
    preferred_batch = 16

    def __init__(self) -> None:
        self._evaluators: dict[Path, Any] = {}

    def __call__(self, leaves: Any) -> Any:
        """Logits of the legal actions and values.

        :raises ConfigError: no network comes with Sylvan for this game.
        """
        game = leaves.forest.states[0]
        path = shipped_network(game)
        if path is None:
            raise ConfigError(
                f"No network for this {type(game).__name__} comes with Sylvan: use 'rollout', or "
                "train one."
            )
        if path not in self._evaluators:
            self._evaluators[path] = load_evaluator(path)
        return self._evaluators[path](leaves)
