"""Shared by the tests of the browser app: a server in a thread, pages that speak the protocol."""

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from sylvan.web import app as web_app
from sylvan.web.app import make_app
from sylvan.web.desk import Desk
from sylvan.web.hall import Hall
from sylvan.web.protocol import MOST_BYTES, Message, Problem, Search, read_request
from sylvan.web.security import Policy
from sylvan.web.training import Training


@contextmanager
def served(desk: Desk | None = None, policy: Policy | None = None, port: int = 0) -> Iterator[str]:
    """The address `host:port` of a server that runs in a thread."""
    app = make_app(desk or Desk(), policy or Policy())
    listening = socket.create_server(("127.0.0.1", port))
    settings = uvicorn.Config(
        app, log_level="error", ws="websockets-sansio", ws_max_size=MOST_BYTES
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


class Page:
    """A page without a browser: an `Analysis` and what it has said."""

    def __init__(
        self, desk: Desk | None = None, *, acks: bool = True, hall: Hall | None = None
    ) -> None:
        self.said: list[Message] = []
        self._new: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._acks = acks
        desk = desk or Desk()
        self._page = web_app.Page(desk, hall or Hall(), Training(desk), self._hear)
        self.analysis, self.play = self._page.analysis, self._page.play
        self.learn = self._page.learn

    def _hear(self, message: Message) -> None:
        self.said.append(message)
        if isinstance(message, Search) and self._acks:
            self.ask(type="ack", serial=message.serial)
        self._new.put(message)

    def ask(self, **request: Any) -> None:
        self._page.hear(read_request(json.dumps(request)))

    def wait(self, kind: type, seconds: float = 20, **wanted: Any) -> Any:
        """The next message of a kind with these fields; a `Problem` in between fails."""
        until = time.monotonic() + seconds
        while True:
            message = self._new.get(timeout=max(0.01, until - time.monotonic()))
            fits = all(getattr(message, name, None) == value for name, value in wanted.items())
            if isinstance(message, kind) and fits:
                return message
            assert kind is Problem or not isinstance(message, Problem), message

    def searched(self, simulations: int) -> Search:
        """Search for some simulations and return the last message about it."""
        self.ask(type="run", simulations=simulations)
        while True:
            message = self.wait(Search, running=False)
            if message.simulations:
                return message

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()
        assert all(worker.join(20) for worker in self._page.workers)
