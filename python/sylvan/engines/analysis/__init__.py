"""Analysis of chess games. In the order in which data flows:

`annotate`  annotate a PGN game: scores, marks, better lines
`schema`    requests and answers of the JSON server
`batch`     positions searched together in one forest
`server`    the JSON server: queue and priorities
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.engines.analysis.server import Server

# Name -> the module of this package that defines it.
_MODULES = {
    "Server": "server",
}

__all__ = ["Server"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
