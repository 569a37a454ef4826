"""Matches of chess between two settings of the search, with one network and equal simulations.

All games are played at once. A *group* holds the games in which the same side is to move, so
there are two: one for the games that A begins, one for those that B begins. Each side has a tree
per game, which it keeps from move to move. While the network evaluates the leaves of one group, the
host selects leaves of the other.

Pair k plays opening k twice, with colours swapped: first the built-in openings, then the same
followed by a random move, and so on. A game ends by the rules, or after `plies` plies, when
`Chess.estimate` decides: the side with more material wins.

The moves of a game depend on the settings, the network and the game's number. On a GPU the size of
a batch changes the last digits of an evaluation, so that a few games differ if the others do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.engines.match.openings import builtin_openings
from sylvan.evaluators.protocol import AsyncEvaluator, Evaluator, Leaves, encoding_of
from sylvan.games import Chess
from sylvan.planning import BulkForest, SearchConfig
from sylvan.planning.outcomes import OVER

__all__ = ["Finished", "Meeting", "opening", "play"]


class Finished(NamedTuple):
    """A finished game."""

    number: int
    score: float
    """1, 0.5 or 0 for side A."""
    plies: int
    ending: str
    """`rules`, or `limit` if the material decided."""
    simulations: tuple[int, int]
    """Simulations of A and of B."""
    moves: tuple[int, int]
    """Moves that A and B searched."""


@dataclass(frozen=True)
class Meeting:
    """Two sides and the rules of their games."""

    a: SearchConfig
    b: SearchConfig
    plies: int = 240
    """Most plies of a game, without its opening."""
    seed: int = 0
    """Of the random moves after the built-in openings."""

    def __post_init__(self) -> None:
        assert self.a.simulations == self.b.simulations, "both sides search equal simulations"


def opening(pair: int, seed: int) -> Chess:
    """The first position of a pair of games."""
    openings = _openings()
    rounds, at = divmod(pair, len(openings))
    for attempt in range(100):
        state = openings[at].start()
        assert isinstance(state, Chess)
        rng = Rng(seed, 100 * pair + attempt)
        for _ in range(rounds):
            legal = state.legal_actions()
            state.apply(legal[rng.below(len(legal))])
            if state.is_terminal():
                break
        else:
            return state
    raise AssertionError(f"all random moves end the game after opening {at}")


@cache
def _openings() -> list[Any]:
    return builtin_openings()


class Group:
    """Games in which the same side moves first, and both sides' trees."""

    def __init__(
        self, meeting: Meeting, numbers: Sequence[int], evaluator: Evaluator, first: int
    ) -> None:
        self.meeting, self.numbers, self.first = meeting, numbers, first
        self._evaluator = _in_turn(evaluator)
        encoding = encoding_of(evaluator)
        states = [opening(number // 2, meeting.seed).encoded(encoding) for number in numbers]
        self.white = [
            # The side with the white pieces: the first to move, if White is to move.
            first if state.to_play() == 0 else 1 - first
            for state in states
        ]
        self.forests = [BulkForest(states, config) for config in (meeting.a, meeting.b)]
        self.alive = np.ones(len(numbers), bool)
        self.plies = 0
        self.simulations = np.zeros((2, len(numbers)), np.int64)
        self.moves = np.zeros((2, len(numbers)), np.int64)
        self.evaluations = 0
        self._pending: Any = None
        self._searching = False

    @property
    def side(self) -> int:
        """The side to move: 0 is A."""
        return (self.first + self.plies) % 2

    def advance(self) -> Iterator[Finished]:
        """Take the evaluations of the last batch, and send the next one; yield finished games."""
        forest = self.forests[self.side]
        if self._pending is not None:
            forest.update(*self._evaluator.collect(self._pending))
            self._pending = None
        while self.alive.any():
            if not self._searching:
                self._begin()
            leaves = self.forests[self.side].select()
            if leaves is not None:
                self.evaluations += len(leaves)
                self._pending = self._evaluator.submit(leaves)
                return
            yield from self._move()

    def _begin(self) -> None:
        """Begin a search of the side to move in all games that go on."""
        forest = self.forests[self.side]
        forest.begin()
        for tree in np.flatnonzero(~self.alive):
            forest.end(int(tree))
        self._searching = True

    def _move(self) -> Iterator[Finished]:
        """Play the best moves of the side to move; yield the games that end."""
        forest, side = self.forests[self.side], self.side
        found = forest.outcomes()
        self._check(forest, found.simulations)
        self.simulations[side, self.alive] += found.simulations[self.alive]
        self.moves[side, self.alive] += 1
        actions = np.where(self.alive, found.best, -1)
        moved = [each.play(actions) for each in self.forests][side]
        self.plies += 1
        self._searching = False
        over = self.alive & (moved.turns == OVER)
        late = self.alive & ~over & (self.plies >= self.meeting.plies)
        self.alive &= ~(over | late)
        for game in np.flatnonzero(over | late).tolist():
            white = moved.returns[game, 0] if over[game] else _estimate(forest, game)
            result = (float(np.sign(white)) + 1) / 2
            yield Finished(
                self.numbers[game],
                result if self.white[game] == 0 else 1 - result,
                self.plies,
                "rules" if over[game] else "limit",
                (int(self.simulations[0, game]), int(self.simulations[1, game])),
                (int(self.moves[0, game]), int(self.moves[1, game])),
            )

    def _check(self, forest: BulkForest, simulations: NDArray[np.uint32]) -> None:
        """Check that every search had all its simulations, or needed no more."""
        wanted = forest.config.simulations
        assert wanted is not None
        assert (simulations[self.alive] <= wanted).all()
        for tree in np.flatnonzero(self.alive & (simulations < wanted)).tolist():
            stop = forest.progress(tree).stopped_by
            assert stop in EARLY, f"the search of game {self.numbers[tree]} ended by {stop}"


EARLY = ("proven", "decided")
"""Why a search may end before its last simulation."""


def _estimate(forest: BulkForest, tree: int) -> float:
    """The value for White of a game that is not finished."""
    state = forest.state(tree)
    assert isinstance(state, Chess)
    return state.estimate()[0]


class _InTurn:
    """An evaluator without `submit` and `collect`, used as if it had them."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def submit(self, leaves: Leaves, /) -> Any:
        return self._evaluator(leaves)

    def collect(self, ticket: Any, /) -> Any:
        return ticket


def _in_turn(evaluator: Evaluator) -> AsyncEvaluator[Any]:
    return evaluator if isinstance(evaluator, AsyncEvaluator) else _InTurn(evaluator)


def play(
    meeting: Meeting,
    numbers: Iterable[int],
    evaluator: Evaluator,
    done: Callable[[Finished], None],
    deadline: float = float("inf"),
) -> int:
    """Play games with these numbers; return the number of evaluated positions.

    :param done: called with each finished game.
    :param deadline: of `time.monotonic`; the games in progress are dropped then.
    """
    split: tuple[list[int], list[int]] = ([], [])
    for number in numbers:
        split[number % 2].append(number)
    groups = [
        Group(meeting, each, evaluator, first) for first, each in enumerate(split) if len(each)
    ]
    while any(group.alive.any() for group in groups) and time.monotonic() < deadline:
        for group in groups:
            for game in group.advance():
                done(game)
    return sum(group.evaluations for group in groups)
