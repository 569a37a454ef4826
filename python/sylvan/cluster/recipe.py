"""A recipe: all that a worker needs besides a network to play the games of a run.

It is JSON in the storage, under its hash. Everything in it can change the games or their last bits,
so a changed setting is another recipe and its leases have other names. What cannot (threads, the
size of a cache) is the worker's own matter.

A network travels as the model that ONNX Runtime runs, with the very constants that the learner's
evaluator has; where PyTorch evaluates (on a GPU), as the file of a checkpoint.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sylvan import _native
from sylvan._native import mix
from sylvan.cluster.profile import evaluation_profile
from sylvan.errors import ClusterError
from sylvan.evaluators import Evaluator
from sylvan.evaluators.cached import Cached, network_of
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.selfplay.actors import Actors, Room, batch_rows
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.lease_player import AnyEvaluator

__all__ = ["Recipe", "model_of"]


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
    one_actor: bool = False
    """Answers depend on the rest of a batch, so one thread plays a lease."""
    network: dict[str, Any] = field(default_factory=dict)
    """For PyTorch: the network's settings."""
    batch: int = 0
    """For PyTorch: positions of a batch."""
    profile: dict[str, str] = field(default_factory=dict)
    """The learner's; see `profile`."""

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

    def actors(self, threads: int, bell: _native.Bell) -> Actors:
        """Actors that play one lease at a time."""
        return Actors(
            self.spec,
            SelfPlayConfig(**self.selfplay),
            mix(self.seed, 0),
            self._encoding,
            SearchConfig(**self.search).replace(threads=threads),
            actors=1 if self.one_actor else None,
            room=self._room,
            bell=bell,
        )

    @property
    def _room(self) -> Room:
        if self.runtime == "onnx":
            return np.zeros
        from sylvan.learning.inference import batch_room

        return batch_room(self.device)

    def evaluator(self, network: bytes, threads: int, cache_bytes: int) -> Evaluator:
        """The evaluator of a network's file.

        :param threads: CPU threads that share a batch.
        :param cache_bytes: of the cache of evaluations, on a CPU; 0: none.
        """
        evaluator: Evaluator
        if self.runtime == "onnx":
            evaluator = OnnxEvaluator(network, threads=threads)
        else:
            evaluator = self._in_pytorch(network)
        cached = cache_bytes and self.device == "cpu"
        return Cached(evaluator, cache_bytes) if cached else evaluator

    def _in_pytorch(self, network: bytes) -> Evaluator:
        from sylvan.evaluators.pytorch import TorchEvaluator
        from sylvan.learning.plugins import network_named
        from sylvan.networks.checkpoint import load_tensors, read_checkpoint

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.safetensors"
            path.write_bytes(network)
            header, tensors = read_checkpoint(path)
        settings = dict(self.network)
        extra = settings.pop("settings")
        module = network_named(settings.pop("size"), game=self.spec.first(), **settings, **extra)
        load_tensors(module, tensors, "the network of a lease")
        module.header = header  # type: ignore[assignment]
        sized = {"batch": self.batch, "one_size": True} if self.device == "cuda" else {}
        return TorchEvaluator(module, device=self.device, **sized)  # type: ignore[arg-type]


def model_of(evaluator: AnyEvaluator) -> bytes | None:
    """The model that an evaluator runs in ONNX Runtime; None if it runs in PyTorch.

    :raises ClusterError: it runs something else.
    """
    assert not isinstance(evaluator, str)
    network = network_of(evaluator)  # type: ignore[arg-type]
    if isinstance(network, OnnxEvaluator) and network.running is not None:
        return network.running
    if network is None or type(network).__name__ != "TorchEvaluator":
        raise ClusterError(
            f"A {type(evaluator).__name__} cannot be sent to other machines: train this run "
            "without --cluster."
        )
    return None


def recipe_of(
    spec: GameSpec,
    seed: int,
    selfplay: SelfPlayConfig,
    search: SearchConfig,
    network: dict[str, Any],
    evaluator: AnyEvaluator,
    *,
    one_actor: bool,
) -> Recipe:
    """The recipe of a run, whose learner evaluates with `evaluator`."""
    runtime = "torch" if model_of(evaluator) is None else "onnx"
    own = network_of(evaluator)  # type: ignore[arg-type]
    assert own is not None
    device = "cpu" if runtime == "onnx" else str(own.device.type)  # type: ignore[attr-defined]
    encoding = own.encoding
    return Recipe(
        spec.name,
        _plain(spec.params),
        seed,
        _plain(selfplay.model_dump(mode="json")),
        _plain(search.model_dump(mode="json", exclude={"threads"})),
        None if encoding is None else asdict(encoding),
        runtime,
        device,
        one_actor,
        _plain(network) if runtime == "torch" else {},
        batch_rows(selfplay) if device == "cuda" else 0,
        evaluation_profile(runtime, device_name(device)),
    )


def device_name(device: str) -> str:
    """The kind of a device: machines with equal kinds count as equal."""
    if device == "cpu":
        return "cpu"
    import torch

    return torch.cuda.get_device_name()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Settings as they will be read from JSON."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def positions_blob(positions: list[list[int]]) -> bytes:
    """Positions to start from, as a file; empty if there are none."""
    return json.dumps(positions).encode() if positions else b""


def positions_of(data: bytes) -> list[list[int]]:
    """The positions of such a file."""
    found: list[list[int]] = json.loads(data)
    return [np.asarray(each, np.int32).tolist() for each in found]
