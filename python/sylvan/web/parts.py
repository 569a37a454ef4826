"""Parts of messages: boards, rows, what is known of a node, a run or a game."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Action",
    "ActionInfo",
    "BlobBoard",
    "BlobSeat",
    "Board",
    "CardInfo",
    "ChessBoard",
    "Considered",
    "Count",
    "GridBoard",
    "MoveRow",
    "Name",
    "NodeColumns",
    "NodeRow",
    "Part",
    "Path",
    "PictureBoard",
    "PlyInfo",
    "Setting",
    "SettingInfo",
    "StepInfo",
]

Count = Annotated[int, Field(ge=0, lt=2**53)]
Action = Annotated[int, Field(ge=0, lt=2**32)]
Path = Annotated[list[Action], Field(max_length=1024)]
Name = Annotated[str, Field(max_length=200)]
Setting = bool | int | float | Name | None


class Part(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ActionInfo(Part):
    """An action by its code and its name."""

    action: int
    label: str


class ChessBoard(Part):
    """A position of chess."""

    kind: Literal["chess"]
    fen: str
    turn: Literal["white", "black"]
    check: bool
    last: list[str]
    """The squares of the last move."""
    moves: dict[str, int]
    """The action of each legal move in UCI."""


class GridBoard(Part):
    """A position on a grid of stones."""

    kind: Literal["grid"]
    columns: int
    rows: int
    cells: str
    """Row by row from the top left: `.` empty, `x` seat 0, `o` seat 1."""
    drop: bool
    """Whether an action is a column; otherwise it is a cell."""
    last: int | None
    """The cell of the last action."""


class PictureBoard(Part):
    """A position of any other game."""

    kind: Literal["picture"]
    svg: str | None
    text: str
    image: str | None = None
    """A PNG in base 64."""


class CardInfo(Part):
    """A card that may be seen."""

    name: str
    seat: int
    """The seat that has or played it."""
    action: int | None
    """The action that plays it, if it may be played now."""


class BlobSeat(Part):
    """The public state of a player."""

    cards: int
    bid: int | None
    tricks: int
    points: int
    voids: str
    """Suits that the player showed not to have."""


class BlobBoard(Part):
    """A seat's view of a table of Blob."""

    kind: Literal["blob"]
    round: int
    rounds: int
    cards: int
    trump: str | None
    turned_up: str | None
    dealer: int
    you: int | None
    """The seat whose view this is."""
    to_play: int | None
    bidding: bool
    seats: list[BlobSeat]
    hand: list[CardInfo]
    trick: list[CardInfo]


Board = Annotated[ChessBoard | GridBoard | PictureBoard | BlobBoard, Field(discriminator="kind")]


class PlyInfo(Part):
    """An action of the game, and the value after it if that position was searched."""

    action: int
    label: str
    seat: int | None


class SettingInfo(Part):
    """A setting of the search, for the panel."""

    name: str
    help: str
    kind: Literal["switch", "choice", "number", "whole"]
    choices: list[str]
    optional: bool
    default: Setting


class MoveRow(Part):
    """A legal action at the root; statistics as in `SearchResult`, best first."""

    action: int
    label: str
    rank: int
    N: int
    share: float
    """The probability to choose it, with the temperature of the settings."""
    Q: float | None
    P: float
    wdl: list[int] | None
    """Wins, draws, losses per 1000."""
    score: str | None
    """In chess notation: `+0.31`, `#3`."""
    proven: float | None
    line: list[int]
    labels: list[str]


class NodeRow(Part):
    """A node of the tree."""

    id: int
    parent: int | None
    action: int | None
    label: str
    N: int
    Q: float | None
    """For the seat that chose the action."""
    value: float | None
    """For the seat to move at the root."""
    P: float | None
    kind: Literal["decision", "chance", "terminal", "leaf"]
    proven: bool
    seat: int | None
    unsent: int
    """Visited children that the page does not have."""


class NodeColumns(Part):
    """New statistics of nodes that the page has, a list per field of `NodeRow`."""

    id: list[int] = Field(default_factory=list)
    N: list[int] = Field(default_factory=list)
    Q: list[float | None] = Field(default_factory=list)
    value: list[float | None] = Field(default_factory=list)
    P: list[float | None] = Field(default_factory=list)
    kind: list[Literal["decision", "chance", "terminal", "leaf"]] = Field(default_factory=list)
    proven: list[bool] = Field(default_factory=list)
    seat: list[int | None] = Field(default_factory=list)
    unsent: list[int] = Field(default_factory=list)


class Considered(Part):
    """An edge that selection looked at."""

    action: int
    label: str
    N: int
    Q: float | None
    P: float
    U: float | None
    """The exploration term of PUCT; None with another rule."""
    urgency: float | None
    """First-play urgency: what stands for Q before the first visit."""


class StepInfo(Part):
    """One choice of a simulation, with the statistics from before it."""

    action: int
    label: str
    seat: int | None
    edges: list[Considered]
    """The chosen edge and the best others."""
    Q_after: float | None
