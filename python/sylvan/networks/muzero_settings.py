"""Settings of a learned model's networks, as stored in a file's header."""

from __future__ import annotations

from pydantic import Field

from sylvan.networks.action_planes import ActionKind
from sylvan.networks.settings import BodySettings, Count
from sylvan.networks.support import NumberKind
from sylvan.networks.tower import TowerSettings

__all__ = ["MuZeroMLPSettings", "MuZeroSettings", "MuZeroTowerSettings"]


class MuZeroSettings(BodySettings):
    """Settings of all learned models."""

    value_kind: NumberKind = Field("categorical", description="encoding of values: see support")
    reward_kind: NumberKind = Field("categorical", description="encoding of rewards")
    support: Count = Field(30, description="largest integer of a categorical output: see support")
    outputs: Count = Field(
        1,
        description="numbers in a value: 1, for the seat to move, or one per seat",
    )
    hidden: Count = Field(128, description="width of the hidden state; on a board, its planes")
    consistency: bool = Field(False, description="whether to have layers for the consistency loss")
    projection: Count = Field(128, description="width of those layers")
    reconstruction: bool = Field(
        False, description="whether to have a decoder for the reconstruction loss"
    )
    scale: float = Field(1.0, gt=0, description="divisor of observations: 255 for images of bytes")


class MuZeroMLPSettings(MuZeroSettings):
    """`mlp2x128`: representation and dynamics of two dense layers of width 128."""

    layers: Count = Field(2, description="dense layers of representation and of dynamics")
    width: Count = Field(128, description="units per layer")


class MuZeroTowerSettings(MuZeroSettings, TowerSettings):
    """`6x64`: representation and dynamics of six residual blocks of 64 planes."""

    dynamics_blocks: Count | None = Field(
        None, description="residual blocks of the dynamics; None: as in the representation"
    )
    actions: ActionKind = Field("learned", description="encoding of actions: see action_planes")
    turns: bool = Field(
        False,
        description="whether to flip the ranks after each step: the next seat has the other side, "
        "as in chess",
    )
    image: bool = Field(
        False, description="whether observations are images, reduced by strided convolutions"
    )
