"""The UCI engine. In the order in which data flows:

`commands`      parse the lines of a GUI
`options`       the engine's options
`report`        `info` lines from a search result
`deliberation`  one `go`: limits, time and reports of a search
`thinker`       the evaluator and the tree, kept between moves
`engine`        the loop: lines in, lines out
`__main__`      `python -m sylvan.engines.uci`
"""

from typing import TYPE_CHECKING

from sylvan.lazy import on_first_use

if TYPE_CHECKING:
    from sylvan.engines.uci.engine import main

# Name -> the module of this package that defines it.
_MODULES = {
    "main": "engine",
}

__all__ = ["main"]

__getattr__ = on_first_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
