"""The header of a network file: JSON under the key `sylvan`.

It is in the metadata of a safetensors file and in the `metadata_props` of an ONNX model. It names
the game, the encoding and the shapes, so that a mismatch is an error when the network is loaded.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sylvan._native import __version__
from sylvan.errors import NetworkError
from sylvan.games.encoding import Encoding

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = [
    "FORMAT",
    "HEADER_KEY",
    "NetworkHeader",
    "ValueKind",
    "game_name",
    "header_of",
    "needed_header",
    "seen_shape",
]

HEADER_KEY = "sylvan"
"""Key of the header in a file's metadata."""

FORMAT = 1
"""Increased when earlier versions can no longer read the files."""

ValueKind = Literal["wdl", "scalar", "seats"]

H = TypeVar("H", bound="NetworkHeader")

Count = Annotated[int, Field(ge=1, lt=2**31)]


class NetworkHeader(BaseModel):
    """A network's game, shapes, encoding and origin.

    >>> from sylvan.games import TicTacToe
    >>> header = NetworkHeader.for_game(TicTacToe(), architecture={"name": "mlp"})
    >>> header.observation_shape, header.num_logits, header.value
    ((2, 3, 3), 9, 'wdl')
    >>> NetworkHeader.from_json(header.to_json()) == header
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    format: Annotated[int, Field(ge=1)] = Field(
        FORMAT, description="format of the header and of the file"
    )
    sylvan: str = Field(__version__, description="version of Sylvan that wrote it")
    game: str = Field(description="`game_name` of its game")
    observation_shape: tuple[Count, ...] = Field(
        min_length=1, description="shape of one observation, such as (112, 8, 8)"
    )
    num_logits: Count = Field(description="number of policy logits")
    num_players: Annotated[int, Field(ge=1, le=8)] = Field(description="number of seats")
    encoding: Encoding | None = Field(
        None, description="encoding of observations and actions, for games with several"
    )
    first_action: int = Field(
        0,
        description="an environment's number of action 0; left out if it is 0",
        exclude_if=lambda number: number == 0,
    )
    value: ValueKind = Field(description="format of the value output: see NetworkOutput.value")
    moves_left: bool = Field(False, description="whether there is a moves-left output")
    architecture: dict[str, Any] = Field(
        default_factory=dict, description="the module's name and its parameters"
    )
    origin: str = Field(
        "",
        description="how, when and from what it was made, and its measured strength; left out if "
        "empty",
        exclude_if=lambda text: not text,
    )
    training_step: Annotated[int, Field(ge=0)] = Field(0, description="number of training updates")

    @model_validator(mode="after")
    def _value_fits_the_seats(self) -> Self:
        most = {"wdl": 2, "scalar": 2, "seats": 8}[self.value]
        if self.num_players > most or (self.value == "wdl" and self.num_players != 2):
            raise ValueError(
                f"value {self.value!r} does not fit {self.num_players} seats: use 'seats'"
            )
        return self

    @classmethod
    def for_game(
        cls,
        game: Game,
        *,
        value: ValueKind | None = None,
        encoding: Encoding | None = None,
        **rest: Any,
    ) -> Self:
        """The header of a network for a game.

        Args:
            game: any state.
            value: by default `wdl` for zero-sum games of two seats in the range -1 to 1, `scalar`
                for one seat in that range, else `seats`.
            encoding: instead of the game's current one.
            **rest: other fields.
        """
        if encoding is not None:
            game = _encoded(game, encoding)
        return _validated(
            cls,
            game=game_name(game),
            observation_shape=seen_shape(game),
            num_logits=_num_logits(game),
            num_players=game.network_seats,
            encoding=game.encoding,
            first_action=getattr(game, "first_action", 0),
            value=value or _default_value(game),
            **rest,
        )

    @property
    def value_outputs(self) -> int:
        """The width of the value output."""
        return {"wdl": 3, "scalar": 1, "seats": self.num_players}[self.value]

    @property
    def observation_size(self) -> int:
        """Numbers in one observation."""
        return math.prod(self.observation_shape)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return _validated(type(self), **(dict(self) | changes))

    def to_json(self) -> str:
        """The text for a file's metadata."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str, source: str = "the header") -> Self:
        """Read what `to_json` wrote; `source` names the file in errors.

        :raises NetworkError: the text is not a header, or has a later format.
        """
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise NetworkError(f"{source} has a header that is not JSON: {error}.") from None
        if not isinstance(fields, dict):
            raise NetworkError(f"{source} has a header that is not a JSON object: {text[:40]}.")
        found = fields.get("format")
        if isinstance(found, int) and found > FORMAT:
            raise NetworkError(
                f"{source} has format {found}, written by Sylvan {fields.get('sylvan')}: this is "
                f"{__version__}, which reads up to {FORMAT}; update Sylvan."
            )
        return _validated(cls, source, **fields)

    def shown(self, game: Game) -> Game:
        """A copy of a game in the network's encoding.

        :raises NetworkError: the network does not fit the game.
        """
        if self.encoding is not None and game.encoding is not None:
            game = game.encoded(self.encoding)
        self.check(game)
        return game

    def check(self, game: Game) -> None:
        """Check that the network can evaluate `game` in its current encoding.

        :raises NetworkError: the game, the encoding or a shape differs; the message says which.
        """
        name = game_name(game)
        if name != self.game:
            raise NetworkError(f"The network plays {self.game}, not {name}: load one for {name}.")
        encoding = game.encoding
        if encoding != self.encoding:
            raise NetworkError(
                f"The network needs the encoding {self.encoding}, but the game has {encoding}: "
                "search game.encoded(network.header.encoding)."
            )
        for what, needed, given in (
            ("observations of shape", self.observation_shape, seen_shape(game)),
            ("a policy of length", self.num_logits, _num_logits(game)),
            ("a number of seats of", self.num_players, game.network_seats),
        ):
            if needed != given:
                raise NetworkError(
                    f"The network needs {what} {needed}, but this {name} has {given}: load a "
                    "network for it."
                )


def header_of(network: object) -> NetworkHeader | None:
    """The header of a module, or of an evaluator that runs one; None if it has none."""
    header = getattr(network, "header", None)
    return header if isinstance(header, NetworkHeader) else None


def needed_header(network: object) -> NetworkHeader:
    """`header_of` a module that has one.

    :raises NetworkError: it has none.
    """
    header = header_of(network)
    if header is None:
        raise NetworkError(
            f"{type(network).__name__} has no header: set network.header = "
            "NetworkHeader.for_game(game)."
        )
    return header


def game_name(game: Game) -> str:
    """A game's name in files: its `name`, or its class name in snake case.

    >>> from sylvan.games import ConnectFour
    >>> game_name(ConnectFour())
    'connect_four'
    """
    name = getattr(game, "name", None)
    if isinstance(name, str):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(game).__name__).lower()


def seen_shape(game: Game) -> tuple[int, ...]:
    """The shape of an observation for a network: packed planes are expanded to 8 × 8.

    Where chance moves, no seat sees anything: the first outcomes are applied to a copy.
    """
    if game.is_chance():
        game = game.clone()
        while game.is_chance():
            game.apply(game.chance_outcomes()[0][0])
    shape = tuple(game.observation().shape)
    return (*shape, 8, 8) if game.encoding is not None else shape


def _num_logits(game: Game) -> int:
    return game.num_logits


def _default_value(game: Game) -> ValueKind:
    if tuple(game.value_range) != (-1.0, 1.0) or game.network_seats > 2:
        return "seats"
    if game.num_players == 1:
        return "scalar"
    return "wdl" if game.zero_sum else "seats"


def _encoded(game: Game, encoding: Encoding) -> Game:
    if game.encoding is None:
        raise NetworkError(f"{game_name(game)} has only one encoding: remove {encoding}.")
    return game.encoded(encoding)


def _validated(cls: type[H], source: str = "the header", /, **fields: Any) -> H:
    """A header from its fields; the error names the first invalid field."""
    try:
        return cls(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        where = f"{source}, field {field!r}" if field else source
        given = (
            "" if first["type"] in ("missing", "value_error") else f" (it is {first['input']!r})"
        )
        raise NetworkError(f"{where}: {reason}{given}.") from None
