"""All tables, by the code that lets others join."""

from __future__ import annotations

import secrets
import threading

from sylvan.errors import ConfigError
from sylvan.web import protocol as p
from sylvan.web.match import Match
from sylvan.web.table import Table, Visitor

__all__ = ["MOST_TABLES", "Hall"]

MOST_TABLES = 20
"""Tables that may be open; a new one closes the one that has been deserted for longest."""

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Of codes: none is mistaken for another."""


class Hall:
    """The tables of a server."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self._lock = threading.Lock()

    def open(self, match: Match, request: p.Sit, visitor: Visitor) -> Table:
        """A new table for a game, which the caller starts.

        :raises ConfigError: there are too many, and people sit at all of them.
        """
        with self._lock:
            self._make_room()
            code = "".join(secrets.choice(LETTERS) for _ in range(8))
            table = self._tables[code] = Table(code, match, request)
            table.seat(visitor)
        return table

    def find(self, code: str) -> Table:
        """The table of a code.

        :raises ConfigError: there is none.
        """
        table = self._tables.get(code.strip().lower())
        if table is None:
            raise ConfigError("There is no such table any more: start a game of your own.")
        return table

    def close(self) -> None:
        """Close all tables."""
        with self._lock:
            for table in self._tables.values():
                table.close()
            self._tables.clear()

    def _make_room(self) -> None:
        if len(self._tables) < MOST_TABLES:
            return
        deserted = [
            (table.deserted, code)
            for code, table in self._tables.items()
            if table.deserted is not None
        ]
        if not deserted:
            raise ConfigError(
                f"{MOST_TABLES} tables are open, and people sit at all of them: join one of them, "
                "or wait until one is left."
            )
        self._tables.pop(min(deserted)[1]).close()
