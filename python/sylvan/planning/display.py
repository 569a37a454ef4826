"""How results are shown: a place that `sylvan.views` fills, since planning knows no pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from sylvan.errors import SearchStateError

if TYPE_CHECKING:
    from sylvan.planning.result import SearchResult

__all__ = ["Views", "set_views", "views"]


class Views(Protocol):
    """What a result needs in order to be seen."""

    def table(self, result: SearchResult) -> Any:
        """A rich renderable."""

    def to_html(self, result: SearchResult) -> str:
        """A self-contained piece of HTML."""

    def save(self, result: SearchResult, path: Any, **limits: int | None) -> Any:
        """Write the tree as JSON, DOT or SVG, by the suffix of `path`."""


_load: Callable[[], Any] | None = None


def set_views(load: Callable[[], Any]) -> None:
    """Name the function that loads the views when they are first needed."""
    global _load
    _load = load


def views() -> Views:
    """The views; an error if no layer above brought any."""
    if _load is None:
        raise SearchStateError("No views are loaded: import sylvan, not a part of it.")
    return cast(Views, _load())
