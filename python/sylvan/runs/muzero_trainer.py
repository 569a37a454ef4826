"""The trainer of MuZero runs, which learn a model instead of using the rules.

The loop, the folder, the checkpoints and the live view are the same as in AlphaZero runs. The
network (three in one), the player (searches over the model), the batches (sequences instead of
positions), the loss and the rating differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from sylvan.errors import ConfigError
from sylvan.games.game import Game
from sylvan.muzero.build import build_muzero
from sylvan.muzero.episodes import EpisodeArena
from sylvan.muzero.evaluation import LatentArena
from sylvan.muzero.learner import MuZeroLearner
from sylvan.muzero.model import TorchModel
from sylvan.muzero.model_player import ModelPlayer
from sylvan.muzero.quality import model_quality
from sylvan.muzero.reanalyse import Reanalyse, SearchesElsewhere
from sylvan.muzero.sequences import SequenceReplay
from sylvan.networks.header import needed_header
from sylvan.planning.roots import hides
from sylvan.replay.record import GameRecord
from sylvan.runs.muzero_publish import ModelPublisher
from sylvan.runs.seeds import random_numbers
from sylvan.runs.trainer import Trainer
from sylvan.selfplay.leases import Lease
from sylvan.selfplay.selfplay import SelfPlay

__all__ = ["MuZeroTrainer"]


class MuZeroTrainer(Trainer[TorchModel]):
    """The parts of a MuZero run, and the phases of a step."""

    selfplay: SelfPlay

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
            if isinstance(self.player, SearchesElsewhere):
                replay.reanalyse.elsewhere = self.player
        parts = (spec, config.selfplay, self.seed, header.encoding, search)
        player = self.player or ModelPlayer(*parts)
        self.selfplay = SelfPlay(*parts, player=player, learned=True)
        arena = EpisodeArena if header.num_players == 1 else LatentArena
        self.arena = arena(spec, config.arena, self.seed, folder, search)
        self.publisher = ModelPublisher(self.run.networks, copied)

    def _refresh(self, network: nn.Module) -> None:
        self.evaluator.refresh(network)

    def _play(self, *, last: bool) -> Sequence[GameRecord]:
        newest = self._playing_step()
        try:
            return self.selfplay.play(self._loaded, self.step, newest, self._played, last=last)
        finally:
            if self.config.selfplay.lag:  # targets are recomputed with the newest model
                self._load(newest)

    def _loaded(self, lease: Lease) -> TorchModel:
        """The model with the network of a lease."""
        self._load(lease.network)
        return self.evaluator

    def _load(self, step: int) -> None:
        self._refresh(self.publisher.filled(self._network_of(step)))

    def close(self) -> None:
        """Give up the games in progress."""
        super().close()
        self.selfplay.stop()

    def _played_with(self) -> set[int]:
        return {lease.network for lease in self.selfplay.leases.planned}

    def play(self, *, last: bool = False) -> dict[str, float]:
        """Play, and store the games that ended in the replay."""
        before = self.replay.positions
        numbers = super().play(last=last)
        self._stored = self.replay.positions - before
        return numbers

    def _new_positions(self) -> int:
        """The stored positions: the last search of an episode that was cut is not stored."""
        return self._stored

    def _play_figures(self, records: Sequence[GameRecord]) -> dict[str, float]:
        """Add the prediction errors of the model that played these games."""
        rng = random_numbers(self.seed, "quality", self.step)
        found = model_quality(self.evaluator, self.spec, records, self.config.targets, rng)
        figures = super()._play_figures(records) | found.numbers()
        figures["selfplay.dropped"] = float(self.selfplay.statistics.dropped)
        return figures if self.header.num_players > 1 else figures | self._episode_figures(figures)

    def _episode_figures(self, figures: dict[str, float]) -> dict[str, float]:
        """Means over the episodes that ended, which earlier steps may have begun."""
        for name in ("first_seat", "draws", "resigned", "length", "unfinished"):
            figures.pop(f"selfplay.{name}", None)
        found = self.selfplay.statistics
        if not found.games:
            return {}
        return {
            "selfplay.length": found.mean_length,
            "selfplay.return": found.mean_score,
            "selfplay.unfinished": found.limits / found.games,
        }


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
