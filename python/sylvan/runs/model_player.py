"""A player that plans with a learned model; it reads only observations and legal actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sylvan.muzero.search import greedy, latent_search
from sylvan.planning import LatentModel, SearchConfig
from sylvan.players.batching import Thinking
from sylvan.players.player import Choice, Clocks, Player
from sylvan.runs.agent import load_model
from sylvan.runs.run import Run

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["LearnedPlayers", "ModelPlayer"]


class ModelPlayer(Player):
    """Searches over a model, with a new tree at every move.

    :param model: as `LatentSearch` takes it.
    :param config: of each search. Only `simulations` ends a search; clocks are ignored.
    """

    def __init__(self, model: LatentModel, config: SearchConfig, *, name: str = "model") -> None:
        self.model, self.config, self.name = model, config, name
        self.new_game()

    def new_game(self, seed: int = 0) -> None:
        """Start a new game; `seed` determines the actions drawn with a temperature."""
        self._seed, self._moves = seed, 0

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:  # noqa: ARG002
        """Search the position."""
        yield from ()
        self._moves += 1
        config = self.config.replace(seed=(self._seed + self._moves) % 2**64)
        search = latent_search(self.model, game, config)
        observation, legal = np.asarray(game.observation()), list(game.legal_actions())
        result = search.run(observation, legal, seat=game.to_play())
        return Choice(result.action, float(result.value))


class LearnedPlayers:
    """The entry `learned` of the registry's group `players`."""

    @staticmethod
    def config(run: str) -> SearchConfig:
        """The run's search settings, without noise and temperature."""
        return greedy(Run.open(run).config.search)

    @staticmethod
    def model(run: str, device: str) -> LatentModel:
        """Load the run's model."""
        return load_model(run, device=device)

    @staticmethod
    def open(model: LatentModel, config: SearchConfig, name: str) -> ModelPlayer:
        """Create a player that plans with a model."""
        return ModelPlayer(model, config, name=name)
