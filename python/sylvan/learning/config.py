"""Settings of the learner; importing them does not import PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator

from sylvan.learning.schedule import ScheduleConfig

__all__ = ["LearnerConfig", "OptimizerName", "RunLearnerConfig"]

OptimizerName = Literal["adamw", "sgd"]


class LearnerConfig(ScheduleConfig):
    """Batches, optimiser, loss weights and precision."""

    batch: int = Field(
        512, ge=1, description="positions per update: more gives less noise, fewer more updates"
    )
    samples_per_position: float = Field(
        4.0,
        gt=0,
        description="times each new position is trained on: fewer wastes data, more overfits",
    )
    optimizer: OptimizerName = Field(
        "adamw", description="AdamW needs little tuning; AlphaZero used SGD with momentum"
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of SGD, first beta of AdamW")
    second_momentum: float = Field(0.999, ge=0, lt=1, description="second beta of AdamW")
    nesterov: bool = Field(True, description="use Nesterov momentum in SGD; it damps oscillation")
    weight_decay: float = Field(
        0.01, ge=0, description="weight decay; SGD needs about a hundredth of AdamW's value"
    )
    clip: float = Field(
        5.0, ge=0, description="clip gradients to this norm, against outlier batches; 0: no limit"
    )
    average: float = Field(
        0.998, ge=0, lt=1, description="decay of the averaged weights used in play; 0: no average"
    )
    policy_weight: float = Field(1.0, ge=0, description="weight of the policy loss")
    value_weight: float = Field(1.0, ge=0, description="weight of the value loss")
    moves_left_weight: float = Field(0.2, ge=0, description="weight of the moves-left loss")
    auxiliary_weight: float = Field(
        0.2, ge=0, description="weight of each auxiliary loss, which only shapes the features"
    )
    loss: str = Field("", description="your own loss function: path.py:function")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="precision on a GPU; auto: bfloat16 if supported, else float16"
    )
    compile: bool | None = Field(
        None,
        description="compile the network for learning and self-play, a minute each; None: on a "
        "GPU only",
    )

    def weight(self, part: str) -> float:
        """The weight of a part in the total loss."""
        own = {"policy": self.policy_weight, "value": self.value_weight}
        return (own | {"moves_left": self.moves_left_weight}).get(part, self.auxiliary_weight)


class RunLearnerConfig(LearnerConfig):
    """Batches, optimiser, loss weights, precision, and games of files."""

    games: tuple[str, ...] = Field(
        (),
        description="files of games to learn from beside self-play, so that a network that began "
        "with them does not forget them: those of `sylvan pretrain`, such as .pgn and, for chess, "
        ".bin.xz",
    )
    games_share: float = Field(
        0.25, ge=0, lt=1, description="fraction of each batch that is drawn from `games`, if given"
    )

    @classmethod
    def title(cls) -> str:
        """The section's name in files and messages."""
        return "learner"

    @field_validator("games", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    def resolved(self) -> Self:
        """A copy with absolute paths of files."""
        return self.replace(games=tuple(str(Path(path).resolve()) for path in self.games))
