"""Import the modules of a package when their names are first used, so that imports are fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    :param package: its `__name__`.
    :param homes: the module of the package that defines each name.

    >>> find = on_first_use("sylvan.games", {"Chess": "chess"})
    >>> find("Chess").__module__
    'sylvan.games.chess'
    >>> find("Ches")
    Traceback (most recent call last):
    AttributeError: module 'sylvan.games' has no attribute 'Ches'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
