"""Settings of an architecture, as stored in a file's header.

`NetworkHeader.architecture` is a dictionary of the name and the settings. It includes all defaults,
so a file keeps its meaning when a default changes.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sylvan.errors import NetworkError

__all__ = ["Activation", "BodySettings", "Count"]

Count: TypeAlias = Annotated[int, Field(ge=1, le=65536)]
Activation: TypeAlias = Literal["relu", "mish"]


class BodySettings(BaseModel):
    """Settings of all architectures: the activation and the heads."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    activation: Activation = Field("relu", description="after each layer except the last of a head")
    pooled: ClassVar[bool] = False
    """Whether heads take the mean over squares, for unordered features."""

    policy: Literal["auto", "dense", "planes", "lc0", "attention", "bids_and_cards"] = Field(
        "auto",
        description="policy head: a dense layer; planes of a board; lc0's 80 planes; attention "
        "between squares, for chess; separate bids and cards, for card games; auto: lc0 for the "
        "codec lc0, bids_and_cards for a body of suits, planes if the logits fill the board, else "
        "dense",
    )
    policy_channels: Count = Field(
        32, description="planes before a dense policy; width of queries and keys in attention"
    )
    value_channels: Count = Field(32, description="planes before the dense layers of the value")
    value_hidden: Count = Field(128, description="width of the value's hidden layer")
    moves_left_channels: Count = Field(8, description="planes before the moves-left layers")
    moves_left_hidden: Count = Field(64, description="width of the moves-left hidden layer")
    auxiliary: dict[str, Count] = Field(
        {}, description="auxiliary outputs, used only in training: name to their number"
    )
    value_range: tuple[float, float] | None = Field(
        None, description="minimum and maximum of a value per seat; None: unbounded"
    )

    @classmethod
    def read(cls, name: str, settings: dict[str, Any]) -> Self:
        """Settings from a dictionary.

        :raises NetworkError: a setting does not exist, or is out of range.
        """
        for unknown in settings.keys() - cls.model_fields.keys():
            near = difflib.get_close_matches(unknown, cls.model_fields, n=1, cutoff=0)
            raise NetworkError(
                f"The architecture {name!r} has no setting {unknown!r}: did you mean {near[0]!r}?"
            )
        try:
            return cls(**settings)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise NetworkError(
                f"The architecture {name!r} has {field} {first.get('input')!r}: {first['msg']}."
            ) from None
