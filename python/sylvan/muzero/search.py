"""A search over a model of a game: what the model has to be told of the game, in one place."""

from __future__ import annotations

from typing import Any

from sylvan.games.game import Game
from sylvan.planning import LatentSearch, SearchConfig

__all__ = ["greedy", "latent_search"]


def greedy(config: SearchConfig) -> SearchConfig:
    """The same search for play: nothing in it is drawn."""
    return config.replace(noise=False, gumbel_scale=0.0, temperature=0.0)


def latent_search(model: Any, game: Game, config: SearchConfig) -> LatentSearch:
    """A search of states of a game over a model of it.

    :param game: any state; says how many seats there are and what they can get.
    """
    low, high = map(float, game.value_range)
    return LatentSearch(
        model,
        config,
        num_players=game.num_players,
        zero_sum=game.num_players == 2 and game.zero_sum,
        relative=True,
        value_bounds=(low, high),
    )
