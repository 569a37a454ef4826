"""Games: the contract (`Game`), the built-in games, and adapters.

Games are imported on first use, to keep `import sylvan` fast. In the order in which data flows:

`game`                the contract: the class `Game`
`optional`            members that a game may lack, with `Game`'s defaults
`tic_tac_toe`         tic-tac-toe
`connect_four`        Connect Four and its exact solver
`encoding`            layouts of a chess network's inputs and policy outputs
`pawns`               values of chess in pawns
`chess`               chess and Chess960
`pgn`                 chess games read from PGN and written to it
`blob`                Blob: the rules, and each seat's view
`suit_layout`         which cells of a card game's observation belong to which suit
`open_spiel`          adapter: OpenSpiel's games
`gymnasium_vector`    adapter: a vector environment of one copy as an environment
`own_files`           objects from a user's own Python file
`gymnasium_making`    adapter: Gymnasium's environments by name, with wrappers
`gymnasium_spaces`    adapter: action counts and observation arrays of Gymnasium's spaces
`gymnasium`           adapter: Gymnasium's environments as games of one seat
`naming`              games by name, with their parameters
`positions`           positions as people write them
`solved`              sets of solved positions, and counts of mistakes in them
`tic_tac_toe_states`  all reachable states of tic-tac-toe, solved
`connect_four_sets`   three test sets of solved Connect Four positions
"""

from typing import TYPE_CHECKING

from sylvan.games.game import Game
from sylvan.lazy import on_first_use

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

__getattr__ = on_first_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
