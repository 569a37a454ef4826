"""Resources that the server offers every page: games, networks, memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from sylvan import registry
from sylvan.errors import ConfigError
from sylvan.evaluators import Evaluator, evaluator_for, load_evaluator, shipped_network
from sylvan.evaluators.shipped import Shipped
from sylvan.games import Game
from sylvan.web import protocol as p
from sylvan.web.settings import panel

__all__ = ["DEFAULT", "Desk"]

DEFAULT = "default"
"""The network that comes with Sylvan for a game, else the game's own default."""

BUILT_IN = ("material", "rollout", "uniform")


@dataclass(frozen=True)
class Desk:
    """Resources that the server offers every page."""

    start: str = "chess"
    """The game that a page opens first."""
    networks: Mapping[str, Path] = field(default_factory=dict)
    """Networks that pages may search with, by name."""
    runs: tuple[Path, ...] = ()
    """Folders of runs, or runs, that pages may watch; a folder may not exist yet."""
    trains: bool = False
    """Whether pages may start, pause and resume runs."""
    memory: int = 256 * 2**20
    """Bytes of one page's tree."""

    @property
    def games(self) -> list[str]:
        """The games that a page may open, the first one first: a name may be a file to run."""
        known = sorted({*registry.names("games")} - {self.start})
        return [self.start, *known]

    def hello(self) -> p.Hello:
        """The first message to a page."""
        return p.Hello(
            version=metadata.version("sylvan"),
            games=self.games,
            evaluators=[DEFAULT, *self.networks, *BUILT_IN],
            settings=panel(),
            start=self.start,
        )

    def need_game(self, name: str) -> None:
        """:raises ConfigError: the server does not offer the game."""
        if name not in self.games:
            offered = ", ".join(self.games)
            raise ConfigError(
                f"There is no game {name!r} here: choose one of {offered}, or start the server "
                "with it: sylvan web GAME."
            )

    def first_networks(self) -> None:
        """Load each network once, so that a wrong path is said before a page asks.

        :raises NetworkError: a file is missing or damaged.
        """
        for name in self.networks:
            self.evaluator(name)

    def evaluator(self, name: str) -> Evaluator | str | None:
        """The evaluator of a name in `hello`; a network is loaded for each page.

        :raises ConfigError: the server does not offer it.
        """
        if name in self.networks:
            return load_evaluator(self.networks[name], cache_bytes=32 * 2**20, name=name)
        if name == DEFAULT:
            return None
        if name not in BUILT_IN:
            offered = ", ".join(self.hello().evaluators)
            raise ConfigError(f"There is no evaluator {name!r} here: choose one of {offered}.")
        return name

    def evaluator_for(self, game: Game, name: str, loaded: Evaluator | str | None) -> Evaluator:
        """The evaluator that searches `game`; `loaded` is what `evaluator(name)` gave."""
        if name == DEFAULT and shipped_network(game) is not None:
            return evaluator_for(game, Shipped())
        return evaluator_for(game, loaded)
