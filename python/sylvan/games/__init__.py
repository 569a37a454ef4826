"""Games: the contract they keep (`Game`), those that come with Sylvan, and adapters.

The games load when first used, so that `import sylvan` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.games.game import Game

if TYPE_CHECKING:
    from sylvan.games.blob import Blob
    from sylvan.games.chess import Chess
    from sylvan.games.connect_four import ConnectFour
    from sylvan.games.encoding import Encoding
    from sylvan.games.gymnasium import GymnasiumGame, from_gymnasium
    from sylvan.games.open_spiel import OpenSpielGame, from_open_spiel
    from sylvan.games.tic_tac_toe import TicTacToe

# Name -> the module of this package that defines it.
_HOMES = {
    "Blob": "blob",
    "Chess": "chess",
    "ConnectFour": "connect_four",
    "Encoding": "encoding",
    "GymnasiumGame": "gymnasium",
    "OpenSpielGame": "open_spiel",
    "TicTacToe": "tic_tac_toe",
    "from_gymnasium": "gymnasium",
    "from_open_spiel": "open_spiel",
}

__all__ = [
    "Blob",
    "Chess",
    "ConnectFour",
    "Encoding",
    "Game",
    "GymnasiumGame",
    "OpenSpielGame",
    "TicTacToe",
    "from_gymnasium",
    "from_open_spiel",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
