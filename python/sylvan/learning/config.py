"""How a network is trained: the settings alone, which can be read without PyTorch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sylvan.learning.schedule import ScheduleConfig

__all__ = ["LearnerConfig", "OptimizerName"]

OptimizerName = Literal["adamw", "sgd"]


class LearnerConfig(ScheduleConfig):
    """How the network is trained."""

    batch: int = Field(512, ge=1, description="positions per update: more is steadier, less sooner")
    samples_per_position: float = Field(
        4.0, gt=0, description="times a new position is trained on: less wastes it, more overfits"
    )
    optimizer: OptimizerName = Field(
        "adamw", description="AdamW needs little tuning; SGD with momentum is what AlphaZero used"
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="of SGD, and AdamW's first beta")
    second_momentum: float = Field(0.999, ge=0, lt=1, description="AdamW's second beta")
    nesterov: bool = Field(True, description="whether SGD looks ahead, which damps oscillation")
    weight_decay: float = Field(
        0.01, ge=0, description="pull of weights to zero; SGD wants about a hundredth of AdamW's"
    )
    clip: float = Field(
        5.0, ge=0, description="largest norm of a gradient, so that no batch ruins all; 0: no limit"
    )
    average: float = Field(
        0.998, ge=0, lt=1, description="decay of the averaged weights, which play; 0: no average"
    )
    policy_weight: float = Field(1.0, ge=0, description="of the policy in the total loss")
    value_weight: float = Field(1.0, ge=0, description="of the value")
    moves_left_weight: float = Field(0.2, ge=0, description="of the guess of the game's length")
    auxiliary_weight: float = Field(
        0.2, ge=0, description="of each further output, which only helps the body to see"
    )
    loss: str = Field("", description="a loss of your own instead: path.py:function")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="of products on a GPU; auto: bfloat16 where it has it, else float16"
    )
    compile: bool | None = Field(
        None,
        description="compile the network, for learning and for self-play: a minute each, which "
        "pays on a GPU; None: there only",
    )

    def weight(self, part: str) -> float:
        """What a part of the loss counts in the total."""
        own = {"policy": self.policy_weight, "value": self.value_weight}
        return (own | {"moves_left": self.moves_left_weight}).get(part, self.auxiliary_weight)
