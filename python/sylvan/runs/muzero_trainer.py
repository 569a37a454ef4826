"""The trainer of MuZero runs, which learn a model instead of using the rules.

The loop, the folder, the checkpoints and the live view are the same as in AlphaZero runs. The
network (three in one), the actor (searches over the model), the batches (sequences instead of
positions), the loss and the rating differ.
"""

from __future__ import annotations

import numpy as np
from torch import nn

from sylvan.errors import ConfigError
from sylvan.games.game import Game
from sylvan.muzero.actor import Actor
from sylvan.muzero.build import build_muzero
from sylvan.muzero.episodes import EpisodeArena
from sylvan.muzero.evaluation import LatentArena
from sylvan.muzero.learner import MuZeroLearner
from sylvan.muzero.model import TorchModel
from sylvan.muzero.quality import model_quality
from sylvan.muzero.reanalyse import Reanalyse
from sylvan.muzero.sequences import SequenceReplay
from sylvan.networks.header import needed_header
from sylvan.planning.roots import hides
from sylvan.replay.record import GameRecord
from sylvan.runs.muzero_publish import ModelPublisher
from sylvan.runs.seeds import random_numbers
from sylvan.runs.trainer import Trainer

__all__ = ["MuZeroTrainer"]


class MuZeroTrainer(Trainer[TorchModel]):
    """The parts of a MuZero run, and the phases of a step."""

    selfplay: Actor

    def _network(self) -> nn.Module:
        config = self.config
        if config.search.discount != config.targets.discount:
            raise ConfigError(
                f"search.discount is {config.search.discount} and targets.discount is "
                f"{config.targets.discount}: set both to the same number."
            )
        game = self.spec.first()
        _need_learnable(game, self.spec.short_name, config.muzero.value_kind)
        return build_muzero(
            config.network.size,
            game=game,
            config=config.muzero,
            seed=self.seed,
            **config.network.settings,
        )

    def _create_parts(self, network: nn.Module, copied: nn.Module) -> None:
        config, spec, folder = self.config, self.spec, self.run.folder
        header, device, threads = needed_header(network), config.run.device, config.run.threads
        search = config.search.replace(threads=threads or 1)
        self.learner = learner = MuZeroLearner(
            network, config.learner, device, threads, folder, muzero=config.muzero
        )
        self.evaluator = TorchModel(learner.averaged, device=device, threads=threads)
        self.replay = replay = SequenceReplay(
            self.run.replay,
            spec,
            config.replay,
            targets=config.targets,
            encoding=header.encoding,
            unroll=config.muzero.unroll,
            lead_in=config.muzero.lead_in,
            following=learner.looks_ahead,
        )
        if config.muzero.reanalyse or config.muzero.fresh_values:
            replay.reanalyse = Reanalyse(self.evaluator, config.muzero, search)
        self.selfplay = Actor(spec, config.selfplay, self.seed, search, header.encoding)
        arena = EpisodeArena if header.num_players == 1 else LatentArena
        self.arena = arena(spec, config.arena, self.seed, folder, search)
        self.publisher = ModelPublisher(self.run.networks, copied)

    def _refresh(self, network: nn.Module) -> None:
        self.evaluator.refresh(network)

    def _play(self, *, last: bool) -> list[GameRecord]:  # noqa: ARG002 (games span steps)
        self._refresh(self._player())
        return self.selfplay.play(self.evaluator, self.step, self._played)

    def _player(self) -> nn.Module:
        """The averaged network, or the last that passed the gate."""
        if self.config.arena.gate is None:
            return self.learner.averaged
        return self.publisher.filled(self._network_of(self._playing_step()))

    def play(self, *, last: bool = False) -> dict[str, float]:
        """Play, and store the games that ended in the replay."""
        before = self.replay.positions
        numbers = super().play(last=last)
        self._stored = self.replay.positions - before
        return numbers

    def _new_positions(self) -> int:
        """The stored positions: an episode is stored at its end, which may take many steps."""
        return self._stored

    def _play_figures(self, records: list[GameRecord]) -> dict[str, float]:
        """Add the prediction errors of the model that played these games."""
        rng = random_numbers(self.seed, "quality", self.step)
        found = model_quality(self.evaluator, self.spec, records, self.config.targets, rng)
        figures = super()._play_figures(records) | found.numbers()
        figures["selfplay.dropped"] = float(self.selfplay.statistics.dropped)
        paid = [float(record.rewards.sum()) for record in records if record.rewards is not None]
        if paid and self.header.num_players == 1:
            figures["selfplay.return"] = float(np.mean(paid))
            figures.pop("selfplay.first_seat")
            figures.pop("selfplay.draws")
        return figures


def _need_learnable(game: Game, name: str, value_kind: str) -> None:
    """Check that a model of this game can be learned.

    :raises ConfigError: the game has hidden information, or not the seats of its value kind.
    """
    if hides(game):
        raise ConfigError(
            f"{name} has hidden information, but a learned model needs seats that see everything: "
            "train it with its rules, --algorithm alphazero."
        )
    if value_kind == "wdl" and game.num_players != 2:
        raise ConfigError(
            "muzero.value_kind is 'wdl', which is for games with two seats, but "
            f"{name} has {game.num_players}: set it to auto, scalar or categorical."
        )
