"""Run many searches together, with one evaluator call for all of them.

A search is a generator: it yields a `Request` and receives the validated answer. `alone` answers
each request separately; `together` runs many generators and joins their requests to the same
evaluator into one batch. There are no threads: equal generators give equal batches, hence equal
answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sylvan.planning import LeafBatch

if TYPE_CHECKING:
    from sylvan.evaluators import Evaluator
    from sylvan.games import Game

__all__ = ["JoinedLeaves", "Request", "Thinking", "alone", "together"]

T = TypeVar("T")
Floats: TypeAlias = NDArray[np.float32]
Answer: TypeAlias = tuple[Floats, Floats]
"""Logits and values, from `LeafBatch.checked` and for `Forest.take`."""


@dataclass(frozen=True)
class Request:
    """Leaves to evaluate."""

    evaluator: Evaluator
    leaves: LeafBatch


Thinking: TypeAlias = Generator[Request, Answer, T]
"""A generator that yields requests for evaluations and returns a `T`."""


def alone(thinking: Thinking[T]) -> T:
    """Run one generator to its end, and answer each request separately."""
    try:
        request = next(thinking)
        while True:
            leaves = request.leaves
            request = thinking.send(leaves.checked(*request.evaluator(leaves)))
    except StopIteration as end:
        result: T = end.value
        return result


def together(jobs: Iterable[Thinking[T]], width: int) -> Iterator[T]:
    """Run up to `width` jobs together; yield each result as soon as it is available."""
    waiting = iter(jobs)
    asking: list[tuple[Thinking[T], Request]] = []
    try:
        while True:
            turns: list[tuple[Thinking[T], Answer | None]] = []
            if asking:
                answers = answer([request for _, request in asking])
                turns += [(job, part) for (job, _), part in zip(asking, answers, strict=True)]
            turns += [(job, None) for job in islice(waiting, width - len(turns))]
            if not turns:
                return
            asking, ended = _advance(turns)
            yield from ended
    finally:
        for job, _ in asking:
            job.close()


def _advance(
    turns: list[tuple[Thinking[T], Answer | None]],
) -> tuple[list[tuple[Thinking[T], Request]], list[T]]:
    """Advance each job to its next request; return the requests, and the results of ended jobs."""
    asking, ended = [], []
    for job, evaluation in turns:
        try:
            asking.append((job, next(job) if evaluation is None else job.send(evaluation)))
        except StopIteration as end:
            ended.append(end.value)
    return asking, ended


def answer(requests: Sequence[Request]) -> list[Answer]:
    """Answer all requests, with one call per evaluator."""
    answers: dict[int, Answer] = {}
    evaluators = {id(request.evaluator): request.evaluator for request in requests}
    for key, evaluator in evaluators.items():
        indices = [i for i, request in enumerate(requests) if id(request.evaluator) == key]
        joined = JoinedLeaves([requests[i].leaves for i in indices])
        parts = joined.split(*joined.checked(*evaluator(joined)))
        answers |= zip(indices, parts, strict=True)
    return [answers[i] for i in range(len(requests))]


class JoinedLeaves(LeafBatch):
    """Leaves of several forests of one game, concatenated to one batch of B leaves.

    `trees` are the numbers of the parts. The batch is invalid once a part has been updated.
    """

    def __init__(self, parts: Sequence[LeafBatch]) -> None:
        """Concatenate the leaves of `parts`."""
        self.parts = parts
        ends = np.cumsum([len(part.actions) for part in parts])
        starts = ends - [len(part.actions) for part in parts]
        offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts, strict=True)]
        arrays = (
            np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
            np.concatenate([part.seats for part in parts]),
            np.concatenate([*offsets, ends[-1:]]),
            np.concatenate([part.actions for part in parts]),
            np.concatenate([part.tickets for part in parts]),
        )
        super().__init__(parts[0].forest, arrays)

    @cached_property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` the observation of the seat to move, per leaf."""
        return np.concatenate([part.observations for part in self.parts])

    @cached_property
    def logit_indices(self) -> NDArray[np.int64]:
        """The index of the network's logit for each of `actions`."""
        return np.concatenate([part.logit_indices for part in self.parts])

    def state(self, leaf: int) -> Game:
        """A copy of one leaf's position."""
        part = int(self.trees[leaf])
        return self.parts[part].state(leaf - int(np.searchsorted(self.trees, part)))

    def split(self, logits: Floats, per_seat: Floats) -> list[Answer]:
        """Split the output of `checked` for the whole batch into the parts."""
        rows = np.cumsum([0, *map(len, self.parts)]).tolist()
        cuts = self.offsets[rows].tolist() if logits.ndim == 1 else rows
        seats = len(per_seat) // len(self)
        return [
            (
                logits[cuts[i] : cuts[i + 1]],
                per_seat[seats * rows[i] : seats * rows[i + 1]],
            )
            for i in range(len(self.parts))
        ]
