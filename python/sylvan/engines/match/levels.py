"""Opponents by level, 1 to 10, for people."""

from __future__ import annotations

from sylvan.evaluators import EvaluatorLike, load_evaluator, shipped_network
from sylvan.games import Game
from sylvan.planning import SearchConfig
from sylvan.players.player import SearchPlayer
from sylvan.players.strength import STRONGEST, WEAKEST, strength

__all__ = ["ADVICE", "NETWORK_WORTH", "level_settings", "players_at"]

NETWORK_WORTH = 75
"""One evaluation by a network is worth about this many by `material` or of random games."""

ADVICE = 30_000
"""Simulations for a hint without a network, at any level."""


def level_settings(level: int, *, is_network: bool) -> SearchConfig:
    """The opponent's search settings at a level."""
    limited = strength(round(WEAKEST + (level - 1) / 9 * (STRONGEST - WEAKEST)))
    count = limited.simulations
    if not is_network:  # equal priors are no policy to draw from
        count = NETWORK_WORTH * max(1, count)
    return SearchConfig(simulations=count, temperature=limited.temperature)


def players_at(start: Game, level: int) -> tuple[SearchPlayer, SearchPlayer]:
    """The opponent at a level, and the adviser for hints."""
    path = shipped_network(start)
    config = level_settings(level, is_network=path is not None)
    judge: EvaluatorLike | None = None if path is None else "shipped"
    if path is not None and config.simulations == 0:
        judge = load_evaluator(path)  # weak players overlook mates
    advice = ADVICE // (1 if path is None else NETWORK_WORTH)
    return (
        SearchPlayer(judge, config, name=f"Sylvan, level {level}"),
        SearchPlayer(simulations=advice),
    )
