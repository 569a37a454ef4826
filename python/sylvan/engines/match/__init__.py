"""Matches."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.engines.match.match import Match

# Name -> the module of this package that defines it.
_HOMES = {
    "Match": "match",
}

__all__ = ["Match"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
