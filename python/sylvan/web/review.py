"""Which moves of a person were mistakes.

Each position in which the person moved is searched, and the position after the move played, if that
is another than the search's. A move's loss is the difference of their values for the person, as a
share of the game's range: the expected score that was lost. The marks are those of
`sylvan analyze` (`engines.analysis.annotate`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from sylvan.engines.analysis.annotate import THRESHOLDS
from sylvan.engines.match.session import Session
from sylvan.errors import ConfigError
from sylvan.evaluators import EvaluatorLike
from sylvan.games import Game
from sylvan.planning import Search, SearchResult
from sylvan.planning.moves import state_after
from sylvan.planning.roots import hides, root_actions
from sylvan.planning.tree import label
from sylvan.web.protocol import Judged
from sylvan.web.reviewer import Judge, Stopped

__all__ = ["judged", "judged_move"]

SIMULATIONS = 400
"""Per position."""


def judged(session: Session, evaluator: EvaluatorLike | None, seats: Sequence[int]) -> list[Judge]:
    """The moves of some seats so far: what to call for the judgement of each.

    :raises ConfigError: the game hides something, or its range is not known.
    """
    if hides(session.start) or _reach(session.start) is None:
        raise ConfigError("Moves of this game cannot be judged: its results have no known range.")
    found: list[Judge] = []
    state = session.start.clone()
    for ply, action in enumerate(session.actions):
        following = state_after(state, action)
        is_own = not state.is_chance() and state.to_play() in seats
        if is_own and len(root_actions(state)) > 1:
            found.append(partial(judged_move, state, action, ply, evaluator))
        state = following
    return found


def judged_move(
    state: Game,
    action: int,
    ply: int,
    evaluator: EvaluatorLike | None,
    stopped: Stopped = lambda: False,
) -> Judged | None:
    """The judgement of an action of the seat to move; None if the game's range is not known, or if
    it was stopped.
    """
    reach = _reach(state)
    if reach is None:
        return None
    seat, following = state.to_play(), state_after(state, action)
    result = _searched(state, evaluator, stopped)
    loss = 0.0
    if action != result.best and not stopped():
        loss = max(0.0, result.value - _value(following, seat, evaluator, stopped)) / reach
    if stopped():
        return None
    mark = next((mark for least, mark in THRESHOLDS if loss >= least), "")
    return Judged(
        ply=ply,
        label=label(state, action),
        best=result.best_label,
        loss=loss,
        mark=mark,
        options=[],
    )


def _reach(state: Game) -> float | None:
    """The length of the range of a game's results."""
    low, high = map(float, state.value_range)
    return high - low if math.isfinite(high - low) and high > low else None


def _searched(state: Game, evaluator: EvaluatorLike | None, stopped: Stopped) -> SearchResult:
    searching = Search(evaluator, simulations=SIMULATIONS)
    return searching.run(state, progress=lambda _: not stopped())


def _value(state: Game, seat: int, evaluator: EvaluatorLike | None, stopped: Stopped) -> float:
    """The value of a position for a seat."""
    while state.is_chance():  # the likeliest outcome stands for all
        outcome = max(state.chance_outcomes(), key=lambda pair: pair[1])[0]
        state = state_after(state, outcome)
    if not root_actions(state):
        return float(state.returns()[seat])
    return _searched(state, evaluator, stopped).values[seat]
