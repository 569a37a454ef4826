"""Sylvan: planning by tree search guided by a neural network.

>>> import sylvan
>>> from sylvan.games import TicTacToe
>>> sylvan.search(TicTacToe(), simulations=100).best in range(9)
True
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan import errors, moved, registry
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

if TYPE_CHECKING:
    from sylvan import reference, testing
    from sylvan.runs.agent import load

    play: Callable[..., Any]
    watch: Callable[..., Any]

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
    "load",
    "reference",
    "search",
    "testing",
]

WIDGETS = ("play", "watch")
"""Names that need the extra `notebook`; so they are not in `__all__`."""

moved.install()

# Import the views when a result is first displayed.
set_views(lambda: import_module("sylvan.views"))


def __getattr__(name: str) -> Any:
    """Import rarely used names on first use."""
    if name == "reference":
        return import_module("sylvan.reference")
    if name == "testing":
        return import_module("sylvan.testing")
    if name == "load":
        return import_module("sylvan.runs.agent").load
    if name in WIDGETS:
        return registry.find("widgets", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *WIDGETS, "evaluators", "games", "planning"})
