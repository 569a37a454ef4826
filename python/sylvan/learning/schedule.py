"""The learning rate as a function of progress: how much of a run's budget is spent, in [0, 1].

    rate(p) = learning_rate · warm_up(p) · shape(p) · final_decay(p)

*Warm-up* rises in a straight line from 0, because the first gradients of a new network, and the
first second moments of Adam, mean little. The *shape* is one of

| name | factor |
|---|---|
| `constant` | 1 |
| `cosine` | (1 + cos πp) / 2, from 1 to `floor` |
| `exponential` | floor ** p, from 1 to `floor` |
| `step` | `drop_factor` to the number of `drops` that p has passed |

The *final decay* goes in a straight line to 0 over the last share of the run: small runs regress
late if the rate stays up, and a network that ends with a decay was measured 38 to 149 Elo stronger.

Progress is logical (steps done of steps) or elapsed time, as the run's budget is; nothing here
counts updates, so a run can be made longer without touching its schedule.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from sylvan.settings import Section

__all__ = ["ScheduleConfig", "learning_rate"]

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ScheduleConfig(Section):
    """How the learning rate changes in the course of a run; part of `LearnerConfig`."""

    learning_rate: float = Field(
        2e-3, gt=0, description="highest rate: larger learns sooner and ends less exact"
    )
    warmup: Share = Field(
        0.01, description="share of the run in which the rate rises from 0, as first gradients lie"
    )
    schedule: Literal["constant", "cosine", "exponential", "step"] = Field(
        "cosine", description="how the rate falls from then on"
    )
    floor: Share = Field(
        0.1, description="what cosine and exponential fall to, as a share of the highest rate"
    )
    drops: tuple[Share, ...] = Field(
        (0.5, 0.75), description="progress at which the schedule `step` lowers the rate"
    )
    drop_factor: Share = Field(0.1, description="what each of those multiplies the rate by")
    final_decay: Share = Field(
        0.15, description="last share of the run in which the rate falls to 0; 0: it does not"
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
