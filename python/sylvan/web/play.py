"""Requests about games: start one, join one, play at its table."""

from __future__ import annotations

import random

from sylvan.errors import SearchStateError
from sylvan.web import protocol as p
from sylvan.web.desk import Desk
from sylvan.web.hall import Hall
from sylvan.web.match import match_for
from sylvan.web.opponents import offers
from sylvan.web.table import Asked, Table, Visitor
from sylvan.web.worker import Send, Worker

__all__ = ["Play"]


class Play(Worker[p.Request]):
    """A page and the table at which it sits."""

    def __init__(self, desk: Desk, hall: Hall, send: Send) -> None:
        """Prepare; `send` is called with every message, from any thread."""
        super().__init__(send)
        self._desk, self._hall = desk, hall
        self._visitor = Visitor(send)
        self.table: Table | None = None

    @property
    def _has_work(self) -> bool:
        return False

    def _work(self) -> None: ...

    def _do(self, request: p.Request) -> None:
        match request:
            case p.ListOffers():
                self._send(p.Offers(games=offers(self._desk)))
            case p.Sit():
                self._sit(request)
            case p.Join(code=code):
                found = self._hall.find(code)
                if found is not self.table:
                    self._leave(for_good=True)
                self.table = found
                self._say(request)
            case _:
                if self.table is None:
                    raise SearchStateError("There is no game yet: start one.")
                self._say(request)

    def _say(self, request: p.Request) -> None:
        assert self.table is not None
        if not self.table.hear(Asked(self._visitor, request)):
            raise SearchStateError("The table has too much to do: wait a moment and try again.")

    def _fail(self, sentence: str) -> None:
        super()._fail(sentence)
        if self.table is not None:
            self.table.hear(Asked(self._visitor, None))

    def _sit(self, request: p.Sit) -> None:
        seed = random.randrange(2**53) if request.seed is None else request.seed
        match = match_for(self._desk, request, seed)
        self._leave(for_good=True)
        self.table = self._hall.open(match, request, self._visitor)
        self.table.start()

    def _end(self) -> None:
        self._leave(for_good=False)

    def _leave(self, *, for_good: bool) -> None:
        if self.table is not None:
            self.table.leave(self._visitor, for_good=for_good)
        self.table = None
