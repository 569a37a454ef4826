"""UCI."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.engines.uci.engine import main

# Name -> the module of this package that defines it.
_HOMES = {
    "main": "engine",
}

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
