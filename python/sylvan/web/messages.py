"""Messages of the server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sylvan.web.learn_messages import (
    Curves,
    Foreseen,
    Games,
    Opinions,
    Replayed,
    Runs,
)
from sylvan.web.parts import (
    ActionInfo,
    Board,
    Considered,
    MoveRow,
    NodeColumns,
    NodeRow,
    Part,
    PlyInfo,
    Setting,
    SettingInfo,
    StepInfo,
)
from sylvan.web.play_messages import (
    Hinted,
    Notes,
    Offers,
    Reviewed,
    Reviewing,
    Table,
)

__all__ = [
    "Details",
    "Hello",
    "Looked",
    "Message",
    "Position",
    "Problem",
    "Saved",
    "Search",
    "Simulation",
]


class Hello(Part):
    """The first message."""

    type: Literal["hello"] = "hello"
    version: str
    games: list[str]
    evaluators: list[str]
    settings: list[SettingInfo]
    start: str
    """The game to open."""


class Position(Part):
    """The game and where in it the page is."""

    type: Literal["position"] = "position"
    game: str
    start: str
    """The text that opens the first position."""
    plies: list[PlyInfo]
    ply: int
    board: Board
    actions: list[ActionInfo]
    seat: int | None
    """The seat to move; None if chance moves or the game is over."""
    seats: list[str]
    value_range: list[float] | None
    over: str | None
    """How the game ended."""
    evaluator: str
    settings: dict[str, Setting]
    """Those that differ from the defaults."""


class Search(Part):
    """The state of the search: rows that changed since the last message."""

    type: Literal["search"] = "search"
    serial: int
    fresh: bool
    """The root is another: forget all rows."""
    running: bool
    ended: str | None
    """Why the search ended by itself."""
    evaluator: str
    seat: int | None
    """The seat to move."""
    graph: list[float | None]
    """The value for seat 0 at each ply, where it was searched."""
    simulations: int = 0
    per_second: float = 0.0
    nodes: int = 0
    bytes: int = 0
    depth: int = 0
    value: float | None = None
    """For the seat to move."""
    values: list[float] | None = None
    wdl: list[int] | None = None
    proven: bool = False
    best: int | None = None
    pv: list[int] = Field(default_factory=list)
    moves: list[MoveRow] = Field(default_factory=list)
    nodes_new: list[NodeRow] = Field(default_factory=list)
    """Nodes that the page does not have, parents first."""
    nodes_changed: NodeColumns = Field(default_factory=NodeColumns)
    nodes_gone: list[int] = Field(default_factory=list)


class Simulation(Part):
    """One simulation, step by step."""

    type: Literal["simulation"] = "simulation"
    number: int
    steps: list[StepInfo]
    kind: Literal["expanded", "terminal", "known"]
    """The node at its end: a new one, the end of the game, or one known before."""
    values: list[float]
    """The backed-up value per seat."""
    seat: int | None
    """The seat to move at the end."""
    priors: list[Considered]
    """The evaluator's priors of the new node, the highest first."""
    board: Board
    path: list[int]


class Looked(Part):
    """The position after a path."""

    type: Literal["looked"] = "looked"
    path: list[int]
    labels: list[str]
    board: Board
    details: Details | None


class Details(Part):
    """A node: its statistics, and what the evaluator alone says of it."""

    N: int
    values: list[float] | None
    kind: str
    seat: int | None
    edges: list[Considered]
    raw_values: list[float] | None
    raw_priors: list[Considered]


class Saved(Part):
    """An analysis as a file."""

    type: Literal["saved"] = "saved"
    name: str
    data: str
    """The file, in base 64."""


class Problem(Part):
    """A request that could not be done, and why."""

    type: Literal["problem"] = "problem"
    sentence: str


Message = (
    Hello
    | Position
    | Search
    | Simulation
    | Looked
    | Offers
    | Table
    | Hinted
    | Reviewing
    | Reviewed
    | Notes
    | Runs
    | Curves
    | Games
    | Replayed
    | Saved
    | Opinions
    | Foreseen
    | Problem
)
