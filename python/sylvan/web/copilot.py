"""The copilot in the browser: a person enters what happens at a real table, and gets advice."""

from __future__ import annotations

import json
from typing import Literal

from sylvan.blob.copilot import Copilot, Notes
from sylvan.errors import ConfigError, SearchStateError
from sylvan.games.blob import FIRST_BID, card_name
from sylvan.web import protocol as p
from sylvan.web.boards import actions_of, board_of
from sylvan.web.match import options_of
from sylvan.web.worker import Send, Worker

__all__ = ["Advising"]

Wanted = Literal["turned_up", "hand", "bid", "card", "next", "nothing"]


class Advising(Worker[p.Request]):
    """The real table of a page."""

    def __init__(self, send: Send) -> None:
        """Prepare; `send` is called with every message."""
        super().__init__(send)
        self._copilot: Copilot | None = None

    @property
    def _has_work(self) -> bool:
        return False

    def _work(self) -> None: ...

    def _do(self, request: p.Request) -> None:
        match request:
            case p.Advise():
                self._copilot = _begun(request)
            case p.Note(what=what, text=text):
                self._note(what, text)
            case _:
                return
        self._tell()

    def _note(self, what: str, text: str) -> None:
        """Enter something; an entry that is impossible changes nothing."""
        if self._copilot is None:
            raise SearchStateError("There is no table yet: start one.")
        copilot, words = self._copilot, text.replace(",", " ").split()
        match what:
            case "hand":
                copilot.enter_hand(words)
            case "turned_up":
                copilot.turn_up(text)
            case "trump":
                copilot.set_trump(text)
            case "points":
                copilot.set_points(words)
            case "entry":
                copilot.enter(text)
            case "correct":
                number, _, entry = text.partition(" ")
                if not (number.isdecimal() and len(number) < 6):
                    raise ConfigError("Give the entry's number and its new value: 3 7h")
                copilot.correct(int(number), entry)
            case "round":
                if not (text.isdecimal() and len(text) < 6):
                    raise ConfigError("Give the number of the round: 4")
                copilot.go_to(int(text))
            case "next":
                copilot.next_round()
            case "undo":
                copilot.undo()

    def _tell(self) -> None:
        """Send the table at once, and the advice when it is there."""
        copilot = self._copilot
        assert copilot is not None
        notes = _notes(copilot)
        self._send(notes)
        if copilot.is_persons_turn and not self.is_wanted:
            advice = options_of(copilot.table, copilot.advise())
            self._send(notes.model_copy(update={"advice": advice}))


def _begun(request: p.Advise) -> Copilot:
    """:raises SylvanError: there is no such table, or the file has no notes."""
    if request.saved is not None:
        return Copilot.from_json(request.saved, "The file")
    rules = {"players": request.players, "cards": request.cards, "trump": request.trump}
    return Copilot(Notes(request.seat, rules))


def _notes(copilot: Copilot) -> p.Notes:
    table = copilot.table
    wanted, prompt = _wanted(copilot)
    return p.Notes(
        board=board_of(table),
        you=copilot.notes.seat,
        wanted=wanted,
        prompt=prompt,
        actions=actions_of(table) if wanted in ("bid", "card") else [],
        entries=[
            p.PlyInfo(action=action, label=_name(action), seat=seat)
            for seat, action in copilot.history()
        ],
        advice=None,
        saved=json.dumps(copilot.to_json()),
    )


def _name(action: int) -> str:
    return card_name(action) if action < FIRST_BID else f"bid {action - FIRST_BID}"


def _wanted(copilot: Copilot) -> tuple[Wanted, str]:
    """The next input, and the prompt for it."""
    table = copilot.table
    if table.is_terminal():
        if table.round + 1 == len(table.sequence):
            return "nothing", "The game is over."
        return "next", f"Round {table.round + 1} is over."
    if not table.is_view:
        if copilot.needs_card and copilot.notes.turned_up is None:
            return "turned_up", "Which card is turned up for trump?"
        cards = "card" if table.cards == 1 else f"{table.cards} cards"
        return "hand", f"Which {cards} do you hold?"
    kind: Wanted = "bid" if table.phase == "bidding" else "card"
    if copilot.is_persons_turn:
        return kind, "Your turn: what do you bid?" if kind == "bid" else "Your turn: which card?"
    seat = f"seat {table.to_play()}"
    return kind, f"What does {seat} bid?" if kind == "bid" else f"Which card does {seat} play?"
