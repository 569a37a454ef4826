"""Games by name: `connect4`, `my_game.py:MyGame`, `open_spiel:breakthrough(rows=6)`,
`gym:CartPole-v1`.

A name and its parameters determine a game's first state, so a run folder needs to store
nothing else to play the same game again.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sylvan import registry
from sylvan.errors import ConfigError, GameContractError, SylvanError
from sylvan.games.game import Game
from sylvan.games.optional import dealt_from
from sylvan.games.own_files import load_object

__all__ = ["BUILT_IN", "GameSpec"]

BUILT_IN = {
    "blob": "Blob",
    "chess": "Chess",
    "connect4": "ConnectFour",
    "tictactoe": "TicTacToe",
}
"""Names of the native games and their classes in `sylvan.games`."""

START_ATTEMPTS = 4
"""Seeds to try if an environment fails to start."""


@dataclass(frozen=True)
class GameSpec:
    """A game's name and parameters; makes new first states.

    >>> GameSpec("connect4", {"columns": 5, "rows": 4}).first().legal_actions()
    [0, 1, 2, 3, 4]
    >>> GameSpec("conect4").first()
    Traceback (most recent call last):
    sylvan.errors.ConfigError: There is no game 'conect4': did you mean 'connect4'?
    """

    name: str
    """`chess`, `path.py:Class`, `open_spiel:name`, `gym:name` or `gym:path.py:Class`."""
    params: dict[str, Any] = field(default_factory=dict)
    """Arguments of the class; for environments those of `from_gymnasium`."""

    def first(self, start: str = "") -> Game:
        """Return a new first state.

        :param start: another initial position, for games that take one: a FEN.
        :raises ConfigError: the game does not exist, or does not take these parameters.
        :raises GameContractError: an environment fails to start.
        """
        if start:
            return self._made(start)
        return self._any_episode() if self.is_gymnasium else self._first.clone()

    def _any_episode(self) -> Game:
        """Start an episode with the first seed that works."""
        for seed in range(START_ATTEMPTS):
            try:
                return self.episode(seed)
            except SylvanError:
                raise
            except Exception as error:
                fault = error
        raise GameContractError(
            f"The environment {self.name} raised {type(fault).__name__} ({fault}) with each of the "
            f"seeds 0 to {START_ATTEMPTS - 1}: fix it, or name another."
        ) from fault

    def episode(self, seed: int, over: Game | None = None) -> Game:
        """Return a new first state whose randomness follows from a seed.

        :param over: a finished game whose environment can be reused.
        """
        if not self.is_gymnasium:
            return dealt_from(self.first(), seed)
        if over is not None:
            over.restart(seed)  # type: ignore[attr-defined]
            return over
        return self._made(seed)

    @property
    def is_native(self) -> bool:
        """Whether the rules are in Rust, so that positions are replayed, not stored."""
        return self.name in BUILT_IN

    @property
    def is_gymnasium(self) -> bool:
        """Whether it is a Gymnasium environment, whose rules are unknown."""
        return self.name.startswith("gym:")

    @property
    def short_name(self) -> str:
        """Name for tables and titles: `Nim` for `games/nim.py:Nim`."""
        return self.name.rpartition(":")[2]

    @cached_property
    def _first(self) -> Game:
        return self._made()

    def _made(self, *arguments: Any) -> Game:
        if self.name.startswith("open_spiel:"):
            from sylvan.games.open_spiel import from_open_spiel

            if arguments or self.params:
                raise ConfigError(
                    f"{self.name} takes its parameters in its name: open_spiel:name(rows=6)."
                )
            return from_open_spiel(self.name.removeprefix("open_spiel:"))
        if self.is_gymnasium:
            from sylvan.games.gymnasium import from_gymnasium

            if arguments and isinstance(arguments[0], str):
                raise ConfigError(
                    f"{self.name} takes no initial position: leave {arguments[0]!r} out."
                )
            name: Any = self.name.removeprefix("gym:")
            if ".py:" in name:
                name = load_object(name, "the environment's class")
            return from_gymnasium(name, *arguments, **self.params)
        try:
            state: Game = self._class(*arguments, **self.params)
        except TypeError as error:
            given = arguments or self.params
            fault = f"does not take {given}" if given else "cannot be made without arguments"
            raise ConfigError(f"The game {self.name} {fault}: {error}.") from None
        # Without a seed, chance deals: the actions alone then determine the game.
        return state if "seed" in self.params else dealt_from(state, None)

    @cached_property
    def _class(self) -> Any:
        known = registry.find("games", self.name)
        if known is not None:
            return known
        path, colon, name = self.name.rpartition(":")
        if self.name.endswith(".py"):
            raise ConfigError(f"{self.name} names no game: add its class, {self.name}:MyGame.")
        if not colon or not path.endswith(".py"):
            names = sorted(registry.names("games"))
            close = difflib.get_close_matches(self.name, names, 1, 0.5)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"give {', '.join(names)}, path.py:Class, open_spiel:name or gym:name."
            )
            raise ConfigError(f"There is no game {self.name!r}: {hint}")
        found = load_object(self.name, "the game's class")
        if not (isinstance(found, type) and issubclass(found, Game)):
            raise GameContractError(
                f"{name} in {path} is not a game: it must subclass sylvan.Game, or have its "
                "methods."
            )
        return found
