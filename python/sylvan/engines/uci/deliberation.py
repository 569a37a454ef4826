"""One `go` command: its limits, its events, and when to stop.

The reading thread calls `stop` and `ponderhit`; the search thread reads `limits`, passes `watch` to
the search, and waits until the GUI wants the move.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sylvan.engines.uci.report import in_fewest_moves, info_lines
from sylvan.players.clock import Budget, Clock, Leaders, budget, enough, fixed
from sylvan.players.score import DRAWS, edge_score
from sylvan.players.strength import strength

if TYPE_CHECKING:
    from sylvan.engines.uci.commands import Go
    from sylvan.engines.uci.options import Options
    from sylvan.games import Chess
    from sylvan.planning import EdgeView, Search, SearchResult, Status

__all__ = ["FOREVER", "Deliberation"]

FOREVER = 1e8
"""Seconds of a search without a time limit: three years."""
REPORT = 0.5
"""Seconds between reports if the best move does not change."""
FORCED = 0.05
"""Seconds for the only legal move, to get a score."""


class Deliberation:
    """The search for one move."""

    def __init__(self, game: Chess, go: Go, options: Options, say: Callable[[str], None]) -> None:
        """Start the clock; `say` sends a line to the GUI."""
        self.game, self.go, self.options, self.say = game, go, options, say
        self.began = time.perf_counter()
        self.draws = DRAWS
        """Share of draws between equals."""
        self._hits = game.table_hits
        self.late = 0.0
        """Expected delay of a search after its deadline, in seconds; shortens the budget."""
        self._running = self.began
        """Start time of the own clock: at `go`, or at `ponderhit`."""
        self._pondering = go.ponder
        self._stopped = False
        self._change = threading.Condition()
        self._leader: tuple[int, float] | None = None
        """The most visited move, and since when."""
        self._reported = (-1, 0.0)
        """The last reported move, and when."""

    # --- the reading thread -----------------------------------------------------------------------

    def stop(self) -> None:
        """End the search at once."""
        with self._change:
            self._stopped = True
            self._change.notify_all()

    def ponderhit(self) -> bool:
        """Start the own clock after the expected move; return whether to move at once."""
        with self._change:
            self._running, self._pondering = time.perf_counter(), False
            self._change.notify_all()
        given = self.budget
        return given is not None and given.most < 2 * FORCED

    # --- the search thread ------------------------------------------------------------------------

    @property
    def open_ended(self) -> bool:
        """Whether the GUI does not accept a move yet."""
        return not self._stopped and (self._pondering or self.go.infinite)

    def wait(self) -> None:
        """Wait until the GUI accepts a move."""
        with self._change:
            self._change.wait_for(lambda: not self.open_ended)

    @property
    def budget(self) -> Budget | None:
        """The time for this move; None if no clock limits it."""
        go, overhead = self.go, self.options.move_overhead / 1000
        if go.movetime is not None:
            return fixed(go.movetime / 1000 - self.late, overhead)
        white = self.game.to_play() == 0
        left, increment = (go.wtime, go.winc) if white else (go.btime, go.binc)
        if left is None:
            return None
        return budget(Clock(left / 1000 - self.late, increment / 1000, go.movestogo), overhead)

    @property
    def thought(self) -> float:
        """Seconds on the own clock."""
        return time.perf_counter() - self._running

    def limits(self) -> dict[str, Any]:
        """Return the limits of the search, for `Search.limit`."""
        go, given = self.go, None if self.open_ended else self.budget
        counts = [go.nodes] if go.nodes is not None and not go.infinite else []
        if self.options.limit_strength:
            counts.append(strength(self.options.elo).simulations)
        return {
            "simulations": min(counts, default=None),
            "depth": max(1, go.depth) if go.depth is not None and not go.infinite else None,
            "seconds": FOREVER if given is None else max(0.0, given.most - self.thought),
        }

    def watch(self, search: Search) -> Callable[[Status], bool]:
        """Return the progress callback of `Search.run`; it returns False to end the search."""

        def check(status: Status) -> bool:
            if self._stopped:
                return False
            if self._report_is_due(search.best):
                self.report(search.result)
            return self.open_ended or not self._has_enough(search, status)

        return check

    def _has_enough(self, search: Search, status: Status) -> bool:
        if self.go.mate is not None:
            score = edge_score(in_fewest_moves(search.tree.root.edges[0]))
            return score is not None and score.mate is not None and 0 < score.mate <= self.go.mate
        given = self.budget
        if given is None:
            return False
        if self.go.movetime is not None:
            return self.thought >= given.most
        edges = [edge for edge in search.tree.root.edges if edge.proven != -1.0]
        if len(edges) < 2 and self.thought >= FORCED:
            return True  # no choice is left
        if not edges:
            return False
        leaders = Leaders(
            first=edges[0].N,
            second=edges[1].N if len(edges) > 1 else 0,
            per_second=status.simulations / max(status.elapsed, 1e-3),
            settled=self._settled(edges),
        )
        return enough(given, self.thought, leaders)

    def _settled(self, edges: list[EdgeView]) -> bool:
        """Return whether the most visited move has the highest value, and has been the most
        visited for the last third of the search.
        """
        now = time.perf_counter()
        first = edges[0]
        if self._leader is None or self._leader[0] != first.action:
            self._leader = (first.action, now)
        rivals = [edge for edge in edges[1:] if 10 * edge.N > first.N]
        valued = all(edge.Q <= first.Q for edge in rivals)
        return valued and now - self._leader[1] > (now - self.began) / 3

    def _report_is_due(self, best: int) -> bool:
        """Return whether to report now, given the best move, and note that it is done."""
        now = time.perf_counter()
        due = best != self._reported[0] or now - self._reported[1] > REPORT
        if due:
            self._reported = (best, now)
        return due

    def report(self, result: SearchResult) -> None:
        """Send the current result."""
        lines = info_lines(
            result,
            multipv=self.options.multipv,
            draws=self.draws if self.options.show_wdl else None,
            seconds=time.perf_counter() - self.began,
            tbhits=self.game.table_hits - self._hits,
        )
        for line in lines:
            self.say(line)
