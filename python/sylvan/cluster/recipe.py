"""A recipe: all that a worker needs besides a network to play the games of a run.

It is JSON in the storage, under its hash. Everything in it can change the games or their last bits,
so a changed setting is another recipe and its leases have other names. What cannot (threads, the
size of a cache) is the worker's own matter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from sylvan import _native
from sylvan._native import mix
from sylvan.cluster.network_files import (
    model_of,
    network_in,
    onnx_model,
    torch_evaluator,
    torch_model,
)
from sylvan.cluster.profile import POSITIONS, answers
from sylvan.cluster.slots import ActorsSlot, LeaseSlot, ModelSlot
from sylvan.evaluators import Evaluator
from sylvan.evaluators.cached import Cached
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.profile import evaluation_profile
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.model_answers import depends_on_batch, fixed_observations, model_answers
from sylvan.muzero.model_player import ModelPlayer
from sylvan.planning import SearchConfig
from sylvan.runs.config import TrainingConfig
from sylvan.selfplay.actors import Actors, Room, batch_rows
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.lease_player import answers_depend_on_batch, search_of_a_lease
from sylvan.selfplay.leases import Unfinished
from sylvan.selfplay.restarts import Position

__all__ = ["Recipe", "recipe_of"]

TRIED = 1024
"""Maximum observations with which a learned model is tried out."""


@dataclass(frozen=True)
class Recipe:
    """How the games of a run are played; everything as JSON values."""

    game: str
    params: dict[str, Any]
    seed: int
    selfplay: dict[str, Any]
    search: dict[str, Any]
    """Of one lease, without threads."""
    encoding: dict[str, str] | None
    runtime: str
    """`onnx` or `torch`."""
    device: str
    """`cpu` or `cuda`."""
    learned: bool = False
    """Whether games are planned in a learned model, and not with the rules."""
    one_actor: bool = False
    """Answers depend on the rest of a batch, so one thread plays a whole step."""
    split: int = 0
    """Threads that share a batch, if answers depend on it; 0: as many as a worker has."""
    network: dict[str, Any] = field(default_factory=dict)
    """For PyTorch: the network's settings."""
    batch: int = 0
    """For PyTorch: positions of a batch."""
    profile: dict[str, str] = field(default_factory=dict)
    """The learner's; see `sylvan.evaluators.profile`."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Recipe:
        """The recipe from its file."""
        return cls(**json.loads(data))

    def to_bytes(self) -> bytes:
        """As a file."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @cached_property
    def spec(self) -> GameSpec:
        """The game."""
        return GameSpec(self.game, self.params)

    @cached_property
    def first(self) -> Game:
        """The first state, encoded for the network."""
        state = self.spec.first()
        return state if self._encoding is None else state.encoded(self._encoding)

    @property
    def _encoding(self) -> Encoding | None:
        return None if self.encoding is None else Encoding(**self.encoding)

    @property
    def _room(self) -> Room:
        if self.runtime == "onnx":
            return np.zeros
        from sylvan.learning.inference import batch_room

        return batch_room(self.device)

    @property
    def libraries(self) -> list[str]:
        """The packages whose versions decide the last bits."""
        evaluating = {"onnx": "onnxruntime", "torch": "torch"}[self.runtime]
        return [evaluating, "numpy", *(["gymnasium"] if self.spec.is_gymnasium else [])]

    def slots(self, threads: int, leases: int) -> Sequence[LeaseSlot]:
        """A player of up to `leases` leases at once."""
        selfplay = SelfPlayConfig(**self.selfplay)
        search = SearchConfig(**self.search).replace(threads=threads)
        if self.learned:
            player = ModelPlayer(self.spec, selfplay, self.seed, self._encoding, search, threads)
            return [ModelSlot(player)]
        bell, room = _native.Bell(), self._room
        own = (self.spec, selfplay, mix(self.seed, 0), self._encoding, search)
        actors = 1 if self.one_actor else None
        new_actors = partial(Actors, *own, actors=actors, room=room, bell=bell)
        return [ActorsSlot(new_actors) for _ in range(leases)]

    def evaluator(self, network: bytes, threads: int, cache_bytes: int) -> Any:
        """Make the evaluator of a network's file: an evaluator, or a learned model.

        :param threads: CPU threads that share a batch.
        :param cache_bytes: of the cache of evaluations, on a CPU; 0: none.
        """
        threads = self.split or threads
        if self.learned and self.runtime == "onnx":
            return onnx_model(network, threads)
        if self.learned:
            return torch_model(network, self.device, threads)
        evaluator: Evaluator
        if self.runtime == "onnx":
            evaluator = OnnxEvaluator(network, threads=threads)
        else:
            first = self.spec.first()
            evaluator = torch_evaluator(network, first, self.network, self.device, self.batch)
        cached = cache_bytes and self.device == "cpu"
        return Cached(evaluator, cache_bytes) if cached else evaluator

    def answers(self, evaluator: Any, seed: int) -> bytes:
        """The answers of an evaluator or a learned model to fixed positions."""
        if not self.learned:
            return answers(evaluator, self.first, seed)
        seen = fixed_observations(self.spec, self.first, POSITIONS, seed)
        return model_answers(evaluator, seen, self.first.num_actions).tobytes()


def recipe_of(config: TrainingConfig, evaluator: Any, *, exact: bool = True) -> Recipe:
    """The recipe of a run, whose learner evaluates with `evaluator`.

    :param exact: whether the last bits of an evaluation matter.
    """
    learned = config.run.algorithm == "muzero"
    spec, selfplay, search = config.game.spec, config.selfplay, config.search
    encoding = evaluator.header.encoding
    one_actor = exact and _depends_on_batch(config, evaluator, learned=learned)
    if not learned:
        search = search_of_a_lease(search, selfplay)
        if not one_actor:  # two leases fill a batch
            selfplay = selfplay.replace(games=max(1, selfplay.games // 2))
    runtime = "torch" if model_of(evaluator) is None else "onnx"
    own = network_in(evaluator)
    device = "cpu" if runtime == "onnx" else str(own.device.type)
    network = config.network.model_dump(mode="json") | {"seed": config.run.seed}
    recipe = Recipe(
        game=spec.name,
        params=_plain(spec.params),
        seed=config.run.seed,
        selfplay=_plain(selfplay.model_dump(mode="json")),
        search=_plain(search.model_dump(mode="json", exclude={"threads"})),
        encoding=None if encoding is None else asdict(encoding),
        runtime=runtime,
        device=device,
        learned=learned,
        one_actor=one_actor,
        split=own.threads if one_actor and runtime == "onnx" else 0,
        network=_plain(network) if runtime == "torch" and not learned else {},
        batch=batch_rows(selfplay) if device == "cuda" and not learned else 0,
    )
    profile = evaluation_profile(recipe.libraries, device)
    return Recipe(**asdict(recipe) | {"profile": profile})


def _depends_on_batch(config: TrainingConfig, evaluator: Any, *, learned: bool) -> bool:
    """Whether the answers to a position depend on the rest of its batch."""
    spec, seed = config.game.spec, config.run.seed
    encoding = evaluator.header.encoding
    if learned:
        first = spec.first() if encoding is None else spec.first().encoded(encoding)
        seen = fixed_observations(spec, first, min(TRIED, config.selfplay.games), seed)
        return depends_on_batch(evaluator, seen, first.num_actions)
    search = config.search.replace(threads=1)
    actors = Actors(spec, config.selfplay, seed, encoding, search, actors=1)
    return answers_depend_on_batch(evaluator, actors, seed)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Settings as they will be read from JSON."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def positions_blob(positions: list[Position]) -> bytes:
    """Positions to start from, as a file; empty if there are none."""
    return json.dumps(positions).encode() if positions else b""


def positions_of(data: bytes) -> list[Position]:
    """The positions of such a file."""
    found: list[Position] = json.loads(data) if data else []
    return [np.asarray(each, np.int32).tolist() for each in found]


def episodes_blob(episodes: Sequence[Unfinished]) -> bytes:
    """Episodes to continue, as a file; empty if there are none."""
    return json.dumps([asdict(each) for each in episodes]).encode() if episodes else b""


def episodes_of(data: bytes) -> list[Unfinished]:
    """The episodes of such a file."""
    return [Unfinished(**each) for each in json.loads(data)] if data else []
