"""The trainer of a run: passes data between its parts, saves and restores them.

The parts differ by algorithm: see `alphazero_trainer` and `muzero_trainer`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from sylvan.evaluators.profile import evaluation_profile
from sylvan.learning.base_learner import BaseLearner
from sylvan.learning.feed import Examples
from sylvan.learning.file_games import FileGames
from sylvan.learning.group import Group
from sylvan.networks.header import NetworkHeader
from sylvan.ratings.arena import ArenaConfig
from sylvan.ratings.pairings import PlaysPairings
from sylvan.replay.buffer import Replay
from sylvan.replay.record import GameRecord
from sylvan.runs.checkpoints import Checkpoint, NetworkState
from sylvan.runs.history import NetworkHistory
from sylvan.runs.play_figures import play_figures
from sylvan.runs.publish import BasePublisher
from sylvan.runs.run import Run
from sylvan.runs.seeds import random_numbers
from sylvan.runs.warm_start import warm_start
from sylvan.runs.watcher import Watcher
from sylvan.selfplay.lease_player import PlaysLeases
from sylvan.selfplay.selfplay import SelfPlayStatistics

__all__ = ["PlayerOf", "Trainer"]

NETWORKS = ("network", "average")
"""Networks in a checkpoint; also the prefixes of their weights in the learner's state."""


PlayerOf = Callable[[Run], PlaysLeases]
"""Makes what plays the leases of a run."""

EvaluatorT = TypeVar("EvaluatorT")
PlayerT = TypeVar("PlayerT", contravariant=True)


class PlaysGames(Protocol):
    """Self-play: plays the games of a step."""

    statistics: SelfPlayStatistics
    notes: list[str]
    """Sentences for the user, which the trainer passes on."""

    def state_dict(self) -> dict[str, Any]:
        """The state that the next step depends on."""

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Restore the state from `state_dict`."""


class NetworkRating(Protocol):
    """The result of a rating."""

    @property
    def is_best(self) -> bool:
        """Whether the network is now the best of the run."""

    def numbers(self) -> dict[str, float]:
        """The figures by their names in the metrics."""


class RatesNetworks(Protocol[PlayerT]):
    """Rates the networks of a run, and keeps the results."""

    config: ArenaConfig
    elsewhere: PlaysPairings[Any] | None
    """Other machines that play; None: there are none."""

    def rate(
        self,
        evaluator: PlayerT,
        step: int,
        previous: Mapping[int, Callable[[], PlayerT]] | None = None,
        watch: Callable[[str, int, int], None] | None = None,
        /,
    ) -> NetworkRating:
        """Rate the network of a step; `previous` loads earlier networks."""

    def state_dict(self) -> dict[str, Any]:
        """The results, as JSON values."""

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Restore the state from `state_dict`."""


class Trainer(ABC, Generic[EvaluatorT]):
    """The parts of a run, and the phases of a step. An algorithm is a subclass.

    :param start: initial network: a file, or another run's folder.
    :param player: makes what plays the run's leases; default: actors of this machine.
    :param group: the processes that share the learner's batches; default: this one alone.
    """

    def __init__(
        self,
        run: Run,
        watch: Watcher,
        start: str | PathLike[str] | None = None,
        player: PlayerOf | None = None,
        group: Group | None = None,
    ) -> None:
        self.run, self.watch, self.config = run, watch, run.config
        self.seed, self.spec = run.config.run.seed, run.config.game.spec
        self.player = None if player is None else player(run)
        network = self._network()
        if start is not None:
            warm_start(network, start)
        self._create_parts(network, copy.deepcopy(network).eval())
        if isinstance(self.player, PlaysPairings):
            self.arena.elsewhere = self.player
        if group is not None:
            self.learner.share(group)
        self.step = 0
        self.elapsed = 0.0
        """Seconds spent on the run when its last step ended."""
        self.best: dict[str, Any] = {}
        """Step and updates of the best network so far; empty before there is one."""
        self.rated = 0
        """The last step that was rated."""
        self.needed: dict[str, list[int]] = {}
        """As `_needed` gave at the last checkpoint."""
        self.finished: dict[str, Any] = {}
        """The budget that the run has spent; empty before its end."""

    # --- the parts of an algorithm ------------------------------------------------------------

    learner: BaseLearner[Any, Any]
    """Trains on the batches of `replay`."""
    replay: Replay
    games: FileGames | None = None
    """The games of `learner.games`."""
    selfplay: PlaysGames
    arena: RatesNetworks[EvaluatorT]
    evaluator: EvaluatorT
    """Searches with a network whose weights `_refresh` replaces."""
    publisher: BasePublisher[EvaluatorT]

    @abstractmethod
    def _network(self) -> nn.Module:
        """A new network according to the settings."""

    @abstractmethod
    def _create_parts(self, network: nn.Module, copied: nn.Module) -> None:
        """Create all parts for a network; the weights of `copied` may be overwritten."""

    @abstractmethod
    def _refresh(self, network: nn.Module) -> None:
        """Load a network's weights into `evaluator`."""

    def profile(self) -> dict[str, str]:
        """The evaluation profile of the machine that trains; see `sylvan.evaluators.profile`."""
        played = ["gymnasium"] if self.spec.is_gymnasium else []
        return evaluation_profile(["torch", "numpy", *played], self.config.run.device)

    @abstractmethod
    def _play(self, *, last: bool) -> Sequence[GameRecord]:
        """Play the games of the step; no other step follows if `last`."""

    # --- a step -----------------------------------------------------------------------------

    def play(self, *, last: bool = False) -> dict[str, float]:
        """Play, and store the games that ended in the replay."""
        records = self._play(last=last)
        for note in self.selfplay.notes:
            self.watch.message(note)
        self.selfplay.notes.clear()
        if records:
            self.watch.game_ended(records[-1])
        self.replay.append(records)
        found = self.selfplay.statistics
        numbers = {
            "selfplay.games": found.games,
            "selfplay.positions": found.positions,
            "selfplay.simulations": found.simulations,
            "seconds.selfplay": found.seconds,
            "seconds.network": found.network_seconds,
            "seconds.search": found.search_seconds,
            "replay.window": self.replay.window,
            "replay.positions": self.replay.positions,
            "replay.games": self.replay.records,
        }
        if found.played_positions:
            numbers |= {
                "played.games": found.played_games,
                "played.positions": found.played_positions,
                "played.simulations": found.played_simulations,
            }
        if found.workers:
            numbers["played.workers"] = found.workers
            numbers["played.slowest_worker"] = found.slowest_worker
        if found.rows:
            numbers["selfplay.evaluations"] = found.rows
        if found.under_way:
            numbers["selfplay.under_way"] = found.under_way
            numbers["seconds.handling"] = found.handling_seconds
        if found.device_seconds:
            numbers["seconds.device"] = found.device_seconds
        if found.capacity:
            numbers["selfplay.fill"] = found.fill
        if found.dropped:
            numbers["selfplay.dropped"] = found.dropped
        if found.cache_lookups:
            numbers["selfplay.cache_hits"] = found.cache_hits / found.cache_lookups
        if found.played_on:
            numbers["selfplay.false_resignations"] = found.false_positives / found.played_on
        return numbers | self._play_figures(records)

    def _play_figures(self, records: Sequence[GameRecord]) -> dict[str, float]:
        """Statistics of the finished games, before the network learns from them."""
        return play_figures(records)

    def _played(self, so_far: SelfPlayStatistics) -> None:
        total = self.config.selfplay.positions
        self.watch.selfplay_progress(min(so_far.positions, total), total, so_far.games)

    def _playing_step(self) -> int:
        """The step whose network plays the games planned now: the newest, or the last that passed
        the gate.
        """
        return self.step - 1 if self.config.arena.gate is None else int(self.best.get("step", 0))

    def _played_with(self) -> set[int]:
        """The steps whose networks later steps need."""
        return set()

    def learn(self, begin: float, end: float) -> dict[str, float]:
        """Update the network on the replay, while progress goes from `begin` to `end`."""
        if not self.replay.window:
            return {}
        updates = self.learner.updates(self._new_positions())
        rng = random_numbers(self.seed, "batches", self.step)
        losses = self.learner.train(
            self.examples, updates, lambda share: begin + share * (end - begin), rng, self.watch
        )
        return losses.numbers()

    @property
    def examples(self) -> Examples[Any]:
        """The source of the learner's batches."""
        return self.replay

    def _new_positions(self) -> int:
        """Number of new positions, which determines the number of updates."""
        return int(self.selfplay.statistics.positions)

    def rating_is_due(self, last: bool) -> bool:
        """Whether this step ends with a rating: every `arena.every` steps, and the last."""
        every = self.config.arena.every
        return every > 0 and (last or self.step % every == 0)

    def rate(self) -> dict[str, float]:
        """Rate the averaged network against yardsticks and earlier networks."""
        self._refresh(self.learner.averaged)
        earlier = {self.best.get("step", 0), self.rated} & set(self.run.checkpoints.steps())
        previous = {step: partial(self._earlier, step) for step in earlier if step > 0}
        rating = self.arena.rate(self.evaluator, self.step, previous, self.watch.arena_progress)
        numbers = rating.numbers()
        self.rated = self.step
        if rating.is_best:
            self._is_best()
        self.watch.rated(self.step, numbers)
        return numbers

    def _is_best(self) -> None:
        self.best = {"step": self.step, "updates": self.learner.updates_made}

    def _earlier(self, step: int) -> EvaluatorT:
        """The evaluator of an earlier network."""
        run = self.config.run
        return self.publisher.evaluator(self._network_of(step), run.device, run.threads)

    def _network_of(self, step: int) -> NetworkState:
        """The network that plays after a step, from its checkpoint."""
        checkpoint = self.run.checkpoints.read(step)
        return checkpoint.network("average" if checkpoint.has("average") else "network")

    def finish(self) -> None:
        """Mark the budget as spent. Without ratings, the newest network is the best."""
        self.finished = self.run.budget
        if not self.config.arena.every:
            self._is_best()

    def export_is_due(self) -> bool:
        """Whether the newest network is exported: with each rating, or every `export_every`."""
        every = self.config.run.export_every or self.config.arena.every
        return every > 0 and self.step % every == 0

    def close(self) -> None:
        """Give up what is under way beside the steps."""
        self.learner.end_sharing()

    # --- state ------------------------------------------------------------------------------

    def save(self, elapsed: float) -> None:
        """Save a checkpoint of the step; then delete older ones."""
        learner = self.learner.state_dict()
        networks = {}
        for name in NETWORKS:
            keys = [key for key in learner if key.startswith(f"{name}/")]
            tensors = {key.partition("/")[2]: learner.pop(key) for key in keys}
            if tensors:
                networks[name] = NetworkState(self.header, tensors)
        parts = {
            "learner": learner,
            "selfplay": self.selfplay.state_dict(),
            "replay": self.replay.mark(),
            "arena": self.arena.state_dict(),
            "loop": {
                "best": self.best,
                "rated": self.rated,
                "finished": self.finished,
                "needed": self._needed(),
                "games": self.games.checksums if self.games else {},
            },
        }
        # First: a run that is killed in between repeats the step.
        played = networks.get("average", networks["network"])
        NetworkHistory(self.run.networks / "history", self.config.run.history).add(
            self.step, played
        )
        checkpoints = self.run.checkpoints
        checkpoints.save(self.step, elapsed, networks, parts)
        newest = checkpoints.steps()[-self.config.run.keep :]
        needed = {step for each in newest for step in self.needed.get(str(each), [])}
        checkpoints.keep({*newest, *needed, self.best.get("step", 0), self.rated})

    def _needed(self) -> dict[str, list[int]]:
        """The networks that the newest checkpoints need, by the checkpoints' steps, as JSON."""
        self.needed[str(self.step)] = sorted(self._played_with())
        self.needed = dict(list(self.needed.items())[-self.config.run.keep :])
        return self.needed

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint."""
        learner = checkpoint.part("learner")
        for name in NETWORKS:
            if checkpoint.has(name):
                tensors = checkpoint.network(name).tensors
                learner |= {f"{name}/{key}": array for key, array in tensors.items()}
        self.learner.load_state_dict(learner)
        self.selfplay.load_state_dict(checkpoint.part("selfplay"))
        self.replay.restore(checkpoint.part("replay"))
        self.arena.load_state_dict(checkpoint.part("arena"))
        loop = checkpoint.part("loop")
        self.best, self.rated, self.finished = loop["best"], loop["rated"], loop["finished"]
        self.needed = dict(loop.get("needed", {}))
        if self.games is not None:
            self.games.need_same(loop.get("games", {}))
        self.step, self.elapsed = checkpoint.step, checkpoint.elapsed

    def publish(self, *, last: bool) -> None:
        """Write the files of the best and, if `last`, of the newest network, if they changed.

        They are made from checkpoints, so a run that is killed here writes them when it resumes.
        """
        wanted = {"best": (self.best["step"], self.best["updates"])} if self.best else {}
        if last:
            wanted["last"] = (self.step, self.learner.updates_made)
        for name, (step, updates) in wanted.items():
            if self.run.published(name) != updates:
                self.publisher.publish(name, self._network_of(step))

    @property
    def header(self) -> NetworkHeader:
        """The header of the current network."""
        return self.learner.header.replace(training_step=self.learner.updates_made)
