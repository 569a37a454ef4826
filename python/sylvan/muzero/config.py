"""What is particular to learning with a learned model: the settings alone, read without PyTorch.

What other parts of a run already have stays there: `targets.td_steps` and `targets.discount`,
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
"""Settings that shape the network, which a run therefore keeps for life."""


class MuZeroConfig(Section):
    """The learned model, its targets and its losses."""

    unroll: int = Field(
        default=5,
        ge=1,
        le=64,
        description="steps that the model is trained to foresee from each position: K of the paper",
    )
    value_kind: OutputKind = Field(
        default="auto",
        description="how a value is said: scalar, a number; categorical, a distribution over a "
        "support of square roots, which learns from any range of returns; wdl, one over win, draw "
        "and loss; auto: wdl where two seats play for 1 and -1, scalar where values have another "
        "known range, else categorical",
    )
    reward_kind: OutputKind = Field(
        default="auto", description="how a reward is said; auto: as the value is"
    )
    support: int = Field(
        default=30,
        ge=1,
        le=1000,
        description="a categorical output reaches from minus to plus this many square roots: 30 "
        "says returns up to 900, 300 up to 58,000 as in the Atari games",
    )
    hidden: Annotated[int, Field(ge=1, le=65536)] | None = Field(
        default=None,
        description="width of the hidden state, or its planes on a board; none: as wide as the "
        "network",
    )
    consistency: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="weight of the loss that the state foreseen should look like the state seen; "
        "none: 2 for one seat, 0 for games of several",
    )
    reconstruction: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="weight of the loss that every state, foreseen or seen, should show the "
        "observation there: the squared error, summed over all that is seen. On a board it teaches "
        "what moves do, bad ones of random openings too; 0: none",
    )
    reward_weight: float = Field(default=1.0, ge=0, description="of the reward in the total loss")
    gradient_scale: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="share of the gradient that goes on to the step before, at each step, so that "
        "the first steps are not drowned by the many that follow",
    )
    lead_in: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of each batch that begins in the random opening of a game, up to unroll "
        "plies before its first search: the model learns where moves lead that no search would "
        "make, and that searches ask about",
    )
    fresh_values: bool = Field(
        default=False,
        description="continue targets of td_steps from what the newest network says there, rather "
        "than from what the search said when it was played: values spread sooner",
    )
    reanalyse: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of each batch whose targets are searched again with the newest network",
    )
