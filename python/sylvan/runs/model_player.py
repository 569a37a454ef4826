"""A player that plans with a learned model: of the game it asks only what is seen and is legal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sylvan.muzero.search import greedy, latent_search
from sylvan.planning import SearchConfig
from sylvan.players.batching import Thinking
from sylvan.players.player import Choice, Clocks, Player
from sylvan.runs.agent import load_model
from sylvan.runs.run import Run

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["LearnedPlayers", "ModelPlayer"]


class ModelPlayer(Player):
    """Searches over a model, from a fresh tree at every move.

    :param model: as `LatentSearch` takes it.
    :param config: of each search; nothing else than `simulations` ends it, no clock either.
    """

    def __init__(self, model: Any, config: SearchConfig, *, name: str = "model") -> None:
        self.model, self.config, self.name = model, config, name
        self.new_game()

    def new_game(self, seed: int = 0) -> None:
        """Start a new sequence of choices, where the temperature draws any."""
        self._seed, self._moves = seed, 0

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:  # noqa: ARG002
        """Search the position."""
        yield from ()
        self._moves += 1
        config = self.config.replace(seed=(self._seed + self._moves) % 2**64)
        search = latent_search(self.model, game, config)
        seen, legal = np.asarray(game.observation()), list(game.legal_actions())
        result = search.run(seen, legal, seat=game.to_play())
        return Choice(result.action, float(result.value))


class LearnedPlayers:
    """What `sylvan.registry` has under `learned`, in the group `players`."""

    @staticmethod
    def config(run: str) -> SearchConfig:
        """How the run searches, without what is drawn."""
        return greedy(Run.open(run).config.search)

    @staticmethod
    def model(run: str, device: str) -> Any:
        """The run's model."""
        return load_model(run, device=device)

    @staticmethod
    def open(model: Any, config: SearchConfig, name: str) -> ModelPlayer:
        """A player that plans with a model."""
        return ModelPlayer(model, config, name=name)
