"""Ratings on a cluster: parts of pairings, which workers play between their leases of self-play.

The games of a pairing depend on their numbers alone (`sylvan.ratings.pairings`), so the learner
cuts each pairing, and joins what the workers played.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from sylvan.cluster.lease import Lease
from sylvan.cluster.recipe import Recipe
from sylvan.cluster.slots import ThreadSlot
from sylvan.muzero.episodes import EpisodeArena
from sylvan.muzero.evaluation import LatentArena
from sylvan.planning import SearchConfig
from sylvan.ratings.arena import Arena, ArenaConfig
from sylvan.ratings.pairings import Pairing, PlayedPairing
from sylvan.ratings.yardsticks import is_portable

__all__ = ["RatingSlot", "can_be_sent", "pairing_packed", "pairing_unpacked", "task_of"]


def task_of(settings: Mapping[str, Any], pairing: Pairing) -> bytes:
    """A pairing and the settings of its arena, as a file."""
    return json.dumps({"arena": settings, "pairing": asdict(pairing)}, sort_keys=True).encode()


def can_be_sent(recipe: Recipe, pairing: Pairing) -> bool:
    """Whether any worker can play a pairing, with equal results.

    Answers must not depend on the rest of a batch, as the games of a part are in other batches. On
    a GPU the learner's opponents have batches of their own size.
    """
    if recipe.one_actor or recipe.runtime != "onnx":
        return False
    no_yardstick = pairing.network is not None or not pairing.opponent
    return no_yardstick or is_portable(pairing.opponent, recipe.spec)


class RatingSlot(ThreadSlot[PlayedPairing]):
    """Plays a part of a pairing, in a thread: its searches share no batch with self-play.

    :param task: from `task_of`.
    :param threads: of searches and evaluators.
    :param cache_bytes: of the cache of evaluations.
    """

    def __init__(self, recipe: Recipe, task: bytes, threads: int, cache_bytes: int) -> None:
        super().__init__()
        fields = json.loads(task)
        self._recipe, self._pairing = recipe, Pairing(**fields["pairing"])
        self._settings: dict[str, Any] = fields["arena"]
        self._threads, self._cache_bytes = threads, cache_bytes

    def begin(self, network: bytes, other: bytes, lease: Lease) -> None:
        """Start to play.

        :param other: the opponent's network; empty: it has none.
        """

        def play(check: Callable[[], None]) -> PlayedPairing:
            arena = self._arena()
            side = arena.side("rated", self._evaluator(network))
            opponent = arena.side(self._pairing.opponent, self._evaluator(other)) if other else None
            part = (lease.first, lease.count)
            played: PlayedPairing = arena.play(
                self._pairing, side, opponent, *part, lambda *_: check()
            )
            return played

        self.start(play)

    def _evaluator(self, network: bytes) -> Any:
        return self._recipe.evaluator(network, self._threads, self._cache_bytes)

    def _arena(self) -> Any:
        recipe, settings = self._recipe, self._settings
        arena: Any = Arena
        if recipe.learned:
            arena = EpisodeArena if recipe.first.num_players == 1 else LatentArena
        search = SearchConfig(**settings["search"]).replace(threads=self._threads)
        config = ArenaConfig(**settings["config"])
        return arena(recipe.spec, config, settings["seed"], search=search)


def pairing_packed(played: PlayedPairing) -> tuple[dict[str, Any], bytes]:
    """Facts and payload of a shard."""
    from safetensors.numpy import save

    return {"error": played.error}, save(played.columns)


def pairing_unpacked(facts: Mapping[str, Any], payload: bytes) -> PlayedPairing:
    """The part in a shard that was verified."""
    from safetensors.numpy import load

    columns = {name: np.asarray(column) for name, column in load(payload).items()}
    return PlayedPairing(columns, str(facts["error"]))
