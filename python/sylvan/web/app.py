"""The routes: the page and its files, and a websocket per page."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from sylvan.errors import MissingPage
from sylvan.web import protocol
from sylvan.web.analysis import Analysis
from sylvan.web.copilot import Advising
from sylvan.web.desk import Desk
from sylvan.web.hall import Hall
from sylvan.web.learn import Learn
from sylvan.web.play import Play
from sylvan.web.protocol import MOST_BYTES, Message, Problem, read_request
from sylvan.web.security import Guard, Policy
from sylvan.web.training import Training
from sylvan.web.worker import Send, Worker

__all__ = ["STATIC", "make_app"]

STATIC = Path(__file__).parent / "static"
"""The built page."""

MOST_PAGES = 10
"""Pages that may search at once."""

WAITING = 256
"""Messages that may wait for a slow page before it is cut off."""

TYPES = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page; no other is served."""


class Page:
    """An open page: its analysis, its game, and the runs that it watches."""

    def __init__(self, desk: Desk, hall: Hall, training: Training, send: Send) -> None:
        self.analysis = Analysis(desk, send)
        self.play = Play(desk, hall, send)
        self.advising = Advising(send)
        self.learn = Learn(desk, training, send)
        for worker in self.workers:
            worker.start()

    @property
    def workers(self) -> tuple[Worker[protocol.Request], ...]:
        """All of them."""
        return self.analysis, self.play, self.advising, self.learn

    def hear(self, request: protocol.Request) -> bool:
        """Hand a request to whom it is for; returns whether it was taken in."""
        if isinstance(request, GAME):
            return self.play.hear(request)
        if isinstance(request, protocol.Advise | protocol.Note):
            return self.advising.hear(request)
        if isinstance(request, RUNS):
            return self.learn.hear(request)
        return self.analysis.hear(request)

    def close(self) -> None:
        """Stop all work."""
        for worker in self.workers:
            worker.close()


GAME = (
    protocol.ListOffers,
    protocol.Sit,
    protocol.Join,
    protocol.Reveal,
    protocol.Act,
    protocol.TakeBack,
    protocol.Hint,
    protocol.Review,
    protocol.StopReview,
    protocol.OfferDraw,
)
"""Requests about a game that people play."""

RUNS = (
    protocol.Follow,
    protocol.ListGames,
    protocol.Replay,
    protocol.Film,
    protocol.Foresee,
    protocol.AskOpinion,
    protocol.StartRun,
    protocol.PauseRun,
    protocol.ResumeRun,
)
"""Requests about runs."""


@dataclass
class House:
    """The pages that are open."""

    desk: Desk
    training: Training
    hall: Hall = field(default_factory=Hall)
    pages: set[Page] = field(default_factory=set)

    async def connect(self, socket: WebSocket) -> None:
        """Serve one page until it goes away."""
        await socket.accept()
        if len(self.pages) >= MOST_PAGES:
            full = f"{MOST_PAGES} pages are open already: close one of them and reload this one."
            await socket.send_text(Problem(sentence=full).model_dump_json())
            await socket.close(1013)
            return
        loop = asyncio.get_running_loop()
        outbox: asyncio.Queue[str] = asyncio.Queue()

        def send(message: Message) -> None:
            text = message.model_dump_json()
            with suppress(RuntimeError):  # the server is shutting down
                loop.call_soon_threadsafe(outbox.put_nowait, text)

        page = Page(self.desk, self.hall, self.training, send)
        self.pages.add(page)
        speaking = asyncio.create_task(_speak(socket, outbox))
        try:
            await _listen(socket, page, outbox)
        finally:
            page.close()
            self.pages.discard(page)
            speaking.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await speaking

    def close(self) -> None:
        """Stop all searches and games."""
        for page in self.pages:
            page.close()
        self.hall.close()


async def _listen(socket: WebSocket, page: Page, outbox: asyncio.Queue[str]) -> None:
    while True:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return
        data = received.get("text") or received.get("bytes") or ""
        try:
            if len(data) > MOST_BYTES:
                raise ValueError
            if not page.hear(read_request(data)):
                return  # it asks faster than it can be answered
        except (ValidationError, ValueError):
            problem = Problem(sentence="This message is not of the protocol: reload.")
            outbox.put_nowait(problem.model_dump_json())
        if outbox.qsize() > WAITING:
            return


async def _speak(socket: WebSocket, outbox: asyncio.Queue[str]) -> None:
    while True:
        await socket.send_text(await outbox.get())


async def _file(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    if name not in TYPES:
        return PlainTextResponse("There is no such page.\n", status_code=404)
    return FileResponse(STATIC / name, media_type=TYPES[name])


def make_app(desk: Desk, policy: Policy) -> Guard:
    """The whole app.

    :raises MissingPage: the page is not built.
    """
    for name in TYPES:
        if not (STATIC / name).is_file():
            raise MissingPage("The page is not built: run `make web` in the source tree.")
    house = House(desk, Training(desk))
    routes = [
        Route("/", _file),
        Route("/{name}", _file),
        WebSocketRoute("/socket", house.connect),
    ]
    app = Starlette(routes=routes)
    app.state.house = house
    return Guard(app, policy)
