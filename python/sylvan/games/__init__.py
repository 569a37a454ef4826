"""Games: the contract (`Game`), the built-in games, and adapters.

Games are imported on first use, to keep `import sylvan` fast.

`game` defines the contract; `tic_tac_toe`, `connect_four`, `chess` (with `encoding`) and `blob`
(with `blob_deals`) are built in; `open_spiel` and `gymnasium` (with `gymnasium_spaces`) adapt other
libraries' games; `naming` finds a game by its name.
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

# Public name -> the module of this package that defines it.
_MODULES = {
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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
