"""Mistake rates: test a network, with and without search, on positions with known best moves.

All positions of a set are searched in one forest, so that its leaves fill the network's batches.
Proven values are used, as in play; an exact solver is not.

    rates = mistake_rates(load_evaluator("runs/first"), GameSpec("connect4"), simulations=600)
    rates["hard/search"].rate
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sylvan.evaluators import Evaluator
from sylvan.games import Game
from sylvan.games.connect_four_sets import SETS, read_set
from sylvan.games.naming import GameSpec
from sylvan.games.solved import Mistakes, SolvedSet
from sylvan.games.tic_tac_toe_states import tic_tac_toe_set
from sylvan.planning import Forest, SearchConfig
from sylvan.planning.roots import seen_by_mover, shown_to

__all__ = ["mistake_rates", "network_choices", "searched_choices", "solved_sets"]

Watch = Callable[[], None]


def solved_sets(spec: GameSpec) -> list[SolvedSet]:
    """The test sets of a game; empty unless the game is solved.

    >>> [(part.name, len(part)) for part in solved_sets(GameSpec("tictactoe"))]
    [('states', 4520)]
    """
    if spec.name == "tictactoe":
        return [tic_tac_toe_set()]
    if spec.name == "connect4" and not spec.params:
        return [_connect_four_set(name) for name in SETS]
    return []


def _connect_four_set(name: str) -> SolvedSet:
    positions = read_set(name)
    keeps = np.array([position.values == position.value for position in positions])
    return SolvedSet(name, tuple(position.game for position in positions), keeps)


def mistake_rates(
    evaluator: Evaluator,
    spec: GameSpec,
    simulations: int | None = None,
    *,
    positions: int | None = None,
    config: SearchConfig | None = None,
    watch: Watch | None = None,
) -> dict[str, Mistakes]:
    """The mistakes on each set of a game: `hard/network` and, with simulations, `hard/search`.

    :param evaluator: a network's evaluator; without search, its most likely action is tested.
    :param positions: number of positions to search, from the start of each set; None: all.
        The test without search always uses all of them.
    :param config: of the search; its simulations are replaced.
    :param watch: called several times a second during searches.
    """
    found = {}
    for part in solved_sets(spec):
        found[f"{part.name}/network"] = part.judge(network_choices(evaluator, part.states))
        if simulations is not None:
            some = part[:positions]
            settings = (config or SearchConfig()).replace(simulations=simulations)
            actions = searched_choices(evaluator, some.states, settings, watch)
            found[f"{part.name}/search"] = some.judge(actions)
    return found


def network_choices(evaluator: Evaluator, states: Sequence[Game]) -> NDArray[np.int64]:
    """`[B]` the legal action with the highest logit in each state; ties go to the lowest."""
    shown = [shown_to(seen_by_mover(state), evaluator) for state in states]
    forest = Forest(shown, simulations=0)
    leaves = forest.select()
    assert leaves is not None and len(leaves) == len(states)
    logits, _ = leaves.checked(*evaluator(leaves))
    if logits.ndim == 2:
        logits = logits[
            np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets)), leaves.logit_indices
        ]
    chosen = np.empty(len(states), np.int64)
    for leaf, tree in enumerate(leaves.trees):
        span = slice(leaves.offsets[leaf], leaves.offsets[leaf + 1])
        chosen[tree] = leaves.actions[span][np.argmax(logits[span])]
    forest.abandon()
    return chosen


def searched_choices(
    evaluator: Evaluator, states: Sequence[Game], config: SearchConfig, watch: Watch | None = None
) -> NDArray[np.int64]:
    """`[B]` the best action of a search in each state, all searched in one forest."""
    forest = Forest([shown_to(state, evaluator) for state in states], config)
    forest.run(evaluator, watch)
    return np.array([forest.result(tree).best for tree in range(len(forest))], np.int64)
