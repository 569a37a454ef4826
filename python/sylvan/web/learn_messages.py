"""Messages about runs: what a page asks, and what it hears."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.web.parts import Board, Considered, Count, Name, Part

__all__ = [
    "AskOpinion",
    "Curves",
    "Film",
    "Follow",
    "Foresee",
    "Foreseen",
    "ForeseenStep",
    "GameInfo",
    "Games",
    "ListGames",
    "Opinion",
    "Opinions",
    "PauseRun",
    "Replay",
    "ReplayPly",
    "Replayed",
    "ResumeRun",
    "RunInfo",
    "Runs",
    "StartRun",
]


# --- what a page asks ----------------------------------------------------------------------------


class Follow(Part):
    """List the runs and follow the curves of some; none: list them only."""

    type: Literal["follow"]
    runs: Annotated[list[Name], Field(max_length=12)] = Field(default_factory=list)
    show: bool = True
    """Whether the page shows runs; if not, the server need not look at files."""


class ListGames(Part):
    """Ask for a page of the self-play games of a run, the newest first."""

    type: Literal["list_games"]
    run: Name
    page: Count = 0


class Replay(Part):
    """Ask for a game of the list, position by position."""

    type: Literal["replay"]
    run: Name
    number: Count


class AskOpinion(Part):
    """Ask what the networks of a run thought of a position, and follow it."""

    type: Literal["ask_opinion"]
    run: Name
    text: Annotated[str, Field(max_length=20_000)] = ""
    """Moves or a FEN; empty: the first position."""


class Film(Part):
    """Let the best network of a run act in its environment, and show the pictures."""

    type: Literal["film"]
    run: Name
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class Foresee(Part):
    """Ask what a learned model foresees from a position of a game, beside what happened."""

    type: Literal["foresee"]
    run: Name
    number: Count | None
    """A game of the list; None: the film."""
    ply: Count


class StartRun(Part):
    """Start a new run, with the settings that Sylvan chooses for the game and this machine."""

    type: Literal["start_run"]
    name: Name
    game: Name
    minutes: Annotated[float, Field(ge=0.1, le=10_000)] = 20.0
    learn_rules: bool = False
    """MuZero: learn a model instead of using the rules."""


class PauseRun(Part):
    """End the process of a run, which can be resumed."""

    type: Literal["pause_run"]
    run: Name


class ResumeRun(Part):
    """Go on with a run."""

    type: Literal["resume_run"]
    run: Name


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
    limit: str | None
    """The limit of self-play in the last step."""
    algorithm: str
    is_environment: bool
    """Whether it learns an environment, which can be filmed."""
    is_own: bool
    """Whether a page started the process that trains it now, and can pause it."""
    problem: str | None


class Runs(Part):
    """The runs in the folders that the server was given."""

    type: Literal["runs"] = "runs"
    runs: list[RunInfo]
    trainable: list[str]
    """Games that a page may train; none if the server may not train."""


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
    """A page of the games of a run, the newest first."""

    type: Literal["games"] = "games"
    run: str
    page: int
    is_last: bool
    """Whether there are no older games."""
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
    reward: float | None
    """The action's reward for the seat, if the game has rewards."""


class Replayed(Part):
    """A game of self-play."""

    type: Literal["replayed"] = "replayed"
    run: str
    info: GameInfo
    plies: list[ReplayPly]
    is_film: bool
    """Whether it was played just now, to be filmed."""
    is_learned: bool
    """Whether a model was learned, which can be asked what it foresees."""


class Opinion(Part):
    """A network's output for a position, without a search."""

    step: int
    value: float | None
    """For the seat to move."""
    policy: list[Considered]
    """The likeliest moves: P is their probability."""


class Opinions(Part):
    """The outputs of all networks of a run for a position."""

    type: Literal["opinions"] = "opinions"
    run: str
    text: str
    board: Board
    seat: int
    steps: list[Opinion]
    """In ascending order."""


class ForeseenStep(Part):
    """A prediction some steps ahead, beside what happened."""

    label: str | None
    """The action that was taken before; None at the position itself."""
    reward: float | None
    real_reward: float | None
    value: float | None
    """Predicted for the seat to move."""
    real_value: float | None
    """The seat's return from there, the model's target; None at the end."""
    policy: list[Considered]
    """The likeliest actions, as the model foresees them."""
    real: str | None
    """The action that was taken next."""
    legal: float | None
    """The share of the predicted policy on legal actions."""


class Foreseen(Part):
    """A learned model's predictions from a position, beside the true course."""

    type: Literal["foreseen"] = "foreseen"
    run: str
    number: int | None
    ply: int
    steps: list[ForeseenStep]
