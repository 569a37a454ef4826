"""The file of an unfinished game, of any game: its name, first position, seat, seed and actions.

    {"format": "sylvan-game-1", "game": "connect4", "position": ["44"], "seat": 0, ...}

The moves are applied again when it is read, so an edited file cannot break the rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path

from sylvan.engines.match.session import Session
from sylvan.errors import ConfigError, SylvanError
from sylvan.files import write_text

__all__ = ["SavedGame"]

FORMAT = "sylvan-game-1"


@dataclass(frozen=True)
class SavedGame:
    """A game in progress: its start, its moves and its settings."""

    game: str
    """Its name: `connect4`, `path.py:Class`, ..."""
    position: tuple[str, ...]
    """The words of the first position."""
    seat: int
    """The person's."""
    seed: int
    """Of chance."""
    actions: tuple[int, ...]
    """All moves since the first position, chance included."""

    def write(self, path: str | PathLike[str]) -> None:
        """Write the file."""
        write_text(path, json.dumps({"format": FORMAT, **asdict(self)}) + "\n")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> SavedGame:
        """Read a file.

        :raises ConfigError: it is not a saved game.
        """
        try:
            facts = json.loads(Path(path).read_bytes())
            if not isinstance(facts, Mapping) or facts.get("format") != FORMAT:
                raise ConfigError(f"its format is not {FORMAT!r}.")
            return cls(
                game=str(facts["game"]),
                position=tuple(str(word) for word in facts["position"]),
                seat=int(facts["seat"]),
                seed=int(facts["seed"]),
                actions=tuple(int(action) for action in facts["actions"]),
            )
        except ConfigError as error:
            raise ConfigError(f"{path} is not a saved game: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            reason = f"{type(error).__name__}, {error}"
            raise ConfigError(
                f"{path} is not a saved game ({reason}): give a file that `save game.json` wrote; "
                "a PGN cannot be resumed."
            ) from None

    def apply(self, session: Session, path: str | PathLike[str]) -> None:
        """Apply the actions to a session in the first position.

        :param path: names the file in errors.
        :raises ConfigError: an action breaks the rules.
        """
        try:
            session.replay(self.actions)
        except SylvanError as error:
            raise ConfigError(f"{path} is not a game of {self.game}: {error}") from None
