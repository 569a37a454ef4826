"""The parts of the page in a notebook, as anywidgets.

A widget exchanges the page's messages (`protocol`) over the notebook's own connection, so no server
runs. The messages that it begins with are stored in the notebook: where Python does not run, a
search can still be looked at, with the positions of its best lines.

It needs the extra `notebook` (anywidget).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sylvan.errors import ConfigError, MissingExtra, MissingPage, SylvanError
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchResult
from sylvan.planning.roots import as_root
from sylvan.runs.overview import find_runs
from sylvan.web import protocol as p
from sylvan.web.copilot import Advising
from sylvan.web.desk import Desk
from sylvan.web.found import Found
from sylvan.web.hall import Hall
from sylvan.web.learn import Learn
from sylvan.web.line import Line
from sylvan.web.looking import looked
from sylvan.web.opponents import BLOB
from sylvan.web.play import Play
from sylvan.web.rows import LINES, MoveRows, TreeRows
from sylvan.web.training import Training
from sylvan.web.worker import Worker

try:
    import traitlets
    from anywidget import AnyWidget
except ImportError:
    raise MissingExtra.named("Widgets in a notebook need anywidget", "notebook") from None

__all__ = ["Widget", "play", "watch", "widget"]

BUNDLE = Path(__file__).parent / "static" / "widget.js"
"""The built parts (`make web`)."""

NODES = 60
"""Nodes of a tree that are shown at first, with their positions stored in the notebook."""


class Widget(AnyWidget):
    """A part of the page; `part` says which one."""

    _esm = traitlets.Unicode().tag(sync=True)
    part = traitlets.Unicode().tag(sync=True)
    messages: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    """The first messages to the part."""

    def __init__(self, part: str, messages: Sequence[p.Message] = ()) -> None:
        """A part that hears these messages first.

        :raises MissingPage: the parts are not built.
        """
        if not BUNDLE.is_file():
            raise MissingPage("The widgets are not built: run `make web` in the source tree.")
        first = [plain(message) for message in messages]
        super().__init__(_esm=BUNDLE.read_text(), part=part, messages=first)
        self.on_msg(lambda _, content, __: self._heard(content))

    def tell(self, message: p.Message) -> None:
        """Send a message to all places where the part is shown."""
        self.send(plain(message))

    def _heard(self, content: object) -> None:
        try:
            request = p.read_request(json.dumps(content))
        except (TypeError, ValueError, ValidationError):
            self.tell(
                p.Problem(sentence="This message is not of the protocol: run the cell again.")
            )
            return
        try:
            self.answer(request)
        except SylvanError as error:
            self.tell(p.Problem(sentence=str(error)))

    def answer(self, request: p.Request) -> None:
        """Do what the part asks."""
        raise NotImplementedError


def plain(message: p.Message) -> dict[str, Any]:
    """A message as JSON data."""
    data: dict[str, Any] = message.model_dump(mode="json")
    return data


# --- a search that has ended -------------------------------------------------------------------


class _Result(Widget):
    """Board, table and tree of a result."""

    def __init__(self, result: SearchResult) -> None:
        tree = result.tree.top()
        facts = result.simulations, result.seconds, result.nodes, result.bytes, result.depth
        self._found = Found(tree, *facts, result.evaluator)
        self._line = Line(type(result.game).__name__.lower(), as_root(result.game))
        seat = tree.root.seat
        self._rows = TreeRows(seat or 0)
        self._search = p.Search(
            serial=0,
            fresh=False,
            running=False,
            ended=None,
            evaluator=result.evaluator,
            seat=seat,
            graph=[tree.root.values[0]],
            moves=MoveRows(result.config.temperature).changes(tree),
        ).model_copy(update=self._found.figures())
        position = self._line.position(result.evaluator, {})
        super().__init__("result", [position, self._shown(NODES, []), *self._looks()])

    def _shown(self, nodes: int, opened: list[list[int]]) -> p.Search:
        """The result with this many nodes; all of them, because a cell may be shown twice."""
        paths = {tuple(path) for path in opened}
        gone = self._rows.changes(self._found.tree, nodes, paths).nodes_gone
        update = {"nodes_new": self._rows.sent, "nodes_gone": gone}
        return self._search.model_copy(update=update)

    def _looks(self) -> list[p.Looked]:
        """The positions after the best lines and at the nodes shown."""
        best = [row.line for row in self._search.moves[:LINES]]
        lines = {tuple(line[:length]) for line in best for length in range(1, len(line) + 1)}
        paths: dict[int, tuple[int, ...]] = {}
        for row in self._rows.sent:
            above = paths.get(-1 if row.parent is None else row.parent, ())
            paths[row.id] = above if row.action is None else (*above, row.action)
        return [self._look(list(path)) for path in sorted(lines | set(paths.values()))]

    def _look(self, path: list[int]) -> p.Looked:
        request = p.Look(type="look", path=path, details=True)
        return looked(self._line, self._found, None, request)

    def answer(self, request: p.Request) -> None:
        """Show another position, or other nodes."""
        if isinstance(request, p.Look):
            self.tell(self._look(request.path))
        elif isinstance(request, p.Show):
            self.tell(self._shown(request.nodes, request.opened))


def widget(result: SearchResult) -> Widget:
    """`SearchResult.widget`."""
    return _Result(result)


# --- runs, and games ----------------------------------------------------------------------------


class _Working(Widget):
    """A part with workers, which stop when the widget is closed."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self._workers = self._started()

    def _started(self) -> tuple[Worker[p.Request], ...]:
        """The workers; requests go to the first, unless another takes them."""
        raise NotImplementedError

    def answer(self, request: p.Request) -> None:
        """Leave it to a worker."""
        self._workers[0].hear(request)

    def close(self) -> None:
        """Stop the workers and remove the widget."""
        for worker in self._workers:
            worker.close()
        super().close()


class _Runs(_Working):
    """Runs that learn."""

    def __init__(self, folders: list[Path]) -> None:
        self._desk = Desk(runs=tuple(folders))
        super().__init__("runs")

    def _started(self) -> tuple[Worker[p.Request], ...]:
        learn = Learn(self._desk, Training(self._desk), self.tell)
        learn.start()
        return (learn,)


class _Game(_Working):
    """A game against players of ours."""

    def __init__(self, game: str, sit: p.Sit) -> None:
        self._desk = Desk(start="chess" if game == BLOB else game)
        self._hall = Hall()
        super().__init__("game")
        self.answer(sit)

    def _started(self) -> tuple[Worker[p.Request], ...]:
        workers = Play(self._desk, self._hall, self._said), Advising(self._said)
        for worker in workers:
            worker.start()
        return workers

    def _said(self, message: p.Message) -> None:
        """Take a message from a worker's thread."""
        if isinstance(message, p.Table):  # for cells that show the game later
            self.messages = [plain(message)]
        self.tell(message)

    def answer(self, request: p.Request) -> None:
        """Leave it to the game, or to the adviser at a real table."""
        self._workers[isinstance(request, p.Advise | p.Note)].hear(request)

    def close(self) -> None:
        """Stop the game and remove the widget."""
        super().close()
        self._hall.close()


def watch(*runs: str | PathLike[str]) -> Widget:
    """Watch runs learn, in a notebook: their curves as they grow, and their games.

    `runs` are run folders, or folders of runs; without any, `runs`.

    :raises ConfigError: there is no such folder.
    """
    folders = [Path(run) for run in runs or ("runs",)]
    for folder in folders:
        if not find_runs(folder):
            raise ConfigError(f"There is no run in {folder}: train one with --run {folder}.")
    return _Runs(folders)


def play(
    game: str = "chess",
    *,
    level: int = 5,
    seat: int = 0,
    players: int | None = None,
    cards: int | None = None,
    teach: bool = False,
    seed: int | None = None,
) -> Widget:
    """Play in a notebook: a board against players of ours, with hints and a review.

    Args:
        game: `chess`, `connect4`, `tictactoe`, `blob`, or a game of your own,
            `my_game.py:MyGame`
        level: the opponents' strength, 1 to 10, as in `sylvan play`
        seat: yours; 0 moves first
        players: Blob: players at the table, 3 to 8; 4 unless given
        cards: Blob: cards in the first round
        teach: whether to object to a blunder before it is played
        seed: of the deal and all random choices; None: a new one
    """
    count = (players or 4) if game == BLOB else GameSpec(game).first().num_players
    if not 0 <= seat < count:
        raise ConfigError(f"seat is {seat}: the seats of this game are 0 to {count - 1}.")
    try:
        seats = [p.SeatChoice(who="player", level=level) for _ in range(count)]
        seats[seat] = p.SeatChoice(who="you")
        sit = p.Sit(type="sit", game=game, seats=seats, cards=cards, teach=teach, seed=seed)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{name} is {first['input']!r}: {first['msg'].lower()}.") from None
    return _Game(game, sit)
