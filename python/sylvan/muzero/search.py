"""Create a search over a learned model, with the seats and the value range of its game."""

from __future__ import annotations

from sylvan.games.game import Game
from sylvan.planning import LatentModel, LatentSearch, SearchConfig

__all__ = ["greedy", "latent_search"]


def greedy(config: SearchConfig) -> SearchConfig:
    """The same settings without random choices: no noise, temperature 0."""
    return config.replace(noise=False, gumbel_scale=0.0, temperature=0.0)


def latent_search(model: LatentModel, game: Game, config: SearchConfig) -> LatentSearch:
    """Create a search over a model of a game.

    :param game: any state; it gives the number of seats and the value range.
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
