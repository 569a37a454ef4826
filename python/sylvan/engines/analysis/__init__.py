"""Analysis of chess games. In the order in which data flows:

`annotate`  annotate a PGN game: scores, marks, better lines
`schema`    requests and answers of the JSON server
`batch`     positions searched together in one forest
`server`    the JSON server: queue and priorities
"""

from typing import TYPE_CHECKING

from sylvan.lazy import on_first_use

if TYPE_CHECKING:
    from sylvan.engines.analysis.server import Server

# Name -> the module of this package that defines it.
_MODULES = {
    "Server": "server",
}

__all__ = ["Server"]

__getattr__ = on_first_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
