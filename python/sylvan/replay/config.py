"""Settings of the replay: the size of the window, and how batches are drawn.

The window of the newest positions grows with the run, slower than the run itself, so that early
games of weak networks leave it (the formula of KataGo, Wu 2019). After N positions its size is

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
    """Size of the replay window, and how batches are drawn."""

    window_min: int = Field(
        default=50_000,
        ge=1,
        description="positions before the oldest leave the window",
    )
    window_max: int = Field(
        default=1_000_000, ge=1, description="maximum positions in the window; bounds the memory"
    )
    window_exponent: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="exponent of the window's growth with the run: 1 is linear",
    )
    window_growth: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="initial growth of the window per new position: 0 keeps its size",
    )
    surprise_share: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="fraction of draws weighted by policy surprise: the search disagreed with the "
        "network there",
    )
    prioritised: bool = Field(
        default=False, description="prioritised replay: draw positions with a high loss more often"
    )
    alpha: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="exponent of priorities: 0 is uniform, 1 is proportional",
    )
    beta: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="exponent of importance weights: 1 corrects prioritised draws fully",
    )
    symmetries: bool = Field(
        default=True, description="apply a random symmetry of the game to each position"
    )
    shard_megabytes: float = Field(
        default=16.0, gt=0, description="size at which a new file is started"
    )
    keep_shards: bool = Field(
        default=True, description="keep files whose positions have all left the window"
    )
    threads: int = Field(default=1, ge=1, description="threads that rebuild positions from moves")

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.window_min > self.window_max:
            raise ConfigError(
                f"replay.window_min is {self.window_min}, but must be at most window_max, which is "
                f"{self.window_max}."
            )
        return self

    def window(self, positions: int) -> int:
        """Size of the window after this many positions.

        >>> config = ReplayConfig(window_min=1000, window_max=5000)
        >>> [config.window(positions) for positions in (500, 1000, 2000, 10**9)]
        [500, 1000, 1363, 5000]
        """
        start = self.window_min
        if positions <= start:
            return positions
        grown = ((positions / start) ** self.window_exponent - 1) / self.window_exponent
        return min(self.window_max, int(start * (1 + self.window_growth * grown)))
