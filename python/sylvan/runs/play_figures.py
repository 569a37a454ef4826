"""Statistics of a step's finished games: length, policy entropy, opening variety, results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sylvan.replay.games import Games
from sylvan.replay.record import GameRecord

__all__ = ["OPENING", "play_figures"]

OPENING = 6
"""Number of first plies that count as a game's opening."""


def play_figures(records: Sequence[GameRecord], opening: int = OPENING) -> dict[str, float]:
    """Means over games, or over their searched plies, by their names in the metrics.

    Empty without games. Entropy and surprise omit the policies of fast searches, whose weight is
    0, because they are not learned.
    """
    if not records:
        return {}
    games = Games.of(records)
    openings = {
        (start, games.actions[first : min(first + opening, end)].tobytes())
        for start, first, end in zip(games.starts, games.plies[:-1], games.plies[1:], strict=True)
    }
    figures = {
        "selfplay.length": float(np.diff(games.plies).mean()),
        "selfplay.openings": len(openings) / len(games),
        "selfplay.first_seat": float(games.returns[:, 0].mean()),
        "selfplay.draws": float((np.ptp(games.returns, axis=1) == 0).mean()),
        "selfplay.resigned": games.endings.count("resign") / len(games),
        "selfplay.unfinished": games.endings.count("limit") / len(games),
    }
    counts = np.diff(games.edges)
    learned = (counts > 0) & (games.weights > 0)
    if learned.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(games.policy > 0, -games.policy * np.log(games.policy), 0.0)
        entropies = np.bincount(np.repeat(np.arange(len(counts)), counts), terms, len(counts))
        figures["selfplay.entropy"] = float(entropies[learned].mean())
        figures["selfplay.surprise"] = float(games.surprise[learned].mean(dtype=np.float64))
    return figures
