"""The analysis server: queries in, reports out, many positions in one batch.

One thread reads and never waits for a search; the other analyses. It analyses one *batch* at a
time: the waiting positions of the highest priority with the same limits and settings, in the order
of arrival, as trees of one `Forest`, so that a network evaluates them together. A query of higher
priority interrupts the batch. A position is reported when its own tree is done.

At the end of the input, all open queries are still answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Unpack

from sylvan.engines.analysis.batch import Batch, Task
from sylvan.engines.analysis.schema import Cancel, Cancelled, Failure, Query, Report, identity, read
from sylvan.errors import ConfigError, ProtocolError, SylvanError
from sylvan.evaluators import EvaluatorLike, evaluator_for
from sylvan.games import Chess
from sylvan.planning import SearchConfig, SearchSettings

__all__ = ["Server"]

FOREVER = 1e8
"""Seconds of a search whose deadline the server itself checks."""
LIMITS = ("simulations", "seconds", "bytes", "leaves_in_flight", "threads")
"""Settings that a query cannot set in `settings`."""


class Server:
    """The queue of positions, and the thread that analyses them."""

    def __init__(
        self,
        say: Callable[[str], None],
        evaluator: EvaluatorLike | None = None,
        *,
        slots: int = 64,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Start the server.

        :param say: sends a line.
        :param slots: most positions per batch.
        :param settings: settings of the search.
        """
        self.say = say
        self.evaluator = evaluator_for(Chess(), evaluator)
        self.slots = slots
        self.config = SearchConfig(**settings)
        self._waiting: list[Task] = []
        self._running: list[Task] = []
        self._received = 0
        self._closed = False
        self._change = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="analysis", daemon=True)
        self._worker.start()

    # --- the reading thread -------------------------------------------------------------------

    def hear(self, line: str) -> None:
        """Handle one line; errors are sent as answers."""
        if not line.strip():
            return
        try:
            request = read(line)
            if isinstance(request, Cancel):
                self._cancel(request)
            else:
                self._add(request)
        except ProtocolError as error:
            self._fail(identity(line), error, error.field)

    def close(self) -> None:
        """Answer all open queries, and end."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._worker.join()

    def _add(self, query: Query) -> None:
        tasks = self._tasks(query)
        with self._change:
            if any(task.query.id == query.id for task in self._open()):
                raise ProtocolError(f"id {query.id!r} is already in use: use another.", "id")
            self._waiting += tasks
            self._change.notify()

    def _tasks(self, query: Query) -> list[Task]:
        """Return the positions of a query; raise if one is invalid."""
        config = self._config(query)
        games = _games(query)
        plies = range(len(games)) if query.plies == "all" else query.plies or [len(games) - 1]
        if max(plies) >= len(games):
            raise ProtocolError(
                f"plies has {max(plies)}, but there are {len(games) - 1} moves.", "plies"
            )
        tasks = []
        for ply in dict.fromkeys(plies):
            self._received += 1
            game = _restricted(games[ply], query.searchmoves)
            tasks.append(Task(query, ply, game, config, self._received))
        return tasks

    def _config(self, query: Query) -> SearchConfig:
        """Return the settings of a query's search; the server itself checks the time."""
        for name in LIMITS:
            if name in query.settings:
                raise ProtocolError(
                    f"settings has {name!r}, which a query cannot set: leave it out.",
                    "settings",
                )
        simulations = query.simulations
        if simulations is None and query.seconds is None:
            simulations = self.config.simulations
        # With any deadline, the trees of a batch take turns and get equal shares.
        seconds = None if query.seconds is None else FOREVER
        settings: dict[str, Any] = {**query.settings}
        try:
            return self.config.replace(**settings).replace(simulations=simulations, seconds=seconds)
        except ConfigError as error:
            raise ProtocolError(str(error), "settings") from None

    def _cancel(self, request: Cancel) -> None:
        with self._change:
            tasks = [task for task in self._open() if task.query.id == request.id]
            if not tasks:
                raise ProtocolError(f"id {request.id!r} is not an open query.", "id")
            for task in tasks:
                task.over = True
            self._waiting = [task for task in self._waiting if not task.over]
            # Sent under the lock, so that no report of these positions follows.
            self.say(Cancelled(id=request.id, cancelled=len(tasks)).model_dump_json())

    def _open(self) -> list[Task]:
        return [task for task in (*self._waiting, *self._running) if not task.over]

    # --- the analysing thread -----------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
            self._analyse(self._next())

    def _next(self, above: int | None = None) -> list[Task]:
        """Return the next batch; empty if no waiting priority is higher than `above`."""
        with self._change:
            first = min(self._waiting, key=lambda t: (-t.query.priority, t.order), default=None)
            if first is None or (above is not None and first.query.priority <= above):
                return []
            batch = [task for task in self._waiting if task.batch == first.batch][: self.slots]
            self._waiting = [task for task in self._waiting if task not in batch]
            self._running += batch
            return batch

    def _analyse(self, tasks: list[Task]) -> None:
        """Analyse a batch to its end; more urgent batches interrupt it."""
        priority = tasks[0].query.priority

        def urgent() -> bool:
            more = self._next(above=priority)
            if more:
                self._analyse(more)
            return bool(more)

        try:
            Batch(tasks, self.evaluator, self._report, urgent).run()
        except Exception as error:  # a failing evaluator must not end the server
            for task in tasks:
                if not task.over:
                    self._fail(task.query.id, error)
        finally:
            with self._change:
                self._running = [task for task in self._running if task not in tasks]

    def _report(self, task: Task, report: Report) -> None:
        """Send a report, unless its query was cancelled."""
        with self._change:
            if not task.over:
                self.say(report.model_dump_json())
            task.over = task.over or report.final

    def _fail(self, identity: str | int | None, error: Exception, field: str | None = None) -> None:
        text = " ".join(str(error).split())
        sentence = text if isinstance(error, SylvanError) else f"{type(error).__name__}: {text}"
        self.say(Failure(id=identity, error=sentence, field=field).model_dump_json())


def _first(query: Query) -> Chess:
    """Return the first position of a query."""
    try:
        return Chess(query.fen, chess960=query.chess960)
    except SylvanError as error:
        raise ProtocolError(str(error), "fen") from None


def _games(query: Query) -> list[Chess]:
    """Return the positions of a query, from the first to the last."""
    games = [_first(query)]
    for move in query.moves.split() if isinstance(query.moves, str) else query.moves:
        games.append(games[-1].clone())
        try:
            games[-1].push(move)
        except SylvanError as error:
            raise ProtocolError(f"Move {len(games) - 1}: {error}", "moves") from None
    return games


def _restricted(game: Chess, moves: list[str]) -> Chess:
    """Restrict a position to these root moves, if any are given."""
    if not moves:
        return game
    try:
        return game.restricted(moves)
    except SylvanError as error:
        raise ProtocolError(str(error), "searchmoves") from None
