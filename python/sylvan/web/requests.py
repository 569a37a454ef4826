"""Requests of a page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.web.learn_messages import (
    AskOpinion,
    Film,
    Follow,
    Foresee,
    ListGames,
    PauseRun,
    Replay,
    ResumeRun,
    StartRun,
)
from sylvan.web.parts import Action, Count, Name, Part, Path, Setting
from sylvan.web.play_messages import (
    Act,
    Advise,
    Hint,
    Join,
    ListOffers,
    Note,
    OfferDraw,
    Reveal,
    Review,
    Sit,
    StopReview,
    TakeBack,
)

__all__ = [
    "Ack",
    "Configure",
    "Goto",
    "Load",
    "Look",
    "Move",
    "Open",
    "Request",
    "Restart",
    "Run",
    "Save",
    "Show",
    "Slow",
    "Stop",
    "Sweep",
]


class Open(Part):
    """Show a position and drop the tree of the last one."""

    type: Literal["open"]
    game: Name
    text: Annotated[str, Field(max_length=200_000)] = ""
    """A FEN, a PGN or moves, as people write them; empty: the first position."""
    moves: Path = Field(default_factory=list)
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
    opened: Annotated[list[Path], Field(max_length=256)] = Field(default_factory=list)
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
    | ListOffers
    | Sit
    | Join
    | Reveal
    | Act
    | TakeBack
    | Hint
    | Review
    | StopReview
    | OfferDraw
    | Advise
    | Note
    | Follow
    | ListGames
    | Replay
    | AskOpinion
    | PauseRun
    | ResumeRun
    | StartRun
    | Film
    | Foresee
    | Ack
)
