"""The formulas of the founding documents: the score of a child, and shares at a temperature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

from sylvan.errors import ConfigError
from sylvan.planning import SearchConfig
from sylvan.reference.node import f32
from sylvan.reference.selection import puct_score

__all__ = ["puct", "puct_settings", "tempered"]

K = TypeVar("K")


def puct(config: SearchConfig, q: float, prior: float, visits: int, parent_visits: int) -> float:
    """Score a child: Q + c * P * sqrt(parent N) / (1 + N), in the core's precision."""
    explore = f32(config.exploration(float(parent_visits)))
    return float(puct_score(f32(q), f32(prior), visits, explore))


@lru_cache(maxsize=16)
def puct_settings(c_puct: float) -> SearchConfig:
    """Settings with an exploration constant."""
    return SearchConfig(c_puct=c_puct)


def tempered(weights: Mapping[K, float], temperature: float) -> dict[K, float]:
    """Shares of weights to the power of 1 / temperature; equal if no weight is above 0.

    Computed in logarithms, so that small temperatures do not underflow.

    >>> tempered({"a": 3, "b": 1}, 1.0), tempered({"a": 3, "b": 1}, 1e-300)
    ({'a': 0.75, 'b': 0.25}, {'a': 1.0, 'b': 0.0})
    """
    is_number = isinstance(temperature, int | float)  # callers may be untyped
    if not (is_number and 0 < temperature < math.inf):
        raise ConfigError(f"temperature is {temperature!r}: it must be a number, 0 or more.")
    top = max(weights.values())
    if top == 0:
        return dict.fromkeys(weights, 1 / len(weights))
    powers = {
        key: math.exp(math.log(weight / top) / temperature) if weight else 0.0
        for key, weight in weights.items()
    }
    total = sum(powers.values())
    return {key: power / total for key, power in powers.items()}
