"""One batch of the analysis server: positions as trees of one forest, reported one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sylvan.engines.analysis import schema
from sylvan.engines.analysis.schema import Report
from sylvan.engines.uci.report import chosen, line_of, ranked
from sylvan.errors import SearchStateError
from sylvan.evaluators.protocol import Evaluator, name_of, preferred_batch_of
from sylvan.planning import Forest
from sylvan.planning.roots import root_actions, shown_to
from sylvan.players.score import DRAWS, Score, draw_share, edge_score

if TYPE_CHECKING:
    from sylvan.engines.analysis.schema import Query
    from sylvan.games import Chess
    from sylvan.planning import EdgeView, SearchConfig, SearchResult

__all__ = ["Batch", "Task"]


@dataclass(eq=False)
class Task:
    """One position of a query."""

    query: Query
    ply: int
    game: Chess
    config: SearchConfig
    order: int
    """Serial number, in the order of arrival."""
    over: bool = False
    """Whether it was finally reported or cancelled."""

    @property
    def batch(self) -> tuple[object, ...]:
        """Key that the positions of a batch share."""
        return self.query.priority, self.query.seconds, self.config


class Batch:
    """Positions analysed together."""

    def __init__(
        self,
        tasks: list[Task],
        evaluator: Evaluator,
        report: Callable[[Task, Report], None],
        urgent: Callable[[], bool],
    ) -> None:
        """Prepare a batch.

        :param report: called with each report.
        :param urgent: runs more urgent batches; returns whether there were any.
        """
        self.evaluator, self.report, self.urgent = evaluator, report, urgent
        self.name = name_of(evaluator)
        self.finished = [task for task in tasks if not root_actions(task.game)]
        self.tasks = [task for task in tasks if task not in self.finished]
        self.seconds = tasks[0].query.seconds
        self.shares: dict[int, float] = {}

    def run(self) -> None:
        """Analyse all positions."""
        for task in self.finished:
            self.report(task, _end_report(task, self.name))
        if not self.tasks:
            return
        states = [shown_to(task.game, self.evaluator) for task in self.tasks]
        wanted = preferred_batch_of(self.evaluator) or 1
        config = self.tasks[0].config
        if config.leaves_in_flight == 1:
            config = config.replace(leaves_in_flight=max(1, wanted // len(states)))
        self.forest = Forest(states, config)
        self.began = time.perf_counter()
        self.reported_at = [self.began] * len(states)
        self.forest.run(self.evaluator, self._watch)
        self._check_trees()

    def _watch(self) -> None:
        """Handle urgent queries, reports, cancelled positions and the deadline; called several
        times per second.
        """
        began = time.perf_counter()
        if self.urgent():
            self.began += time.perf_counter() - began  # do not count that time
        self._check_trees()
        if self.seconds is not None and self.elapsed >= self.seconds:
            self.forest.stop()

    @property
    def elapsed(self) -> float:
        """Seconds of this batch's own work."""
        return time.perf_counter() - self.began

    def _check_trees(self) -> None:
        now = time.perf_counter()
        for tree, task in enumerate(self.tasks):
            if task.over:
                self.forest.end(tree)  # cancelled or done
                continue
            done = self.forest.ended(tree)
            every = task.query.report_every
            if done or (every is not None and now - self.reported_at[tree] >= every):
                self.reported_at[tree] = now
                self._send_report(tree, task, done)

    def _send_report(self, tree: int, task: Task, done: bool) -> None:
        try:
            result = self.forest.result(tree)
        except SearchStateError:  # its root is not evaluated yet
            return
        self.report(task, _result_report(task, result, self.elapsed, done, self._draws(tree, task)))

    def _draws(self, tree: int, task: Task) -> float:
        """Return the evaluator's share of draws between equals, computed once per position."""
        if tree not in self.shares:
            self.shares[tree] = draw_share(self.evaluator, task.game)
        return self.shares[tree]


def _result_report(
    task: Task, result: SearchResult, seconds: float, done: bool, draws: float
) -> Report:
    """Make a report from a search result."""
    edges = ranked(result)[: task.query.lines]
    best = chosen(result)
    score = edge_score(best) or Score(result.value)
    return Report(
        id=task.query.id,
        ply=task.ply,
        final=done,
        fen=task.game.fen(),
        best=line_of(best)[0],
        score=_score(score, draws),
        outcome=None,
        simulations=result.simulations,
        nodes=result.nodes,
        depth=result.depth,
        seconds=round(seconds, 6),
        stopped_by=_reason(task, result) if done else None,
        evaluator=result.evaluator,
        lines=[_line(edge, draws) for edge in edges],
    )


def _reason(task: Task, result: SearchResult) -> str:
    """Return what ended a search; the server's own clock ends it by "stop"."""
    timed = task.query.seconds is not None and result.stopped_by == "stop"
    return "seconds" if timed else result.stopped_by


def _end_report(task: Task, evaluator: str) -> Report:
    """Make the report on a finished game."""
    mated = task.game.outcome == "checkmate"
    score = Score(-1.0 if mated else 0.0, 0 if mated else None, proven=True)
    return Report(
        id=task.query.id,
        ply=task.ply,
        final=True,
        fen=task.game.fen(),
        best=None,
        score=_score(score),
        outcome=task.game.outcome,
        simulations=0,
        nodes=0,
        depth=0,
        seconds=0.0,
        stopped_by="proven",
        evaluator=evaluator,
        lines=[],
    )


def _score(score: Score, draws: float = DRAWS) -> schema.Score:
    return schema.Score(
        q=score.q, cp=score.cp, mate=score.mate, wdl=score.shares(draws), proven=score.proven
    )


def _line(edge: EdgeView, draws: float) -> schema.Line:
    score = edge_score(edge)
    return schema.Line(
        move=edge.node.state.action_to_string(edge.action),
        san=edge.label,
        N=edge.N,
        Q=edge.Q if edge.N else None,
        P=edge.P,
        score=None if score is None else _score(score, draws),
        pv=line_of(edge),
    )
