"""Plugins, found by name through entry points.

A lower room cannot import a higher one. The higher room therefore declares its players, yardsticks,
networks and lessons as entry points in `pyproject.toml`, as other packages do, and they load on
first use. Worker processes read the same declarations.

| group | name | object |
|---|---|---|
| `sylvan.games` | a game's name | its class, a subclass of `Game` |
| `sylvan.evaluators` | an evaluator's name | its class; called without arguments |
| `sylvan.networks` | a game's name | `(game) -> Path | None`: the network that comes with it |
| `sylvan.players` | a kind of player | a `PlayerKind` (`sylvan.players.specs`) |
| `sylvan.yardsticks` | a game's name | a `Yardsticks` (`sylvan.ratings.yardsticks`) |
| `sylvan.lessons` | a game's name | a `Lesson` (`sylvan.learning.pretrain`) |
| `sylvan.widgets` | `result`, `play`, `watch` | a function that makes a widget for a notebook |
| `sylvan.loggers` | a logger's name | a `Logger` (`sylvan.runs.logger`); called without arguments |
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from sylvan.errors import MissingEntryPoint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["find", "load", "names"]

GROUPS = (
    "games", "evaluators", "networks", "players", "yardsticks", "lessons", "loggers", "widgets",
)  # fmt: skip


@cache
def _group(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; the first package on the path wins."""
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"sylvan.{group}"):
        found.setdefault(entry.name, entry)
    if not found:  # our own package declares some in every group
        raise MissingEntryPoint(
            f"This installation of Sylvan lists no {group}: it was made by an older version; "
            "install Sylvan again (in a source tree: pip install -e .)."
        )
    return found


def names(group: str) -> Iterable[str]:
    """List the names of a group."""
    return _group(group).keys()


def find(group: str, name: str) -> Any:
    """Load the object of this name in a group; None if the group has no such name.

    :raises MissingEntryPoint: the group is empty, because the installation is too old.
    """
    entry = _group(group).get(name)
    return None if entry is None else entry.load()


def load(group: str, name: str) -> Any:
    """Load an object that Sylvan itself declares.

    :raises MissingEntryPoint: the installation does not list it.
    """
    found = find(group, name)
    if found is None:
        raise MissingEntryPoint(
            f"This installation of Sylvan lists no {name!r} among its {group}: it was made by an "
            "older version; install Sylvan again (in a source tree: pip install -e .)."
        )
    return found
