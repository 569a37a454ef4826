"""What the networks of a learned model are made of, as fields that a file's header can carry."""

from __future__ import annotations

from pydantic import Field

from sylvan.networks.action_planes import ActionKind
from sylvan.networks.settings import BodySettings, Count
from sylvan.networks.support import NumberKind
from sylvan.networks.tower import TowerSettings

__all__ = ["MuZeroMLPSettings", "MuZeroSettings", "MuZeroTowerSettings"]


class MuZeroSettings(BodySettings):
    """What all learned models share."""

    value_kind: NumberKind = Field("categorical", description="how values are said")
    reward_kind: NumberKind = Field("categorical", description="how rewards are said")
    support: Count = Field(30, description="reach of a categorical output, in square roots")
    outputs: Count = Field(
        1,
        description="numbers in a value: 1, for the seat to move, or one per seat, that one first",
    )
    hidden: Count = Field(128, description="width of the hidden state; on a board, its planes")
    consistency: bool = Field(
        False, description="whether there are layers for the consistency loss"
    )
    projection: Count = Field(128, description="width of those layers")
    reconstruction: bool = Field(
        False, description="whether there is a layer that shows what a hidden state looks like"
    )
    scale: float = Field(
        1.0, gt=0, description="observations are divided by this: 255 for the bytes of an image"
    )


class MuZeroMLPSettings(MuZeroSettings):
    """`mlp2x128` by name: two dense layers of width 128 each for state and step."""

    layers: Count = Field(2, description="dense layers of representation and of dynamics")
    width: Count = Field(128, description="units in each")


class MuZeroTowerSettings(MuZeroSettings, TowerSettings):
    """`6x64` by name: six residual blocks of 64 planes each for state and step."""

    dynamics_blocks: Count | None = Field(
        None, description="residual blocks of a step; none: as many as of a state"
    )
    actions: ActionKind = Field("learned", description="how an action is shown: see action_planes")
    turns: bool = Field(
        False,
        description="whether the next seat sees the board from the other side, its ranks turned "
        "over, as in chess",
    )
    image: bool = Field(
        False, description="whether observations are images, to be made small by strides"
    )
