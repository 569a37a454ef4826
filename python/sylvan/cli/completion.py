"""Completions for the shell's Tab key: names of games, evaluators, loggers and runs.

Where nothing here begins with the typed text, the shell completes file names, so `my_game.py` and
folders of runs work too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sylvan import registry

__all__ = ["evaluators", "games", "loggers", "runs"]


def games(incomplete: str) -> list[str]:
    """Complete the names of registered games."""
    return _starting(incomplete, registry.names("games"))


def evaluators(incomplete: str) -> list[str]:
    """Complete the names of evaluators."""
    from sylvan.evaluators import evaluator_names

    return _starting(incomplete, evaluator_names())


def loggers(incomplete: str) -> list[str]:
    """Complete the names of loggers."""
    return _starting(incomplete, registry.names("loggers"))


def runs(incomplete: str) -> list[str]:
    """Complete the names of the runs in `runs/`."""
    return _starting(incomplete, (path.parent.name for path in Path("runs").glob("*/config.toml")))


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
