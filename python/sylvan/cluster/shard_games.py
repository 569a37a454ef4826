"""The games of a lease as the bytes of a shard, and back.

The payload is the columns of self-play (`sylvan.selfplay.game_columns`), bit for bit, as
safetensors. The learner makes records of them exactly as it would of its own games.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sylvan.games.game import Game
from sylvan.selfplay.game_columns import GameColumns

__all__ = ["ShardGames", "joined"]


@dataclass
class ShardGames:
    """Games, and the errors of those that were dropped."""

    games: GameColumns
    dropped: list[tuple[int, str, str]] = field(default_factory=list)
    """Number of each, type and text of its error."""

    def to_bytes(self) -> tuple[dict[str, Any], bytes]:
        """Facts for the shard's header, and its payload."""
        from safetensors.numpy import save

        columns = {
            name: np.ascontiguousarray(column) for name, column in self.games.columns.items()
        }
        return {"dropped": self.dropped}, save(columns)

    @classmethod
    def from_bytes(cls, facts: dict[str, Any], payload: bytes, first: Game) -> ShardGames:
        """The games of a shard that was verified."""
        from safetensors.numpy import load

        dropped = [(int(number), kind, text) for number, kind, text in facts["dropped"]]
        return cls(GameColumns(load(payload), first), dropped)


def joined(parts: Sequence[GameColumns], first: Game) -> GameColumns:
    """The games of several leases, one after another."""
    names = parts[0].columns
    return GameColumns(
        {name: np.concatenate([part.columns[name] for part in parts]) for name in names}, first
    )
