"""Statistics of a step's finished games: length, policy entropy, opening variety, results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
    count = len(records)
    openings = {(record.start, *record.actions[:opening].tolist()) for record in records}
    figures = {
        "selfplay.length": sum(map(len, records)) / count,
        "selfplay.openings": len(openings) / count,
        "selfplay.first_seat": float(np.mean([record.returns[0] for record in records])),
        "selfplay.draws": sum(np.ptp(record.returns) == 0 for record in records) / count,
        "selfplay.resigned": sum(record.ending == "resign" for record in records) / count,
        "selfplay.unfinished": sum(record.ending == "limit" for record in records) / count,
    }
    policies = [_policies(record) for record in records]
    entropies, surprises = (np.concatenate(column) for column in zip(*policies, strict=True))
    if entropies.size:
        figures["selfplay.entropy"] = float(entropies.mean())
        figures["selfplay.surprise"] = float(surprises.mean())
    return figures


def _policies(record: GameRecord) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Entropy and surprise, in nats, at each ply whose policy is learned."""
    plies = record.searched
    plies = plies[record.weights[plies] > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(record.policy > 0, -record.policy * np.log(record.policy), 0.0)
    sums = np.concatenate([[0.0], np.cumsum(terms, dtype=np.float64)])
    entropies = sums[record.policy_offsets[plies + 1]] - sums[record.policy_offsets[plies]]
    return entropies, record.surprise[plies].astype(np.float64)
