"""Messages about runs: what a page asks, and what it hears."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.web.parts import Board, Considered, Count, Name, Part

__all__ = [
    "Curves",
    "Follow",
    "GameInfo",
    "Games",
    "ListGames",
    "Replay",
    "ReplayPly",
    "Replayed",
    "RunInfo",
    "Runs",
]


# --- what a page asks ----------------------------------------------------------------------------


class Follow(Part):
    """List the runs and follow the curves of some; none: list them only."""

    type: Literal["follow"]
    runs: Annotated[list[Name], Field(max_length=12)] = Field(default_factory=list)


class ListGames(Part):
    """Ask for the newest self-play games of a run."""

    type: Literal["list_games"]
    run: Name


class Replay(Part):
    """Ask for a game of the list, position by position."""

    type: Literal["replay"]
    run: Name
    number: Count


# --- what it hears -------------------------------------------------------------------------------


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
