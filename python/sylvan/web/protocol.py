"""The messages between a page and the server: JSON objects over one websocket.

A page sends a `Request`, the server a `Message`; `type` says which one. Every message is checked
against these classes, in both directions, and every text and list has a largest size. The page's
TypeScript types are made from them (`typescript.py`), so that the two cannot differ.

A path is the list of actions from the searched position to a node. Values are returns of the game,
as everywhere in Sylvan.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

__all__ = ["MOST_BYTES", "Message", "Request", "read_request"]

MOST_BYTES = 4 * 2**20
"""The longest message that a page may send: a saved analysis."""

Count = Annotated[int, Field(ge=0, lt=2**53)]
Action = Annotated[int, Field(ge=0, lt=2**32)]
Path = Annotated[list[Action], Field(max_length=1024)]
Name = Annotated[str, Field(max_length=200)]
Setting = bool | int | float | Name | None


class Part(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


# --- requests: what a page asks -------------------------------------------------------------------


class Open(Part):
    """Show a position and drop the tree of the last one."""

    type: Literal["open"]
    game: Name
    text: Annotated[str, Field(max_length=200_000)] = ""
    """A FEN, a PGN or moves, as people write them; empty: the first position."""
    moves: Path = []
    """Actions after that position."""
    ply: Count | None = None
    """Actions to make; the rest can be stepped through. None: all."""


class Move(Part):
    """Make a move; the part of the tree behind it stays."""

    type: Literal["move"]
    action: Action


class Goto(Part):
    """Go to a place in the game."""

    type: Literal["goto"]
    ply: Count


class Run(Part):
    """Search."""

    type: Literal["run"]
    simulations: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """None: until stopped."""


class Slow(Part):
    """Make one simulation and report each of its steps."""

    type: Literal["slow"]


class Stop(Part):
    """Stop searching."""

    type: Literal["stop"]


class Restart(Part):
    """Drop the tree."""

    type: Literal["restart"]


class Sweep(Part):
    """Search every position of the game for the graph of its values."""

    type: Literal["sweep"]
    simulations: Annotated[int, Field(ge=1, le=10**6)]


class Configure(Part):
    """Search with another evaluator or other settings; this drops the tree."""

    type: Literal["configure"]
    evaluator: Name
    settings: Annotated[dict[Name, Setting], Field(max_length=64)]
    """Settings of `SearchConfig` that differ from the defaults."""


class Show(Part):
    """How much of the tree to send."""

    type: Literal["show"]
    nodes: Annotated[int, Field(ge=0, le=5000)]
    """Most nodes, the most visited first; 0: none."""
    opened: Annotated[list[Path], Field(max_length=256)] = []
    """Nodes whose children to send whatever their visits."""


class Look(Part):
    """Ask for the position after a path, or with `details` for everything known of its node."""

    type: Literal["look"]
    path: Path
    details: bool = False


class Save(Part):
    """Ask for the analysis as a file."""

    type: Literal["save"]


class Load(Part):
    """Show an analysis from a file."""

    type: Literal["load"]
    name: Name
    data: Annotated[str, Field(max_length=3 * 2**20)]
    """The file, in base 64."""


class Sit(Part):
    """Start a game against players of ours."""

    type: Literal["sit"]
    game: Name
    seat: Annotated[int, Field(ge=0, lt=8)]
    level: Annotated[int, Field(ge=1, le=10)]
    players: Annotated[int, Field(ge=2, le=8)] | None = None
    """Blob: players at the table, and cards in the first round."""
    cards: Annotated[int, Field(ge=1, le=26)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    """Of the deal and all random choices; None: a new one."""


class Act(Part):
    """Make a move in the game against players."""

    type: Literal["act"]
    action: Action


class TakeBack(Part):
    """Take the last move back, and everything after it."""

    type: Literal["take_back"]


class Hint(Part):
    """Ask what to do."""

    type: Literal["hint"]


class Review(Part):
    """Ask which moves so far were mistakes."""

    type: Literal["review"]


class Ack(Part):
    """The page has shown a `search` message."""

    type: Literal["ack"]
    serial: Count


Request = (
    Open
    | Move
    | Goto
    | Run
    | Slow
    | Stop
    | Restart
    | Sweep
    | Configure
    | Show
    | Look
    | Save
    | Load
    | Sit
    | Act
    | TakeBack
    | Hint
    | Review
    | Ack
)

# --- parts of messages ----------------------------------------------------------------------------


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


class CardInfo(Part):
    """A card that may be seen."""

    name: str
    seat: int
    """Who has or played it."""
    action: int | None
    """The action that plays it, if it may be played now."""


class BlobSeat(Part):
    """What everyone knows of a player."""

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


# --- messages: what the server says ---------------------------------------------------------------


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
    pv: list[int] = []
    moves: list[MoveRow] = []
    nodes_changed: list[NodeRow] = []
    nodes_gone: list[int] = []


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
    Hello | Position | Search | Simulation | Looked | Table | Hinted | Reviewed | Saved | Problem
)

_requests: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="type")])


def read_request(text: str | bytes) -> Request:
    """Read a request.

    :raises ValidationError: it is not one.
    """
    return _requests.validate_json(text)
