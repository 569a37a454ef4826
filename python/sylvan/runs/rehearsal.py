"""Measure what the steps of a run cost on this machine: a few short ones in a temporary folder.

The real parts of a run are timed: self-play with the network, updates, ratings. Games are cut short
and begin at random depths, so that every measurement takes about a second whatever the game's
length; what depends on the length is a cost per ply.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sylvan.games.game import Game
from sylvan.runs.config import TrainingConfig
from sylvan.runs.run import Run
from sylvan.runs.seeds import random_numbers
from sylvan.runs.trainer import Trainer
from sylvan.runs.watcher import Watcher

__all__ = ["Costs", "rehearse"]

PLIES = 4
"""Plies after which games of self-play end in a rehearsal, not counting the first deal."""
RATED_PLIES = 8
"""Plies after which games of ratings end, not counting the first deal."""
GAMES = 32
"""Most parallel games of a rehearsal."""
RATED = 4
"""Games against each opponent of a rehearsed rating."""
ROUNDS = 3
"""Rounds of self-play to time, after the first."""
PATIENCE = 0.5
"""Seconds of the first round above which only one more is played."""
UPDATES = 2
"""Updates to time, after the first."""


@dataclass(frozen=True)
class Costs:
    """Seconds that the parts of a run take."""

    simulation: float
    """Per searched position and simulation of `search.simulations`."""
    network: float
    """Share of it in the network."""
    update: float
    """Per update of the network."""
    step: float = 0.0
    """Per step, whatever its size: loading the network into self-play, the checkpoint."""
    rated_ply: float = 0.0
    """Per ply of one game against every opponent of a rating."""
    solved: float = 0.0
    """Per rating, for the mistakes on solved positions."""

    def replace(self, **costs: float) -> Costs:
        """A copy with some costs changed."""
        return replace(self, **costs)

    def position(self, config: TrainingConfig) -> float:
        """Seconds to search one position."""
        return self.simulation * (config.search.simulations or 1)

    def learned(self, config: TrainingConfig) -> float:
        """Seconds to learn one new position."""
        return self.update * config.learner.samples_per_position / config.learner.batch


def rehearse(
    config: TrainingConfig, length: float, positions: int = 0, before: Costs | None = None
) -> Costs:
    """Measure the costs of a run with these settings.

    :param config: resolved settings.
    :param length: plies of a typical game.
    :param positions: positions of a step to time, with all of the games; 0: few, in at most `GAMES`
        games.
    :param before: costs with other settings: ratings are not measured again.
    :raises SylvanError: the run cannot be set up with these settings.
    """
    from sylvan.runs.loop import trainer_class

    with TemporaryDirectory(prefix="sylvan-") as folder:
        run = Run.create(Path(folder) / "run", _shortened(config, length, positions))
        with closing(trainer_class(run)(run, Watcher())) as trainer:
            costs = _play_and_learn(trainer)
            if before:
                faster = costs.simulation / before.simulation
                return costs.replace(rated_ply=faster * before.rated_ply, solved=before.solved)
            if not config.arena.every:
                return costs
            first = _rate(trainer)
            trainer.save(0.0)
            trainer.step += 1
            trainer.arena.config = trainer.arena.config.replace(positions=0)
            second = _rate(trainer)
    # The second rating had one earlier network to play; the later ones of a run have several.
    later = config.arena.opponents
    more = (second.opponents + max(0, later - 1)) / max(1, second.opponents)
    return costs.replace(
        rated_ply=more * second.seconds / (RATED * min(RATED_PLIES, length)),
        solved=max(0.0, first.seconds - second.seconds) if first.solved else 0.0,
    )


@dataclass(frozen=True)
class Rated:
    """The cost of a rating."""

    seconds: float = 0.0
    opponents: int = 0
    solved: bool = False
    """Whether it counted mistakes on solved positions."""


def _rate(trainer: Trainer[Any]) -> Rated:
    began = time.perf_counter()
    numbers = trainer.rate()
    return Rated(
        time.perf_counter() - began,
        sum(name.startswith("rating.score.") for name in numbers),
        any(name.startswith("rating.mistakes") for name in numbers),
    )


def _shortened(config: TrainingConfig, length: float, positions: int) -> TrainingConfig:
    """The settings of the rehearsal."""
    dealt = _plies_of_chance(config.game.spec.first(), config.selfplay.max_plies)
    games = config.selfplay.games if positions else min(GAMES, config.selfplay.games)
    changes: dict[str, Any] = {"games": games, "max_plies": dealt + PLIES}
    each = PLIES if config.run.algorithm == "alphazero" else 2  # whole games, or rounds of moves
    changes["positions"] = positions or each * games
    if not config.game.spec.is_gymnasium:
        depth = min(PLIES // 2, max(1, int(length / 2)))  # a game at its limit is not searched
        changes |= {"opening_share": 0.5, "opening_plies": depth}
    arena = {"every": 1, "games": RATED, "max_plies": dealt + RATED_PLIES, "gate": None}
    return config.replace(
        run=config.run.replace(steps=1, minutes=None),
        selfplay=config.selfplay.replace(**changes),
        arena=config.arena.replace(**arena),
        learner=config.learner.replace(games=()),  # not read twice
    )


def _plies_of_chance(state: Game, most: int | None) -> int:
    """Plies before a game's first choice, in which cards are dealt; at most `most`.

    They are played in `state` itself: not every environment can be copied.
    """
    plies = 0
    while not state.is_terminal() and state.is_chance() and (most is None or plies < most):
        state.apply(next(iter(state.chance_outcomes()))[0])
        plies += 1
    return plies


def _play_and_learn(trainer: Trainer[Any]) -> Costs:
    """The costs of self-play and of updates; first calls, which load, do not count."""
    trainer.save(0.0)
    trainer.step += 1
    began = time.perf_counter()
    trainer.play()
    rounds = 1 if time.perf_counter() - began > PATIENCE else ROUNDS
    positions, playing, evaluating, around = 0.0, 0.0, 0.0, 0.0
    counted, skipped = 0, False
    while counted < rounds:
        began = time.perf_counter()
        trainer.save(0.0)
        trainer.step += 1
        numbers = trainer.play(last=counted + 1 == rounds)
        # Skip a step whose games were all played beside those of the last one.
        skipped = not numbers["seconds.network"] and not skipped
        if skipped:
            continue
        counted += 1
        positions += numbers.get("played.positions", numbers["selfplay.positions"])
        playing += numbers["seconds.selfplay"]
        evaluating += numbers["seconds.network"]
        around += time.perf_counter() - began - numbers["seconds.selfplay"]
    each = playing / max(1.0, positions)  # none where the first moves are forced
    # Games that never end leave nothing to learn from: guess.
    update = trainer.config.learner.batch * each / 8
    if trainer.replay.window:
        _update(trainer, 1)
        update = _update(trainer, UPDATES) / UPDATES
    return Costs(
        simulation=each / (trainer.config.search.simulations or 1),
        network=min(1.0, evaluating / playing),
        update=update,
        step=around / rounds,
    )


def _update(trainer: Trainer[Any], updates: int) -> float:
    """Seconds of some updates."""
    rng = random_numbers(trainer.seed, "batches", trainer.step)
    began = time.perf_counter()
    trainer.learner.train(trainer.replay, updates, lambda _: 0.0, rng, trainer.watch)
    return time.perf_counter() - began
