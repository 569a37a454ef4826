"""The trainer of AlphaZero runs, which search with the game's rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from sylvan.evaluators import Evaluator
from sylvan.evaluators.cached import network_of
from sylvan.evaluators.profile import network_profile
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.learning.feed import Examples
from sylvan.learning.file_games import FileGames, MixedExamples
from sylvan.learning.inference import (
    SelfPlayEvaluator,
    SwappableModel,
    batch_room,
    onnx_model_of,
    self_play_evaluator,
)
from sylvan.learning.learner import Learner
from sylvan.learning.plugins import network_named
from sylvan.networks.header import needed_header
from sylvan.ratings.arena import Arena
from sylvan.replay.buffer import Replay
from sylvan.replay.record import GameRecord
from sylvan.runs.publish import Publisher
from sylvan.runs.trainer import Trainer
from sylvan.selfplay.actors import batch_rows
from sylvan.selfplay.leases import Lease
from sylvan.selfplay.selfplay import SelfPlay

__all__ = ["AlphaZeroTrainer"]


class AlphaZeroTrainer(Trainer[Evaluator]):
    """The parts of an AlphaZero run."""

    selfplay: SelfPlay
    publisher: Publisher

    def _network(self) -> nn.Module:
        """A new network according to the settings."""
        network = self.config.network
        return network_named(
            network.size,
            game=self.spec.first(),
            value=network.value,
            moves_left=network.moves_left,
            seed=self.seed,
            **network.settings,
        )

    def _create_parts(self, network: nn.Module, copied: nn.Module) -> None:
        """Create all parts for a network; the weights of `copied` may be overwritten."""
        config, spec, folder = self.config, self.spec, self.run.folder
        header, device, threads = needed_header(network), config.run.device, config.run.threads
        self.learner = Learner(network, config.learner, device, threads, folder)
        self.replay = Replay(
            self.run.replay,
            spec,
            config.replay,
            targets=config.targets,
            value=header.value,
            encoding=header.encoding,
        )
        if config.learner.games:
            self.games = FileGames(
                [Path(path) for path in config.learner.games],
                spec,
                header,
                config.targets,
                threads,
                config.replay.threads,
            )
        search = config.search.replace(threads=threads or 1)
        self.selfplay = SelfPlay(
            spec,
            config.selfplay,
            self.seed,
            header.encoding,
            search,
            batch_room(device),
            self.player,
        )
        self.arena = Arena(spec, config.arena, self.seed, folder, search)
        leased = 1 + (config.selfplay.lag > 0)  # two leases are played at once
        self.evaluators: list[SelfPlayEvaluator] = []
        """Consecutive leases have different ones."""
        model: SwappableModel | None = None
        for _ in range(leased):
            evaluator = self_play_evaluator(
                self.learner.averaged,
                device=device,
                threads=threads,
                cache_bytes=config.run.cache_megabytes * 2**20 // leased,
                eight_bits=spec.first() if config.run.eight_bits else None,
                batch=batch_rows(config.selfplay),
                compiled=config.learner.compile is not False,
                exact=config.selfplay.mode == "exact",
                model=model,
            )
            model = onnx_model_of(evaluator)
            self.evaluators.append(evaluator)
        self.publisher = Publisher(self.run.networks, copied, model)
        for recorded in self.run.profiles[-1:]:
            chosen = recorded["profile"].get("kernels", "").split()
            for evaluator, kernels in zip(self.evaluators, chosen, strict=False):
                if isinstance(evaluator, TorchEvaluator):
                    evaluator.use_kernels(kernels)

    @property
    def examples(self) -> Examples[Any]:
        """The source of the learner's batches."""
        if self.games is None:
            return self.replay
        return MixedExamples(self.replay, self.games, self.config.learner.games_share)

    def learn(self, begin: float, end: float) -> dict[str, float]:
        """Update the network, as soon as the games of files are read."""
        if self.games is not None:
            for note in self.games.wait():
                self.watch.message(note)
        return super().learn(begin, end)

    def _play(self, *, last: bool) -> Sequence[GameRecord]:
        before = self._kernels
        try:
            return self.selfplay.play(
                self._loaded, self.step, self._playing_step(), self._played, last=last
            )
        finally:
            if self._kernels != before:  # others than the usual ones passed the test
                self.run.keep_profile(self.profile(), self.step - 1)

    @property
    def _kernels(self) -> str:
        """The kernels of the evaluators."""
        return " ".join(getattr(evaluator, "kernels", "fixed") for evaluator in self.evaluators)

    def _loaded(self, lease: Lease) -> SelfPlayEvaluator:
        """The evaluator of a lease, with the network of its step."""
        evaluator = self.evaluators[lease.number % len(self.evaluators)]
        evaluator.refresh(self.publisher.filled(self._network_of(lease.network)))
        return evaluator

    def profile(self) -> dict[str, str]:
        """The evaluation profile of the machine that trains, and of the network's evaluator."""
        network = network_of(self.evaluators[0])
        found = super().profile() | ({} if network is None else network_profile(network))
        return found | {"kernels": self._kernels}

    def close(self) -> None:
        """Give up the games of the next lease."""
        super().close()
        self.selfplay.stop()

    def _played_with(self) -> set[int]:
        return {lease.network for lease in self.selfplay.leases.planned}

    @property
    def evaluator(self) -> SelfPlayEvaluator:  # type: ignore[override]  # it changes with the step
        """The evaluator of this step's lease, which is over when the network is rated."""
        return self.evaluators[self.step % len(self.evaluators)]

    def _refresh(self, network: nn.Module) -> None:
        self.evaluator.refresh(network)
