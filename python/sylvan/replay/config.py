"""How much of the games is kept and how batches are drawn from it.

The window of positions that are learned from grows with the run, slower than the run itself: early
games, played by a network that knew nothing, leave it (the formula of KataGo, Wu 2019). With N
positions so far it has

    N                                                           while N <= min
    min * (1 + growth * ((N / min)**exponent - 1) / exponent)   after that, up to max
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from sylvan.errors import ConfigError
from sylvan.settings import Section

__all__ = ["ReplayConfig"]


class ReplayConfig(Section):
    """What is kept, and how batches are drawn from it."""

    window_min: int = Field(
        default=50_000,
        ge=1,
        description="positions that are all learned from, before old ones leave",
    )
    window_max: int = Field(
        default=1_000_000, ge=1, description="most positions in the window, which bounds the memory"
    )
    window_exponent: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="growth of the window with the run: 1 is in proportion",
    )
    window_growth: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="share of each new position by which the window first grows: 0 keeps its size",
    )
    surprise_share: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of the draws that goes by policy surprise: positions whose search "
        "disagreed with the network teach more",
    )
    prioritised: bool = Field(
        default=False, description="draw positions more often whose loss was high when last seen"
    )
    alpha: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="how much priorities count: 0 is uniform, 1 in proportion",
    )
    beta: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="how much importance weights make up for prioritised draws: 1 is all of it",
    )
    symmetries: bool = Field(
        default=True, description="show positions from all sides that the game declares to be alike"
    )
    shard_megabytes: float = Field(
        default=16.0, gt=0, description="size of a file after which the next is begun"
    )
    keep_shards: bool = Field(
        default=True, description="keep files that have left the window, to look into them later"
    )
    threads: int = Field(
        default=1, ge=1, description="threads that make positions again from moves"
    )

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.window_min > self.window_max:
            raise ConfigError(
                f"replay.window_min is {self.window_min}, but must be at most window_max, which is "
                f"{self.window_max}."
            )
        return self

    def window(self, positions: int) -> int:
        """Positions in the window after so many were played.

        >>> config = ReplayConfig(window_min=1000, window_max=5000)
        >>> [config.window(positions) for positions in (500, 1000, 2000, 10**9)]
        [500, 1000, 1363, 5000]
        """
        start = self.window_min
        if positions <= start:
            return positions
        grown = ((positions / start) ** self.window_exponent - 1) / self.window_exponent
        return min(self.window_max, int(start * (1 + self.window_growth * grown)))
