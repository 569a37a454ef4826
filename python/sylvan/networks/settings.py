"""What an architecture is made of, as fields that a file's header can carry.

`NetworkHeader.architecture` is a body's settings as a dictionary with its name. All defaults are
written into it, so that a file still means the same when a default changes.
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
    """What all architectures share: the activation, and the heads behind the body."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    activation: Activation = Field("relu", description="after every layer but the last of a head")
    pooled: ClassVar[bool] = False
    """Whether heads take the mean over squares, where their order means nothing."""

    policy: Literal["auto", "dense", "planes", "lc0", "attention", "bids_and_cards"] = Field(
        "auto",
        description="policy head: a dense layer; planes of a board; lc0's 80 planes, gathered; "
        "attention from square to square, for chess; bids and cards of Blob apart; auto: lc0's "
        "where the codec is, the last for a body of "
        "suits, planes where the logits fill the board, else dense",
    )
    policy_channels: Count = Field(
        32, description="planes before a dense policy; width of queries and keys of attention"
    )
    value_channels: Count = Field(32, description="planes before the value's dense layers")
    value_hidden: Count = Field(128, description="width of the value's hidden layer")
    moves_left_channels: Count = Field(8, description="planes before the moves-left layers")
    moves_left_hidden: Count = Field(64, description="width of the moves-left hidden layer")
    auxiliary: dict[str, Count] = Field(
        {}, description="further outputs that only teach the body: name to how many numbers"
    )
    value_range: tuple[float, float] | None = Field(
        None, description="least and most of a value per seat; None: no limit"
    )

    @classmethod
    def read(cls, name: str, settings: dict[str, Any]) -> Self:
        """Settings from a dictionary.

        :raises NetworkError: one does not exist, or is out of range.
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
