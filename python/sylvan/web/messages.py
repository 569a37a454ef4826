"""What the server says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sylvan.web.parts import (
    ActionInfo,
    Board,
    Considered,
    MoveRow,
    NodeRow,
    Part,
    PlyInfo,
    Setting,
    SettingInfo,
    StepInfo,
)

__all__ = [
    "Curves",
    "Details",
    "GameInfo",
    "Games",
    "Hello",
    "Hinted",
    "Judged",
    "Looked",
    "Message",
    "Option",
    "Position",
    "Problem",
    "ReplayPly",
    "Replayed",
    "Reviewed",
    "RunInfo",
    "Runs",
    "Saved",
    "Search",
    "Simulation",
    "Table",
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
    nodes_changed: list[NodeRow] = Field(default_factory=list)
    nodes_gone: list[int] = Field(default_factory=list)


class Simulation(Part):
    """One simulation, step by step."""

    type: Literal["simulation"] = "simulation"
    number: int
    steps: list[StepInfo]
    kind: Literal["expanded", "terminal", "known"]
    """What was found at its end: a new node, the end of the game, a node known before."""
    values: list[float]
    """What was backed up, per seat."""
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


class Table(Part):
    """A game against players of ours, as the person's seat sees it."""

    type: Literal["table"] = "table"
    game: str
    board: Board
    actions: list[ActionInfo]
    """What the person may do now."""
    seat: int
    """The person's."""
    to_play: int | None
    names: list[str]
    said: list[PlyInfo]
    """The moves so far that everyone has seen."""
    over: str | None


class Option(Part):
    """An action that a hint judges."""

    action: int
    label: str
    value: float
    """The expected result; in Blob points of the round."""
    made: float | None
    """Blob: the chance to make the bid."""


class Hinted(Part):
    """What the adviser thinks, best first."""

    type: Literal["hinted"] = "hinted"
    options: list[Option]


class Judged(Part):
    """A decision of the person."""

    ply: int
    label: str
    best: str
    loss: float
    """In expected score from 0 to 1; in Blob in points."""
    mark: str
    """`?!`, `?`, `??` or empty."""


class Reviewed(Part):
    """The person's decisions so far."""

    type: Literal["reviewed"] = "reviewed"
    decisions: list[Judged]


class RunInfo(Part):
    """A run, for the list."""

    name: str
    game: str
    state: str
    """`running`, `finished`, `stopped`, `new` or `damaged`."""
    step: int
    progress: float
    """Share of the budget that is spent, 0 to 1."""
    best: float | None
    """The highest rating."""
    problem: str | None


class Runs(Part):
    """The runs in the folders that the server was given."""

    type: Literal["runs"] = "runs"
    runs: list[RunInfo]


class Curves(Part):
    """New points of a run's curves."""

    type: Literal["curves"] = "curves"
    run: str
    fresh: bool
    """The first points: forget older ones."""
    steps: list[float]
    figures: dict[str, list[float | None]]
    """Name to one number per step; null where there is none."""


class GameInfo(Part):
    """A game of self-play, for the list."""

    number: int
    step: int
    """Of the run."""
    plies: int
    returns: list[float]
    ending: str


class Games(Part):
    """The newest games of a run."""

    type: Literal["games"] = "games"
    run: str
    games: list[GameInfo]


class ReplayPly(Part):
    """A position of a game, and what the search thought of it."""

    board: Board
    label: str | None
    """The move that was made; None at the end."""
    seat: int | None
    values: list[float] | None
    """Per seat; None if the position was not searched."""
    policy: list[Considered]
    """The search's policy, the best first: P is its probability."""


class Replayed(Part):
    """A game of self-play."""

    type: Literal["replayed"] = "replayed"
    run: str
    info: GameInfo
    plies: list[ReplayPly]


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
    | Table
    | Hinted
    | Reviewed
    | Runs
    | Curves
    | Games
    | Replayed
    | Saved
    | Problem
)
