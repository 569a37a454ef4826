"""A table: people of one or more pages, and players of ours, play a game.

Every page that sits at a table is a *guest* with one or more seats, whom a secret token lets come
back. A page gets what its seats may see and nothing else. If several people share a page in a game
that hides something, the view of the next one is sent only when that person asks for it.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from sylvan.errors import ConfigError, GameOver, IllegalAction, SearchStateError
from sylvan.players.player import Clocks
from sylvan.web import protocol as p
from sylvan.web.clock import TableClock
from sylvan.web.match import Match
from sylvan.web.reviewer import Review, Reviewer
from sylvan.web.worker import LONGEST, Send, Worker

__all__ = ["Asked", "Guest", "Table", "Visitor"]

PAUSE = 0.05
"""Seconds between two looks at a running clock."""


@dataclass(frozen=True, eq=False)
class Visitor:
    """A page."""

    send: Send


@dataclass(eq=False)
class Guest:
    """People at one page."""

    token: str
    seats: list[int]
    visitor: Visitor | None
    """None: the page is away."""
    shown: int | None = None
    """The seat whose view the page shows, if it has several."""


@dataclass(frozen=True)
class Leave:
    """The page goes away."""

    for_good: bool
    """It has started or joined another game."""


@dataclass(frozen=True)
class Asked:
    """A page's request."""

    visitor: Visitor
    request: p.Request | Leave | None
    """None: to hear again how the game stands."""


class Table(Worker[Asked]):
    """A game in a thread of its own."""

    def __init__(self, code: str, match: Match, request: p.Sit) -> None:
        """Prepare; `start` begins. Whoever has the code may join."""
        super().__init__(self._tell_all)
        self.code, self.match = code, match
        self.deserted: float | None = None
        """Since when nobody is here, on `time.monotonic`."""
        self._choices = request.seats
        self._guests: list[Guest] = []
        self._asking: Visitor | None = None
        self._wishes: set[str] = set()
        """Tokens of the guests who want to take a move back."""
        self._offers: set[str] = set()
        """Tokens of the guests who offer a draw."""
        self._reviewer: Reviewer | None = None
        """Started with the first review."""
        self._reviews: dict[Visitor, Review] = {}
        self._is_stuck = False
        """Whether a player failed: nothing happens until somebody asks for something."""
        self._flagged: int | None = None
        self._clock: TableClock | None = None
        if request.clock is not None:
            seconds, increment = 60 * request.clock.minutes, request.clock.increment
            self._clock = TableClock(len(request.seats), seconds, increment)

    # --- from any thread -------------------------------------------------------------------------

    def seat(self, visitor: Visitor) -> None:
        """Let the page that started the game take its seats; before `start`."""
        own = [seat for seat, choice in enumerate(self._choices) if choice.who == "you"]
        self._guests.append(Guest(secrets.token_urlsafe(16), own, visitor))

    def leave(self, visitor: Visitor, *, for_good: bool) -> None:
        """A page goes away, or starts another game."""
        self._inbox.put(Asked(visitor, Leave(for_good=for_good)))  # however many requests wait
        if (review := self._reviews.get(visitor)) is not None:
            review.is_stopped = review.is_dropped = True
        if all(guest.visitor in (visitor, None) for guest in self._guests):
            self.match.stop()

    # --- in the table's thread -------------------------------------------------------------------

    def _begin(self) -> None:
        self._run_clock()
        self._tell_all()

    @property
    def _has_work(self) -> bool:
        """Whether a player of ours is to move, or a clock runs."""
        if self._is_stuck or not self._is_complete or self._over is not None:
            return False
        return self.match.is_replying or self._clock is not None

    @property
    def _is_complete(self) -> bool:
        """Whether the game can go on: every seat is taken, and somebody is here."""
        taken = {seat for guest in self._guests for seat in guest.seats}
        return self.match.people <= taken and any(guest.visitor for guest in self._guests)

    def _work(self) -> None:
        self._asking = None
        self._tick()
        if self._over is None and self.match.is_replying:
            turn = self.match.turn
            self.match.reply(self._clocks())
            self._after_move(turn)
        elif self._over is None:
            time.sleep(PAUSE)
            return
        self._tell_all()

    def _do(self, asked: Asked) -> None:
        self._asking, self._is_stuck = asked.visitor, False
        self._tick()
        guest = self._guest_of(asked.visitor)
        match asked.request:
            case Leave(for_good=for_good):
                self._left(guest, for_good=for_good)
            case p.Join(token=token):
                guest = self._joined(asked.visitor, token)
            case p.Reveal(seat=seat):
                self._reveal(guest, seat)
            case p.Act(action=action):
                self._act(guest, action)
            case p.TakeBack():
                self._take_back(guest)
            case p.Hint():
                self._need_turn(guest)
                asked.visitor.send(p.Hinted(options=self.match.hint()))
                return
            case p.OfferDraw():
                self._offer_draw(guest)
            case p.Review():
                self._review(self._need(guest), asked.visitor)
                return
            case p.StopReview():
                if (review := self._reviews.pop(asked.visitor, None)) is not None:
                    review.is_stopped = True
                return
            case _:
                pass
        self._run_clock()
        self._tell_all()

    def _fail(self, sentence: str) -> None:
        problem = p.Problem(sentence=sentence[:LONGEST])
        if self._asking is not None:
            # To this page alone: that a move was refused may tell the others what its seat holds.
            self._asking.send(problem)
            guest = self._guest_of(self._asking)
            if guest is not None and self._over is None:
                self._asking.send(self._table(guest))
                return
        else:  # a player of ours failed
            self._is_stuck = True
            self._tell_all(problem)
        self._tell_all()

    def _end(self) -> None:
        self._drop_reviews()
        if self._reviewer is not None:
            self._reviewer.close()
        self.match.close()

    def _review(self, guest: Guest, visitor: Visitor) -> None:
        """Begin a review for a page; one that is under way ends."""
        judges = self.match.review(self._reviewed(guest))
        if self._reviewer is None:
            self._reviewer = Reviewer()
            self._reviewer.start()
        self._drop_review(visitor)
        self._reviews[visitor] = self._reviewer.begin(visitor.send, judges)

    def _drop_review(self, visitor: Visitor) -> None:
        if (review := self._reviews.pop(visitor, None)) is not None:
            review.is_stopped = review.is_dropped = True

    def _drop_reviews(self) -> None:
        for visitor in list(self._reviews):
            self._drop_review(visitor)

    def _guest_of(self, visitor: Visitor) -> Guest | None:
        return next((guest for guest in self._guests if guest.visitor is visitor), None)

    def _need(self, guest: Guest | None) -> Guest:
        if guest is None:
            raise SearchStateError("You have no seat at this table: open its link again.")
        return guest

    def _need_turn(self, guest: Guest | None) -> Guest:
        """:raises SylvanError: nobody at the guest's page is to move and sees it."""
        guest = self._need(guest)
        if self._over is not None:
            raise GameOver("The game is over: start a new one, or take a move back.")
        if not self._is_complete:
            raise IllegalAction("The table is not complete: wait until all seats are taken.")
        if self.match.turn not in guest.seats:
            raise IllegalAction("It is not your turn: wait for the others.")
        if self._curtain(guest) is not None:
            raise IllegalAction(f"Seat {self.match.turn} must first ask to see its view.")
        return guest

    def _joined(self, visitor: Visitor, token: str | None) -> Guest:
        """Let a page come back to its seats, or take the first free one.

        :raises ConfigError: no seat is free.
        """
        for guest in self._guests:
            if token is not None and secrets.compare_digest(guest.token.encode(), token.encode()):
                before, guest.visitor = guest.visitor, visitor
                guest.shown, self.deserted = None, None
                if before is not None and before is not visitor:
                    before.send(p.Problem(sentence="Your seat was opened in another window."))
                return guest
        taken = {seat for guest in self._guests for seat in guest.seats}
        free = sorted(self.match.people - taken)
        if not free:
            raise ConfigError("All seats of this table are taken: start a game of your own.")
        guest = Guest(secrets.token_urlsafe(16), [free[0]], visitor)
        self._guests.append(guest)
        self.deserted = None
        return guest

    def _left(self, guest: Guest | None, *, for_good: bool) -> None:
        if guest is None:
            return
        if guest.visitor is not None:
            self._drop_review(guest.visitor)
        guest.visitor = None
        self._wishes.discard(guest.token)
        self._offers.discard(guest.token)
        if for_good:
            guest.token = secrets.token_urlsafe(16)  # the page has forgotten it
        if not any(each.visitor for each in self._guests):
            self.deserted = time.monotonic()

    def _reveal(self, guest: Guest | None, seat: int) -> None:
        guest = self._need(guest)
        if seat not in guest.seats:
            raise IllegalAction(f"Seat {seat} is not at this page.")
        guest.shown = seat

    def _act(self, guest: Guest | None, action: int) -> None:
        guest = self._need_turn(guest)
        if (objection := self.match.objection(action)) is not None:
            raise IllegalAction(objection)
        turn = self.match.turn
        self.match.act(action)
        if self.match.turn != turn:
            guest.shown = None  # the next person may look already
        self._after_move(turn)

    def _after_move(self, seat: int | None) -> None:
        self._wishes.clear()
        self._offers.clear()  # a move declines
        if self._clock is not None and seat is not None:
            self._clock.moved(seat)
            self._tick()
        self._run_clock()

    def _take_back(self, guest: Guest | None) -> None:
        guest = self._need(guest)
        if self._flagged is not None:
            raise GameOver("The game was lost on time: start a new one.")
        first = next(iter(self._wishes), guest.token)
        asking = next(each for each in self._guests if each.token == first)
        self._wishes.add(guest.token)
        here = {each.token for each in self._guests if each.visitor and each.seats}
        if here <= self._wishes:
            self._wishes.clear()
            self._offers.clear()
            self._drop_reviews()  # of moves that are no longer made
            self.match.take_back(asking.seats)

    def _offer_draw(self, guest: Guest | None) -> None:
        """Offer a draw, or agree to one."""
        guest = self._need(guest)
        if self._over is not None:
            raise GameOver("The game is over: start a new one, or take a move back.")
        if not self._is_complete:
            raise IllegalAction("The table is not complete: wait until all seats are taken.")
        if not self.match.can_draw or not guest.seats:
            raise ConfigError("No draw can be agreed in this game.")
        self._offers.add(guest.token)
        asked = {seat for each in self._guests if each.token in self._offers for seat in each.seats}
        if not self.match.people <= asked:
            return  # until the other person agrees or moves
        self._offers.clear()
        if not self.match.agree_draw():
            raise IllegalAction("Sylvan declines the draw.")

    # --- the clock -------------------------------------------------------------------------------

    @property
    def _over(self) -> str | None:
        """How the game ended, if it has, as nobody in particular sees it."""
        if self._flagged is not None:
            return f"{self.match.seat_names[self._flagged]}'s time is up."
        return self.match.verdict([]) if self.match.is_over else None

    def _tick(self) -> None:
        """See whether a flag has fallen."""
        if self._clock is not None and self._flagged is None and not self.match.is_over:
            self._flagged = self._clock.fallen

    def _run_clock(self) -> None:
        """Let the clock of the seat to move run."""
        turn = self.match.turn
        if self._clock is None:
            return
        if turn is None or self._over is not None or not self._is_complete:
            self._clock.stop()
        else:
            self._clock.start(turn)

    def _clocks(self) -> Clocks | None:
        """The clocks for a player of ours, which knows those of two seats."""
        if self._clock is None or len(self._choices) != 2:
            return None
        first, second = (max(0.0, self._clock.left(seat)) for seat in range(2))
        return Clocks((first, second), (self._clock.increment,) * 2)

    # --- what is sent ----------------------------------------------------------------------------

    def _tell_all(self, message: p.Message | None = None) -> None:
        """Send a message, or the state of the table, to every page that is here."""
        for guest in self._guests:
            if guest.visitor is not None:
                guest.visitor.send(message or self._table(guest))

    def _curtain(self, guest: Guest) -> int | None:
        """The seat at a page whose person has yet to ask for its view."""
        if not self.match.hides or len(guest.seats) < 2 or self.match.turn not in guest.seats:
            return None
        return None if guest.shown == self.match.turn else self.match.turn

    def _shown_seat(self, guest: Guest) -> int | None:
        """The seat whose view a page gets; None: what everyone sees."""
        if not self.match.hides or len(guest.seats) == 1:
            return guest.seats[0] if guest.seats else None
        return guest.shown if self._curtain(guest) is None else None

    def _reviewed(self, guest: Guest) -> list[int]:
        """The seats whose decisions a page may look back at."""
        if not self.match.hides or self._over is not None:
            return guest.seats
        seen = self._shown_seat(guest)
        return [] if seen is None else [seen]

    def _table(self, guest: Guest) -> p.Table:
        match, turn, seen = self.match, self.match.turn, self._shown_seat(guest)
        curtain = self._curtain(guest)
        can_act = turn in guest.seats and curtain is None and self._is_complete
        over = self._verdict(guest)
        return p.Table(
            code=self.code,
            token=guest.token,
            game=match.game,
            board=match.board(seen),
            actions=match.actions(turn) if can_act and turn is not None and not over else [],
            seat=seen,
            curtain=None if over else curtain,
            to_play=None if over else turn,
            seats=self._seats(guest),
            ticking=self._clock is not None and self._clock.running is not None,
            said=match.said,
            asked=self._names_of(self._wishes),
            can_draw=match.can_draw and over is None,
            draw_offered=self._names_of(self._offers),
            over=over,
        )

    def _verdict(self, guest: Guest) -> str | None:
        if self._over is None or self._flagged is None:
            return None if self._over is None else self.match.verdict(guest.seats)
        if len(self._choices) != 2 or len(guest.seats) != 1:
            return self._over
        return (
            "You lose: your time is up."
            if self._flagged in guest.seats
            else (f"You win: {self._over}")
        )

    def _names_of(self, tokens: set[str]) -> list[str]:
        """The first seats of some guests."""
        names = self.match.seat_names
        return [
            names[seat]
            for guest in self._guests
            if guest.token in tokens
            for seat in guest.seats[:1]
        ]

    def _seats(self, asking: Guest) -> list[p.SeatInfo]:
        by_seat = {seat: guest for guest in self._guests for seat in guest.seats}
        found = []
        for seat, name in enumerate(self.match.seat_names):
            guest = by_seat.get(seat)
            who = "player" if seat not in self.match.people else "free"
            if guest is not None:
                who = "you" if guest is asking else "person"
            found.append(
                p.SeatInfo(
                    name=name,
                    who=who,  # type: ignore[arg-type]
                    player=self.match.player_name(seat),
                    away=guest is not None and guest.visitor is None,
                    clock=None if self._clock is None else max(0.0, self._clock.left(seat)),
                )
            )
        return found
