"""Sylvan: planning by tree search guided by a neural network.

>>> import sylvan
>>> from sylvan.games import TicTacToe
>>> sylvan.search(TicTacToe(), simulations=100).best in range(9)
True
"""

from importlib import import_module

from sylvan import errors
from sylvan._native import Rng, __version__
from sylvan.games.game import Game
from sylvan.planning import (
    Forest,
    LatentSearch,
    Leaves,
    Search,
    SearchConfig,
    SearchResult,
    search,
)
from sylvan.planning.display import set_views

__all__ = [
    "Forest",
    "Game",
    "LatentSearch",
    "Leaves",
    "Rng",
    "Search",
    "SearchConfig",
    "SearchResult",
    "__version__",
    "errors",
    "search",
]

# Pictures load when something is first shown.
set_views(lambda: import_module("sylvan.views"))
