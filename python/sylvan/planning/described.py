"""List the settings of a search in docstrings, so that `help(sylvan.search)` shows them.

They are read from the fields of `SearchConfig`, which has the only list.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TypeVar

from sylvan.planning.config import SearchConfig

__all__ = ["lists_settings"]

WIDTH = 88
"""Characters per line of a list."""

T = TypeVar("T")


def lists_settings(described: T) -> T:
    """Append the settings to the docstring of a function or a class."""
    if described.__doc__ is not None:  # it is None in optimised mode
        text = inspect.cleandoc(described.__doc__)
        described.__doc__ = f"{text}\n\nSettings, with their defaults:\n\n{_listed()}\n"
    return described


def _listed() -> str:
    lines = []
    for name, field in SearchConfig.model_fields.items():
        head = f"{name} = {field.default!r}"
        lines += textwrap.wrap(
            f"{head}: {field.description}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_on_hyphens=False,
        )
    return "\n".join(lines)


lists_settings(SearchConfig)
