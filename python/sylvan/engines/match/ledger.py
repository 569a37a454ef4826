"""The file of a match, append-only: a header, then one line per game.

JSON lines. The first identifies the match (`Match.identity`); each other line is a `Played` game. A
line is valid once its newline is written. A killed program loses at most the line being written,
which is cut off when the match resumes.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any, Self

from sylvan.engines.match.match import Match, Played
from sylvan.errors import ConfigError

__all__ = ["Ledger"]

FORMAT = 1


class Ledger:
    """A match's file, open for appending games.

    :raises ConfigError: the file belongs to another match, is damaged, or cannot be written.
    """

    def __init__(self, path: Path, match: Match) -> None:
        """Open or create the file."""
        self.path = path
        self.games: list[Played] = []
        """The games in the file, in the order of their ends."""
        head = {"sylvan_match": FORMAT, **match.identity()}
        try:
            self._file: IO[bytes] = path.open("r+b" if path.exists() else "x+b")
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
        try:
            self._lock()
            self._load(head)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        """Lock the file: only one match may write to it."""
        try:
            import fcntl
        except ImportError:  # not available on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(
                f"{self.path} is being written by another match: wait for it"
            ) from None

    def _load(self, head: dict[str, Any]) -> None:
        data = self._file.read()
        end = data.rfind(b"\n") + 1
        lines = data[:end].splitlines()
        if lines:
            _check_head(self.path, self._parsed(lines[0], 1), head)
        elif data.strip() and not json.dumps(head).encode().startswith(data):
            raise ConfigError(f"{self.path} is not a match file: give another name")
        self.games = [self._game(line, i) for i, line in enumerate(lines[1:], start=2)]
        numbers = [game.number for game in self.games]
        if len(set(numbers)) < len(numbers):
            raise ConfigError(f"{self.path} is damaged: it contains a game twice; start a new file")
        self._file.truncate(end)
        self._file.seek(end)
        if not lines:
            self._write(head)

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            facts = json.loads(line)
        except ValueError:
            facts = None
        if not isinstance(facts, dict):
            raise ConfigError(
                f"{self.path} is not a match file, or is damaged: line {number} is not a JSON "
                "object; give another name"
            )
        return facts

    def _game(self, line: bytes, number: int) -> Played:
        facts = self._parsed(line, number)
        if set(facts) != {field.name for field in fields(Played)}:
            raise ConfigError(
                f"{self.path} is damaged: line {number} is not a game; start a new file"
            )
        return Played(**{**facts, "seconds": tuple(facts["seconds"])})

    def add(self, game: Played) -> None:
        """Append a game; it is on disk when this returns."""
        self._write(asdict(game))
        self.games.append(game)

    def _write(self, facts: dict[str, Any]) -> None:
        self._file.write(json.dumps(facts).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_head(path: Path, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise unless the file belongs to this match."""
    if "sylvan_match" not in found:
        raise ConfigError(f"{path} is not a match file: give another name")
    differing = [name for name in expected if found.get(name) != expected[name]]
    if differing:
        name = differing[0]
        raise ConfigError(
            f"{path} belongs to another match: its {name} is "
            f"{_shown(found.get(name))}, not {_shown(expected[name])}; give another file"
        )


def _shown(facts: Any) -> str:
    return json.dumps(facts)
