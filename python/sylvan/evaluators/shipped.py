"""Networks that come with Sylvan: chess, Connect Four on 7 × 6, tic-tac-toe.

They are ONNX files in `sylvan/nets` and run without PyTorch; `sylvan/nets/README.md` gives the
command that made each. The name `shipped` stands for them. It is the default evaluator of these
games everywhere: in searches, analyses, matches and games against people.

On other boards the default is the game's `fallback_evaluator`. It also takes the place of a file
that is missing or damaged, with a `RuntimeWarning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sylvan import _native, registry
from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.loading import load_evaluator

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Answer, Evaluator, Leaves
    from sylvan.games import Game

__all__ = ["NETS", "Shipped", "shipped_network"]

NETS = Path(__file__).parents[1] / "nets"
"""The folder of these networks."""


def shipped_network(game: Game) -> Path | None:
    """Return the network that comes with Sylvan for a game with its options; None if there is none.

    >>> from sylvan.games import Chess, ConnectFour
    >>> shipped_network(Chess()).name, shipped_network(ConnectFour(columns=5, rows=4))
    ('chess.onnx', None)
    """
    path = _path(game)
    return path if path is not None and path.is_file() else None


def _path(game: Game) -> Path | None:
    """Return where the network of a game is; None if no network is for it."""
    from sylvan.networks.header import game_name

    choose: Callable[[Game], str | None] | None = registry.find("networks", game_name(game))
    name = None if choose is None else choose(game)
    return None if name is None else NETS / name


def chess_network(game: Game) -> str | None:
    """Return the file in `NETS` for a game of chess."""
    return "chess.onnx" if isinstance(game, _native.Chess) else None


def connect_four_network(game: Game) -> str | None:
    """Return the file in `NETS` for a game of Connect Four; None if its board is another."""
    if isinstance(game, _native.ConnectFour) and (game.columns, game.rows) == (7, 6):
        return "connect4.onnx"
    return None


def tic_tac_toe_network(game: Game) -> str | None:
    """Return the file in `NETS` for a game of tic-tac-toe."""
    return "tictactoe.onnx" if isinstance(game, _native.TicTacToe) else None


class Shipped:
    """Stands for the network that comes with Sylvan for the searched game."""

    name: ClassVar[str] = "shipped"
    preferred_batch = 16

    def of(self, game: Game) -> Evaluator:
        """Return the evaluator of the network for a game.

        :raises ConfigError: Sylvan has no network for this game.
        :raises NetworkError: its file is missing or damaged.
        """
        path = _path(game)
        if path is None:
            raise ConfigError(
                f"No network for this {type(game).__name__} comes with Sylvan: use 'rollout', or "
                "train a network."
            )
        if not path.is_file():
            raise NetworkError(f"{path.name}, a part of Sylvan, is missing: install it again.")
        return _loaded(path)

    def of_or(self, game: Game, fallback: Evaluator) -> Evaluator:
        """Return the evaluator of the network, or `fallback`; warn if there should be a network."""
        if _path(game) is None:
            return fallback
        try:
            return self.of(game)
        except (ConfigError, NetworkError) as error:
            warnings.warn(f"{error} The search uses {fallback!r}.", RuntimeWarning, stacklevel=2)
            return fallback

    def __call__(self, leaves: Leaves) -> Answer:
        """Return logits of the legal actions and values."""
        return self.of(leaves.forest.states[0])(leaves)


@cache
def _loaded(path: Path) -> Evaluator:
    """Load a network once per process."""
    network: Evaluator = load_evaluator(
        path, name=f"{path.stem} network", mates=path.stem == "chess"
    )
    return network
