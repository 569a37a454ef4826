"""Auxiliary targets that a game offers, ply by ply; they depend on the game's last state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.games.optional import overrides
from sylvan.replay.record import GameRecord

__all__ = ["offers_auxiliary", "with_auxiliary"]


def offers_auxiliary(game: Game) -> bool:
    """Whether a game offers auxiliary targets."""
    return overrides(game, "auxiliary")


def with_auxiliary(record: GameRecord, first: Game) -> GameRecord:
    """A record with the auxiliary targets of each ply; zeros where chance moves."""
    actions = record.actions.tolist()
    end = first.clone()
    for action in actions:
        end.apply(action)
    state, rows = first.clone(), list[dict[str, NDArray[np.float32]]]()
    for action, seat in zip(actions, record.seats.tolist(), strict=True):
        offered = state.auxiliary(end) if seat >= 0 else {}
        rows.append({name: np.asarray(x, np.float32) for name, x in offered.items()})
        state.apply(action)
    examples = {name: x for row in rows for name, x in row.items()}
    targets = {
        name: np.stack([row.get(name, np.zeros_like(example)) for row in rows])
        for name, example in examples.items()
    }
    return replace(record, auxiliary=targets)
