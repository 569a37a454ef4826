"""Two deals that a seat cannot tell apart: its page gets the same bytes, over a real socket."""

import json
import re
from contextlib import ExitStack

import pytest
from websockets.sync.client import connect

from sylvan.blob.copilot import game_of
from sylvan.web import match
from tests.web.serving import served

PLAYERS = 3


def hands(game):
    return [tuple(sorted(game.hand(seat))) for seat in range(PLAYERS)]


def script(one, other):
    """Actions that are legal in both games, as long as there are any."""
    one, other, found = one.clone(), other.clone(), []
    while one.round == 0 and not one.is_chance():
        both = sorted(set(one.legal_actions()) & set(other.legal_actions()))
        if not both:
            break
        found.append((one.to_play(), both[0]))
        one.apply(both[0])
        other.apply(both[0])
    return found


def deals():
    """Two deals with one view of seat 0, and the actions that both allow."""
    first = game_of({"players": PLAYERS, "cards": 3}, 5)
    others = [first.observe(0).sample(seed) for seed in range(20)]
    different = [other for other in others if hands(other) != hands(first)]
    second = max(different, key=lambda other: len(script(first, other)))
    return first, second, script(first, second)


class Socket:
    """A page, and all that it was sent."""

    def __init__(self, stack, address):
        self.read = []
        self._socket = stack.enter_context(
            connect(f"ws://{address}/socket", origin=f"http://{address}")
        )

        self.wait("hello")

    def ask(self, **request):
        self._socket.send(json.dumps(request))

    def wait(self, *kinds, moves=None):
        """The next message of these kinds; a table with that many moves."""
        while True:
            text = self._socket.recv(timeout=30)
            self.read.append(text)
            message = json.loads(text)
            is_it = message["type"] != "table" or moves in (None, len(message["said"]))
            if message["type"] in kinds and is_it:
                return message


def told(game, moves, monkeypatch):
    """All bytes for seat 0 while three people play `moves`; the codes of the table apart."""
    monkeypatch.setattr(match, "game_of", lambda *_: game.clone())
    seats = [{"who": "you"}, *({"who": "guest"} for _ in range(PLAYERS - 1))]
    with ExitStack() as stack:
        address = stack.enter_context(served())
        pages = [Socket(stack, address) for _ in range(PLAYERS)]
        pages[0].ask(type="sit", game="blob", seats=seats, cards=3, seed=5, teach=True)
        table = pages[0].wait("table")
        for page in pages[1:]:
            page.ask(type="join", code=table["code"])
            page.wait("table")
            pages[0].wait("table")
        for number, (seat, action) in enumerate(moves, 1):
            if seat == 0:
                pages[0].ask(type="hint")
                pages[0].wait("hinted")
                pages[0].ask(type="review")
                pages[0].wait("reviewed")
            pages[seat].ask(type="act", action=action)
            if pages[seat].wait("table", "problem", moves=number)["type"] == "problem":
                pages[seat].ask(type="act", action=action)  # the teacher objected
                pages[seat].wait("table", moves=number)
            if seat:
                pages[0].wait("table", moves=number)
        return [re.sub(r'"(code|token)":"[^"]*"', "", text) for text in pages[0].read]


@pytest.mark.usefixtures("built")
def test_two_deals_that_a_seat_cannot_tell_apart_are_the_same_bytes(monkeypatch):
    first, second, moves = deals()
    assert first.observe(0).key() == second.observe(0).key() and hands(first) != hands(second)
    assert len(moves) > PLAYERS + 1  # all bids, and some cards
    said = told(first, moves, monkeypatch)
    assert any('"hinted"' in text for text in said)
    assert said == told(second, moves, monkeypatch)
