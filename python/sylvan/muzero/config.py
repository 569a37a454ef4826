"""The settings of MuZero, importable without PyTorch.

Settings of other sections apply too: `targets.td_steps` and `targets.discount`,
`search.simulations` and `search.top_k`, `replay.prioritised`, and the weights of policy and value
in the loss, `learner.policy_weight` and `learner.value_weight`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.settings import Section

__all__ = ["SHAPING", "MuZeroConfig", "OutputKind"]

OutputKind = Literal["auto", "scalar", "categorical", "wdl"]

SHAPING = ("value_kind", "reward_kind", "support", "hidden", "consistency", "reconstruction")
"""Settings that determine the network's layers, and so cannot change in a run."""


class MuZeroConfig(Section):
    """The learned model, its targets and its losses."""

    unroll: int = Field(
        default=5,
        ge=1,
        le=64,
        description="steps that the model is unrolled from each position in training: K of the "
        "paper",
    )
    value_kind: OutputKind = Field(
        default="auto",
        description="output format of values: scalar, a number; categorical, a distribution over a "
        "support of square roots, for any range of returns; wdl, one over win, draw and loss; "
        "auto: wdl if two seats play for 1 and -1, scalar if values have another known range, else "
        "categorical",
    )
    reward_kind: OutputKind = Field(
        default="auto", description="output format of rewards; auto: the same as of values"
    )
    support: int = Field(
        default=30,
        ge=1,
        le=1000,
        description="range of a categorical output, from minus to plus this many square roots: 30 "
        "covers returns up to 900, 300 up to 58,000 as in the Atari games",
    )
    hidden: Annotated[int, Field(ge=1, le=65536)] | None = Field(
        default=None,
        description="width of the hidden state, or its planes on a board; none: as wide as the "
        "network",
    )
    consistency: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="weight of the loss between a predicted state and the state encoded from the "
        "observation there; none: 2 for one seat, 0 for several",
    )
    reconstruction: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="weight of the squared error between the observation decoded from each state "
        "and the real one, summed over its entries. On a board it teaches the effect of moves, "
        "also of bad ones in random openings; 0: off",
    )
    reward_weight: float = Field(
        default=1.0, ge=0, description="weight of the reward in the total loss"
    )
    gradient_scale: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="factor of the gradient at each step back through the model, so that later "
        "steps do not dominate the first ones",
    )
    lead_in: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of each batch that starts in the random opening of a game, up to unroll "
        "plies before its first search, to learn the effect of moves that searches consider but "
        "do not play",
    )
    fresh_values: bool = Field(
        default=False,
        description="bootstrap targets of td_steps from the newest network's value, not from the "
        "search's value at the time of play: values propagate faster",
    )
    reanalyse: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of each batch whose targets are searched again with the newest network",
    )
