"""A page's search, in a thread of its own.

Requests wait in a queue; the thread takes them one by one, so nothing here is shared. While it
searches, the search's watch (called every 40 ms) ends the run as soon as a request waits; after the
request the search goes on in the same tree.

*Speed.* A message is read from the tree and encoded in the search's own time. After a table that
took t seconds of the processor there is none for 150 t, and the same for a tree, so that both cost
a search that has the processor for itself 1.4 %; the rest of 3 % is for sending and caches. There
are never two within a tenth of a second. A page that has not shown the last two gets no more.
"""

from __future__ import annotations

import base64
import time

from sylvan.errors import ConfigError, SearchStateError, SnapshotError, SylvanError
from sylvan.evaluators import Evaluator
from sylvan.evaluators.protocol import name_of, preferred_batch_of
from sylvan.planning import Forest, SearchResult
from sylvan.planning.roots import checked_root, is_view, seen_by_mover, shown_to
from sylvan.views.analysis_file import SUFFIX, pack, unpack
from sylvan.web import protocol as p
from sylvan.web.boards import can_search, end_of, mover
from sylvan.web.desk import DEFAULT, Desk
from sylvan.web.found import Found
from sylvan.web.line import Line
from sylvan.web.looking import looked
from sylvan.web.rows import MoveRows, TreeRows
from sylvan.web.settings import kept_settings, read_settings
from sylvan.web.slow import SlowMotion
from sylvan.web.worker import Send, Worker

__all__ = ["Analysis"]

BETWEEN = 0.1
"""Seconds between two updates, at least."""

SHARE = 150
"""Seconds of searching per second of reading a table, and per second of reading a tree."""

GROWTH = 1000
"""Nodes by which a page's tree grows with a message while a search runs; more would make the search
and the page wait.
"""

ENDLESS = 2**32 - 1

SAVED_NODES = 3000
"""Nodes of a tree that a page saves."""

LARGEST = 64 * 2**20
"""Bytes of an unpacked analysis that a page may load: a few times what it saves."""

ENDED = {
    "proven": "The result is proven.",
    "bytes": "The memory for this page is full.",
    "nodes": "The tree has as many nodes as it may.",
    "depth": "The search is as deep as it may be.",
}
"""Why a search ended by itself; other reasons are the page's own."""


class Analysis(Worker[p.Request]):
    """The game, the tree and the settings of one page."""

    def __init__(self, desk: Desk, send: Send) -> None:
        """Prepare; `send` is called with every message."""
        super().__init__(send)
        self._desk = desk
        self._line: Line | None = None
        self._evaluator_name = next(iter(desk.networks), DEFAULT)
        self._loaded: Evaluator | str | None = desk.evaluator(self._evaluator_name)
        self._resolved = self._evaluator_name
        self._given: dict[str, p.Setting] = {}
        self._config = read_settings({}, desk.memory)
        self._show = p.Show(type="show", nodes=0)
        self._forest: Forest | None = None
        self._shown: SearchResult | None = None
        """An analysis from a file: shown until the search begins anew."""
        self._evaluator: Evaluator | None = None
        self._watched: SlowMotion | None = None
        self._moves: MoveRows | None = None
        self._nodes: TreeRows | None = None
        self._ended: str | None = None
        self._forget()
        self._goal = 0
        self._endless = False
        self._sweep: list[int] = []
        self._sweep_simulations = 0
        self._serial = self._acked = 0
        self._took = 0.0
        """Seconds that the last table took, without a tree."""

    def hear(self, request: p.Request) -> bool:
        """Take in a request; from any thread."""
        if isinstance(request, p.Ack):
            self._acked = max(self._acked, min(request.serial, self._serial))
            return True
        return super().hear(request)

    def _begin(self) -> None:
        self._send(self._desk.hello())

    def _end(self) -> None:
        self._forest = None

    @property
    def _has_work(self) -> bool:
        return bool(self._goal or self._sweep)

    def _work(self) -> None:
        if self._sweep:
            self._search_next_ply()
        else:
            self._search()

    def _fail(self, sentence: str) -> None:
        self._goal, self._endless, self._sweep = 0, False, []
        super()._fail(sentence)
        if self._line is not None:
            self._update(force=True)

    def _do(self, request: p.Request) -> None:
        """Do what a page asks."""
        match request:
            case p.Open():
                self._open(request)
            case p.Configure():
                self._configure(request)
            case p.Slow():
                self._slow()
            case p.Look():
                found = Found.of(self._forest, self._shown)
                self._send(looked(self._need_line(), found, self._adviser(), request))
            case p.Show():
                self._show = request
                if self._line is not None:
                    self._update(force=True)
            case p.Run():
                self._endless = request.simulations is None
                self._goal = ENDLESS if request.simulations is None else request.simulations
                self._ended = None
                self._sweep = []
            case p.Stop():
                self._stop()
                self._update(force=True)
            case p.Restart():
                self._forget()
                self._goal = ENDLESS if self._endless else 0
                self._update(force=True)
            case p.Save():
                self._save()
            case p.Load():
                self._load(request)
            case p.Sweep():
                line = self._need_line()
                self._stop()
                self._sweep = list(range(len(line.states)))
                self._sweep_simulations = request.simulations
            case p.Move(action=action):
                self._move(action)
            case p.Goto(ply=ply):
                self._need_line().go(ply)
                self._forget()
                self._moved()

    def _need_line(self) -> Line:
        if self._line is None:
            raise SearchStateError("There is no position yet: open one first.")
        return self._line

    def _forget(self) -> None:
        """Drop the tree."""
        self._forest = self._shown = self._evaluator = self._watched = self._ended = None
        self._forget_rows()

    def _forget_rows(self) -> None:
        """The root is another: the page must forget what it has."""
        self._moves = self._nodes = None
        self._fresh = True
        self._next = self._next_nodes = 0.0

    def _stop(self) -> None:
        self._goal, self._endless, self._sweep = 0, False, []

    # --- the game ---------------------------------------------------------------------------------

    def _open(self, request: p.Open) -> None:
        self._desk.need_game(request.game)
        line = Line.read(request.game, request.text, request.moves, request.ply)
        if self._line is None or request.game != self._line.name:
            self._stop()
        self._line = line
        self._forget()
        self._moved()

    def _move(self, action: int) -> None:
        line = self._need_line()
        line.play(action)
        forest = self._forest
        if forest is None or is_view(forest.state(0)) or mover(line.state) is None:
            self._forget()
        else:
            forest.advance(0, action)
            self._watched = None
            self._forget_rows()
            self._ended = None
        self._moved()

    def _moved(self) -> None:
        """Tell the page where the game is, and search on if it was searching."""
        line = self._need_line()
        self._send(line.position(self._evaluator_name, self._given))
        self._resolved = self._resolve()
        if mover(line.state) is None:
            self._stop()
        # In a view, the search waits while others move.
        self._goal = ENDLESS if self._endless and can_search(line.state) else 0
        self._update(force=True)

    def _configure(self, request: p.Configure) -> None:
        config = read_settings(request.settings, self._desk.memory)
        if request.evaluator != self._evaluator_name:
            self._loaded = self._desk.evaluator(request.evaluator)
        made = 0 if self._forest is None else max(0, self._forest.tree().root.N - 1)
        self._config, self._given = config, request.settings
        self._evaluator_name = request.evaluator
        self._forget()
        if self._line is not None:
            self._moved()
        if not self._endless:
            self._goal = made  # the same search again, so that the change shows at once

    # --- files ------------------------------------------------------------------------------------

    def _save(self) -> None:
        line = self._need_line()
        result = self._shown if self._forest is None else self._forest.result()
        if result is None:
            raise SearchStateError("There is nothing to save yet: search first.")
        data = pack(result, line.saved, SAVED_NODES)
        name = f"{line.name.rpartition(':')[2]}-{line.ply}{SUFFIX}"
        self._send(p.Saved(name=name, data=base64.b64encode(data).decode()))

    def _load(self, request: p.Load) -> None:
        try:
            data = base64.b64decode(request.data, validate=True)
        except ValueError:
            raise SnapshotError(f"{request.name} did not arrive whole: load it again.") from None
        analysis = unpack(data, request.name, tuple(self._desk.games), LARGEST)
        line = Line.of_saved(analysis)
        self._stop()
        self._line = line
        self._forget()
        self._shown = analysis.result
        lost = self._adopt(analysis.result)
        self._ended = "From a file: Start goes on with its search."
        if not self._goes_on():
            name = analysis.result.evaluator
            self._ended = f"From a file, searched with {name}: Start begins anew with another."
        elif self._config.transpositions:
            self._ended = "From a file, searched with transpositions: Start begins anew."
        elif lost:
            self._ended += f" The page cannot keep {' and '.join(lost)}."
        self._moved()

    def _adopt(self, result: SearchResult) -> list[str]:
        """Take the settings of a loaded analysis, and its network if there is one of that name;
        returns the settings that cannot be kept.
        """
        saved = result.config.model_dump(exclude_unset=True, mode="json")
        given, lost = kept_settings(saved)
        if given.get("simulations") == ENDLESS:
            del given["simulations"]
        self._config, self._given = read_settings(given, self._desk.memory), given
        if result.evaluator in self._desk.hello().evaluators:
            self._loaded = self._desk.evaluator(result.evaluator)
            self._evaluator_name = result.evaluator
        return lost

    def _resolve(self) -> str:
        """The name of the evaluator that will search, which `default` does not say."""
        state = self._need_line().state
        if not can_search(state):
            return self._evaluator_name
        try:
            root = checked_root(seen_by_mover(state), self._config)
            return name_of(self._desk.evaluator_for(root, self._evaluator_name, self._loaded))
        except SylvanError:  # said when the search begins
            return self._evaluator_name

    def _adviser(self) -> Evaluator | None:
        """The evaluator whose opinion of a node is shown."""
        if self._evaluator is None and self._goes_on():
            root = checked_root(seen_by_mover(self._need_line().state), self._config)
            return self._desk.evaluator_for(root, self._evaluator_name, self._loaded)
        return self._evaluator

    def _goes_on(self) -> bool:
        """Whether a search would go on with the loaded one: it has the same evaluator."""
        if self._shown is None:
            return False
        root = checked_root(seen_by_mover(self._need_line().state), self._config)
        evaluator = self._desk.evaluator_for(root, self._evaluator_name, self._loaded)
        return name_of(evaluator) == self._shown.evaluator

    # --- the search -------------------------------------------------------------------------------

    def _planted(self) -> tuple[Forest, Evaluator]:
        """The tree of the position shown, new if there is none, and its evaluator."""
        if self._forest is None or self._evaluator is None:
            line = self._need_line()
            if (over := end_of(line.state)) is not None:
                raise SearchStateError(f"{over} There is nothing to search.")
            if mover(line.state) is None:
                raise SearchStateError("Chance moves next: choose an outcome from the list first.")
            if not can_search(line.state):
                raise SearchStateError("It is another seat's turn: enter what it does first.")
            forest, evaluator = self._plant(line, line.ply)
            if self._shown is not None:
                if name_of(evaluator) == self._shown.evaluator:
                    try:
                        forest.restore(0, self._shown.tree)
                    except SylvanError as error:  # the tree is new
                        self._send(p.Problem(sentence=f"{error} The search begins anew."))
                self._shown, self._ended = None, None
                self._forget_rows()
            self._forest, self._evaluator = forest, evaluator
        return self._forest, self._evaluator

    def _plant(self, line: Line, ply: int) -> tuple[Forest, Evaluator]:
        root = checked_root(seen_by_mover(line.states[ply]), self._config)
        evaluator = self._desk.evaluator_for(root, self._evaluator_name, self._loaded)
        config = self._config
        if "leaves_in_flight" not in config.model_fields_set:
            config = config.replace(leaves_in_flight=preferred_batch_of(evaluator) or 1)
        return Forest.of_roots([shown_to(root, evaluator)], config), evaluator

    def _search(self) -> None:
        """Search until the goal is reached or a request waits."""
        forest, evaluator = self._planted()
        self._watched = None
        planned = self._config.simulations or ENDLESS
        goal = min(self._goal, planned)
        if forest.config.selection != "gumbel":  # whose plan is the number itself
            forest.limit(simulations=goal)
        forest.begin()
        forest.run_with(evaluator, lambda: self._watch(forest))
        progress = forest.progress()
        self._goal -= progress.simulations
        if progress.stopped_by != "stop":
            self._stop()
            self._ended = ENDED.get(progress.stopped_by or "")
            self._update(force=True)

    def _watch(self, forest: Forest) -> None:
        if self.is_wanted:
            forest.stop()
        else:
            self._update()

    def _search_next_ply(self) -> None:
        """Search one position of the game for its value."""
        line, ply = self._need_line(), self._sweep[0]
        state = line.states[ply]
        if not can_search(state):
            if end_of(state) is not None:
                line.values[ply] = float(state.returns()[0])
        else:
            forest, evaluator = self._plant(line, ply)
            forest.limit(simulations=self._sweep_simulations)
            forest.run_with(evaluator, lambda: self._stop_if_asked(forest))
            if forest.progress().stopped_by == "stop":
                return
            line.values[ply] = forest.result().values[0]
        self._sweep.pop(0)
        self._update(force=not self._sweep)

    def _stop_if_asked(self, forest: Forest) -> None:
        if self.is_wanted:
            forest.stop()

    def _slow(self) -> None:
        self._stop()
        forest, evaluator = self._planted()
        if forest.config.selection == "gumbel":
            raise ConfigError("A Gumbel search plans all simulations ahead: watch PUCT or UCT.")
        if self._watched is None:
            self._watched = SlowMotion(forest)
        step = self._watched.step(evaluator)
        if step is None:
            self._ended = ENDED.get(forest.progress().stopped_by or "", "Nothing is left to do.")
        else:
            self._send(step)
        self._update(force=True)

    # --- what the page sees -----------------------------------------------------------------------

    def _update(self, *, force: bool = False) -> None:
        """Send what changed, if it is time; `force`: in any case."""
        now = time.perf_counter()
        late = self._serial - self._acked >= 2
        if not force and (now < self._next or late):
            return
        with_nodes = self._show.nodes > 0 and (force or now >= self._next_nodes)
        began = time.thread_time()  # on a busy machine, waiting would stretch the pause 150 times
        self._send(self._changes(with_nodes=with_nodes, at_once=force))
        took = time.thread_time() - began
        if with_nodes:
            self._next_nodes = now + max(BETWEEN, SHARE * took)
        else:
            self._took = took
        self._next = now + max(BETWEEN, SHARE * self._took)

    def _changes(self, *, with_nodes: bool, at_once: bool) -> p.Search:
        """The state of the search and the rows that changed; `at_once`: with all new nodes."""
        self._serial += 1
        line, forest = self._need_line(), self._forest
        fresh, self._fresh = self._fresh, False
        evaluator = self._evaluator
        state = p.Search(
            serial=self._serial,
            fresh=fresh,
            running=self._goal > 0 or bool(self._sweep),
            ended=self._ended,
            evaluator=self._resolved if evaluator is None else name_of(evaluator),
            seat=mover(line.state),
            graph=line.graph,
        )
        found = Found.of(forest, self._shown)
        if found is None or not (root := found.tree.root).N:
            return state
        tree = found.tree
        if self._moves is None or self._nodes is None:
            self._moves = MoveRows(self._config.temperature)
            self._nodes = TreeRows(root.seat or 0)
        nodes = {}
        if with_nodes:
            opened = {tuple(path) for path in self._show.opened}
            most = self._show.nodes if at_once else len(self._nodes) + GROWTH
            nodes = self._nodes.changes(tree, min(most, self._show.nodes), opened)._asdict()
        line.values[line.ply] = root.values[0]
        return state.model_copy(
            update={
                **found.figures(),
                "evaluator": found.evaluator or state.evaluator,
                "moves": self._moves.changes(tree),
                **nodes,
                "graph": line.graph,
            }
        )
