"""The learning rate as a function of progress: the fraction of a run's budget spent, in [0, 1].

    rate(p) = learning_rate · warm_up(p) · shape(p) · final_decay(p)

*Warm-up* rises linearly from 0, because the first gradients of a new network and Adam's first
estimates of second moments are unreliable. The *shape* is one of

| name | factor |
|---|---|
| `constant` | 1 |
| `cosine` | (1 + cos πp) / 2, from 1 to `floor` |
| `exponential` | floor ** p, from 1 to `floor` |
| `step` | `drop_factor` to the number of `drops` that p has passed |

The *final decay* falls linearly to 0 over the last fraction of the run: small runs get weaker late
if the rate stays high, and networks with this decay were measured 38 to 149 Elo stronger.

Progress is steps or elapsed time, like the run's budget, and not updates: a run can be made longer
without changing its schedule.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from sylvan.settings import Section

__all__ = ["ScheduleConfig", "learning_rate"]

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ScheduleConfig(Section):
    """Settings of the learning rate's schedule; part of `LearnerConfig`."""

    learning_rate: float = Field(
        2e-3, gt=0, description="maximum rate: a larger one learns faster and ends less exact"
    )
    warmup: Share = Field(0.01, description="fraction of the run in which the rate rises from 0")
    schedule: Literal["constant", "cosine", "exponential", "step"] = Field(
        "cosine", description="how the rate falls after the warm-up"
    )
    floor: Share = Field(
        0.1, description="final rate of cosine and exponential, as a fraction of the maximum"
    )
    drops: tuple[Share, ...] = Field(
        (0.5, 0.75), description="progress values at which the schedule `step` lowers the rate"
    )
    drop_factor: Share = Field(0.1, description="factor of the rate at each drop")
    final_decay: Share = Field(
        0.15, description="last fraction of the run in which the rate falls to 0; 0: no final decay"
    )


def learning_rate(config: ScheduleConfig, progress: float) -> float:
    """The rate at `progress` in [0, 1].

    >>> flat = ScheduleConfig(learning_rate=1.0, warmup=0.1, schedule="constant", final_decay=0.2)
    >>> [round(learning_rate(flat, p), 3) for p in (0.0, 0.05, 0.5, 0.8, 0.9, 1.0)]
    [0.0, 0.5, 1.0, 1.0, 0.5, 0.0]
    """
    p = min(max(progress, 0.0), 1.0)
    rate = config.learning_rate * _shape(config, p)
    if p < config.warmup:
        rate *= p / config.warmup
    if p > 1.0 - config.final_decay:
        rate *= (1.0 - p) / config.final_decay
    return rate


def _shape(config: ScheduleConfig, p: float) -> float:
    if config.schedule == "cosine":
        return config.floor + (1.0 - config.floor) * (1.0 + math.cos(math.pi * p)) / 2.0
    if config.schedule == "exponential":
        return math.pow(config.floor, p)
    if config.schedule == "step":
        return config.drop_factor ** sum(p >= drop for drop in config.drops)
    return 1.0
