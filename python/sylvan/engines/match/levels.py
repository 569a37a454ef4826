"""Opponents by level, 1 to 10, for people."""

from __future__ import annotations

from sylvan.evaluators import shipped_network
from sylvan.games import Chess, Game
from sylvan.planning import SearchConfig
from sylvan.players.player import SearchPlayer
from sylvan.players.strength import STRONGEST, WEAKEST, strength

__all__ = ["ADVICE", "NETWORK_WORTH", "level_settings", "players_at", "uses_network"]

NETWORK_WORTH = 75
"""One evaluation by a network is worth about this many by `material`."""

ADVICE = 30_000
"""Simulations for a hint, at any level."""


def level_settings(level: int, *, is_network: bool) -> SearchConfig:
    """The opponent's search settings at a level."""
    limited = strength(round(WEAKEST + (level - 1) / 9 * (STRONGEST - WEAKEST)))
    count = max(1, limited.simulations // NETWORK_WORTH) if is_network else limited.simulations
    return SearchConfig(simulations=count, temperature=limited.temperature)


def uses_network(start: Game, level: int) -> bool:
    """Whether the opponent at a level is the network that comes with Sylvan: in chess only the
    strongest, because its levels were measured with `material`.
    """
    is_measured = isinstance(start, Chess) and level < 10
    return shipped_network(start) is not None and not is_measured


def players_at(start: Game, level: int) -> tuple[SearchPlayer, SearchPlayer]:
    """The opponent at a level, and the adviser for hints."""
    is_network = uses_network(start, level)
    judge = "shipped" if is_network else "material" if isinstance(start, Chess) else None
    config = level_settings(level, is_network=is_network)
    advice = ADVICE // (NETWORK_WORTH if is_network else 1)
    return (
        SearchPlayer(judge, config, name=f"Sylvan, level {level}"),
        SearchPlayer(judge, simulations=advice),
    )
