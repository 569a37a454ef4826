"""Rate a learned model in games and on solved positions.

Networks are rated in the arena as in AlphaZero runs. They search only with their model; the rules
give the observation and the legal moves of the root. `episodes.py` rates environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.games.solved import Mistakes
from sylvan.muzero.search import greedy, latent_search
from sylvan.planning import LatentModel, LatentSearch, SearchConfig
from sylvan.planning.model_arrays import is_tensor
from sylvan.ratings.arena import BaseArena
from sylvan.ratings.duel import Side
from sylvan.ratings.mistakes import solved_sets

__all__ = ["LatentArena", "LatentSide", "learned_mistake_rates"]

WIDTH = 1024
"""Maximum number of roots per search, which bounds the memory of hidden states."""


class LatentSide:
    """Searches all positions over a model, in one forest, and takes the best action of each."""

    def __init__(self, name: str, model: LatentModel, config: SearchConfig) -> None:
        self.name, self.model, self.config = name, model, greedy(config)
        self._search: LatentSearch | None = None

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:  # noqa: ARG002
        """The best action of each search; there are no random choices."""
        actions: list[int] = []
        for start in range(0, len(states), WIDTH):
            part = states[start : start + WIDTH]
            if self._search is None:
                self._search = latent_search(self.model, part[0], self.config)
            legal = np.zeros((len(part), part[0].num_actions), np.bool_)
            for row, state in enumerate(part):
                legal[row, list(state.legal_actions())] = True
            forest = self._search.search(
                np.stack([np.asarray(state.observation()) for state in part]),
                legal,
                seats=np.array([state.to_play() for state in part]),
            )
            actions += forest.outcomes().best.tolist()
        return actions


def learned_mistake_rates(
    model: LatentModel,
    spec: GameSpec,
    simulations: int | None = None,
    *,
    positions: int | None = None,
    config: SearchConfig | None = None,
) -> dict[str, Mistakes]:
    """`sylvan.ratings.mistakes.mistake_rates` for a learned model, searching without the rules."""
    found = {}
    for part in solved_sets(spec):
        found[f"{part.name}/network"] = part.judge(policy_choices(model, part.states))
        if simulations is not None:
            some = part[:positions]
            settings = greedy(config or SearchConfig()).replace(simulations=simulations)
            side = LatentSide("search", model, settings)
            found[f"{part.name}/search"] = some.judge(side.choose(some.states, [0] * len(some)))
    return found


class LatentArena(BaseArena[LatentModel]):
    """Rates networks that search with a learned model."""

    def side(self, name: str, evaluator: LatentModel) -> Side:
        return LatentSide(name, evaluator, self.search)

    def _mistake_rates(self, evaluator: LatentModel) -> dict[str, Mistakes]:
        return learned_mistake_rates(
            evaluator,
            self.spec,
            self.config.simulations,
            positions=self.config.positions,
            config=self.search,
        )


def policy_choices(model: LatentModel, states: Sequence[Game]) -> NDArray[np.int64]:
    """`[B]` the legal action with the highest logit in each state; ties go to the lowest."""
    chosen: list[NDArray[np.int64]] = []
    for start in range(0, len(states), WIDTH):
        part = states[start : start + WIDTH]
        observations = np.stack([np.asarray(state.observation()) for state in part])
        logits = in_memory(model.initial_inference(observations)[2])
        allowed = np.full(logits.shape, -np.inf)
        for row, state in enumerate(part):
            legal = list(state.legal_actions())
            allowed[row, legal] = logits[row, legal]
        chosen.append(allowed.argmax(axis=1))
    return np.concatenate(chosen)


def in_memory(array: Any) -> NDArray[np.float64]:
    """Convert a model's output to a NumPy array, from any device."""
    if is_tensor(array):
        array = array.detach().float().cpu().numpy()
    return np.asarray(array, np.float64)
