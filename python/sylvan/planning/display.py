"""How results are displayed: `sylvan.views` registers itself here, widgets are an entry point."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, cast

from sylvan import registry
from sylvan.errors import SearchStateError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sylvan.planning.result import SearchResult

__all__ = ["Views", "set_views", "views", "widget"]


class Views(Protocol):
    """Functions that display a result."""

    def table(self, result: SearchResult) -> RenderableType:
        """The result as a table for the terminal."""

    def to_html(self, result: SearchResult) -> str:
        """The result as self-contained HTML for a notebook."""

    def save(self, result: SearchResult, path: str | PathLike[str], **limits: int | None) -> None:
        """Write the tree as JSON, DOT, SVG or an analysis, by the suffix of `path`."""

    def load(self, path: str | PathLike[str], game: str | None = None) -> SearchResult:
        """Read the result in an analysis file."""


_load: Callable[[], Any] | None = None


def set_views(load: Callable[[], Any]) -> None:
    """Set the function that imports the views when they are first needed."""
    global _load
    _load = load


def views() -> Views:
    """The views.

    :raises SearchStateError: no higher room has set any.
    """
    if _load is None:
        raise SearchStateError("No views are loaded: import sylvan, not only sylvan.planning.")
    return cast(Views, _load())


def widget(result: SearchResult) -> Any:
    """A result as a widget for a notebook."""
    return registry.find("widgets", "result")(result)
