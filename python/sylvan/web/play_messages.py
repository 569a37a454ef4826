"""Messages about games that people play: what a page asks, and what it hears."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.web.parts import Action, ActionInfo, Board, Name, Part, PlyInfo

__all__ = [
    "Act",
    "Advise",
    "ClockChoice",
    "GameOffer",
    "Hint",
    "Hinted",
    "Join",
    "Judged",
    "ListOffers",
    "Note",
    "Notes",
    "OfferDraw",
    "Offers",
    "Option",
    "Reveal",
    "Review",
    "Reviewed",
    "Reviewing",
    "SeatChoice",
    "SeatInfo",
    "Sit",
    "StopReview",
    "Table",
    "TakeBack",
]


# --- what a page asks ----------------------------------------------------------------------------


class ListOffers(Part):
    """Ask which games can be played, and with which networks."""

    type: Literal["list_offers"]


class SeatChoice(Part):
    """The player of a seat."""

    who: Literal["you", "guest", "player"]
    """A person at this page, a person at another one, or a player of ours."""
    level: Annotated[int, Field(ge=1, le=10)] = 5
    """A player's strength."""
    network: Name | None = None
    """A player's network, of those in `GameOffer`; None: as `sylvan play` chooses."""


class ClockChoice(Part):
    """The time of each seat."""

    minutes: Annotated[float, Field(gt=0, le=600)]
    increment: Annotated[float, Field(ge=0, le=600)] = 0.0
    """Seconds added after each move."""


class Sit(Part):
    """Start a game at a new table."""

    type: Literal["sit"]
    game: Name
    seats: Annotated[list[SeatChoice], Field(min_length=1, max_length=8)]
    cards: Annotated[int, Field(ge=1, le=26)] | None = None
    """Blob: cards in the first round."""
    clock: ClockChoice | None = None
    teach: bool = False
    """Whether to object to a blunder before it is played."""
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    """Of the deal and all random choices; None: a new one."""


class Join(Part):
    """Take a free seat at a table, or come back to one's own."""

    type: Literal["join"]
    code: Name
    token: Name | None = None
    """From an earlier `Table`: who comes back."""


class Reveal(Part):
    """The person of this seat now looks at the page: show its hand."""

    type: Literal["reveal"]
    seat: Annotated[int, Field(ge=0, lt=8)]


class Act(Part):
    """Make a move in the game."""

    type: Literal["act"]
    action: Action


class TakeBack(Part):
    """Take one's last move back, and everything after it; or agree that another does."""

    type: Literal["take_back"]


class Hint(Part):
    """Ask what to do."""

    type: Literal["hint"]


class Review(Part):
    """Ask which moves so far were mistakes."""

    type: Literal["review"]


class StopReview(Part):
    """Ask for what the review has found so far."""

    type: Literal["stop_review"]


class OfferDraw(Part):
    """Offer a draw, or agree to one."""

    type: Literal["offer_draw"]


class Advise(Part):
    """Begin to note what happens at a real table of Blob."""

    type: Literal["advise"]
    seat: Annotated[int, Field(ge=0, lt=8)] = 0
    players: Annotated[int, Field(ge=3, le=8)] = 4
    cards: Annotated[int, Field(ge=1, le=13)] = 5
    """In the first round."""
    trump: Name = "rotation"
    """A rule of Blob."""
    saved: Annotated[str, Field(max_length=20_000)] | None = None
    """Notes from an earlier `Notes`, instead of all this."""


class Note(Part):
    """Note what happened, in the words of `sylvan advise`."""

    type: Literal["note"]
    what: Literal[
        "hand", "turned_up", "trump", "points", "entry", "correct", "round", "next", "undo"
    ]
    text: Name = ""


# --- what it hears -------------------------------------------------------------------------------


class GameOffer(Part):
    """A game that can be played."""

    game: str
    seats: list[str]
    """The names of its seats."""
    networks: list[str]
    """Networks that a player of ours may use."""


class Offers(Part):
    """The games that can be played."""

    type: Literal["offers"] = "offers"
    games: list[GameOffer]


class SeatInfo(Part):
    """The player of a seat."""

    name: str
    who: Literal["you", "person", "free", "player"]
    player: str
    """The player's name; empty for people."""
    away: bool
    """Whether its person has left; the seat stays theirs."""
    clock: float | None
    """Seconds left."""


class Table(Part):
    """A game, as the seat at this page sees it."""

    type: Literal["table"] = "table"
    code: str
    """Whoever has it may join."""
    token: str
    """Whoever has it has this page's seats."""
    game: str
    board: Board
    actions: list[ActionInfo]
    """The legal actions of the person at this page."""
    seat: int | None
    """The seat whose view this is; None: the public view."""
    curtain: int | None
    """Nothing hidden is shown until the person of this seat asks to (`Reveal`)."""
    to_play: int | None
    seats: list[SeatInfo]
    ticking: bool
    """Whether the clock of the seat to play runs."""
    said: list[PlyInfo]
    """The moves so far that everyone has seen."""
    asked: list[str]
    """Seats that ask to take a move back, if others must agree."""
    can_draw: bool
    """Whether a draw can be agreed."""
    draw_offered: list[str]
    """Seats that offer a draw."""
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
    """The adviser's moves, best first."""

    type: Literal["hinted"] = "hinted"
    options: list[Option]


class Judged(Part):
    """A decision of a person."""

    ply: int
    label: str
    best: str
    loss: float
    """In expected score from 0 to 1; in Blob in points."""
    mark: str
    """`?!`, `?`, `??` or empty."""
    options: list[Option]
    """Blob: what the search thought of every option."""


class Reviewing(Part):
    """A review is under way."""

    type: Literal["reviewing"] = "reviewing"
    left: int
    """Decisions that are still to be judged."""


class Reviewed(Part):
    """The decisions so far of the people at this page."""

    type: Literal["reviewed"] = "reviewed"
    decisions: list[Judged]


class Notes(Part):
    """A real table, as far as it is noted."""

    type: Literal["notes"] = "notes"
    board: Board
    you: int
    """The person's seat."""
    wanted: Literal["turned_up", "hand", "bid", "card", "next", "nothing"]
    """The next thing to note."""
    prompt: str
    actions: list[ActionInfo]
    """The bids or cards that are possible."""
    entries: list[PlyInfo]
    """The bids and cards of this round."""
    advice: list[Option] | None
    """The person's options, best first, when it is the person's turn."""
    saved: str
    """To go on later: `Advise.saved`."""
