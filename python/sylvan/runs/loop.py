"""The training loop: play, store, learn, rate, save a checkpoint; repeat with the new network.

A step ends with a checkpoint of everything that later steps depend on: networks, optimiser, which
games come next, lengths of the replay's shards, counters. Every random choice of step k is drawn
from (seed, purpose, k), and a game from its number. So a run that is killed at any moment repeats
its last step and ends with the same weights.

    step k:   games  ← self-play with the averaged network of step k - 1 - `selfplay.lag`
              replay ← these games
              network ← updates on batches from the replay; the average follows it
              rating ← of the averaged network, every `arena.every` steps
              checkpoint
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sylvan.errors import RunError
from sylvan.runs.budget import Budget
from sylvan.runs.config import TrainingConfig
from sylvan.runs.interrupts import Interrupts
from sylvan.runs.run import Run, disk_full, locked
from sylvan.runs.watcher import Watcher

if TYPE_CHECKING:
    from sylvan.learning.group import Group
    from sylvan.runs.fit import Fit
    from sylvan.runs.trainer import PlayerOf, Trainer

__all__ = ["Outcome", "train", "trainer_class"]


@dataclass(frozen=True)
class Outcome:
    """How a session of a run ended."""

    run: Run
    step: int
    """Number of finished steps."""
    reason: str
    """`done`, or `interrupted`."""


def train(
    config: TrainingConfig,
    folder: str | PathLike[str],
    *,
    watch: Watcher | None = None,
    start: str | PathLike[str] | None = None,
    fitted: Fit | None = None,
    player: PlayerOf | None = None,
    group: Group | None = None,
) -> Outcome:
    """Start or resume the run in `folder`, until its budget is spent.

    Args:
        config: of the run. When a run is resumed, all settings but `FIXED` may change.
        folder: of the run; created if it does not exist.
        watch: receives all events.
        start: initial network: a file, or another run's folder.
        fitted: how the settings of a new run were chosen; the time it took is part of the budget.
        player: makes what plays the run's leases; default: actors of this machine.
        group: the processes that share the learner's batches; default: this one alone.

    If the run cannot be set up, the folder is left unchanged, or not created.

    :raises RunError: the folder is in use, of another run, damaged or full.
    """
    watch = watch or Watcher()
    path, config = Path(folder), config.resolved()
    created = [each for each in (path, *path.parents) if not each.exists()]
    with locked(path):
        before: TrainingConfig | None = None
        if Run.exists(path):
            run = Run.open(path)
            before = run.config
            for name, change in run.change(config).items():
                watch.message(f"{name}: {change}.")
            run.sweep()
        else:
            run = Run.create(path, config)
            if fitted is not None:
                fitted.save(run.folder)
        with disk_full(run):
            if (done := _already_done(run)) is not None:
                return done
            try:
                trainer = _resumed(
                    run, watch, start, 0.0 if fitted is None else fitted.spent, player, group
                )
            except BaseException:
                _undo(run, before, created)
                raise
            return _train_steps(trainer)


def _undo(run: Run, before: TrainingConfig | None, created: list[Path]) -> None:
    """Restore the folder after a failed set-up: a wrong fixed setting, once saved, would make
    the corrected command fail too.

    :param before: the settings before; None: the run is new.
    :param created: folders that did not exist before, the innermost first.
    """
    with contextlib.suppress(OSError):  # a full disk: the first error is already being reported
        if before is not None:
            if run.config != before:
                run.config = before
                run.save_config()
        elif not run.checkpoints.steps():
            for each in [path for path in run.folder.iterdir() if path.name != "cluster"]:
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            for empty in created:
                empty.rmdir()


def _already_done(run: Run) -> Outcome | None:
    """The outcome, if the budget is spent and the networks are published; loads no network."""
    steps = run.checkpoints.steps()
    try:
        checkpoint = run.checkpoints.read(steps[-1]) if steps else None
    except RunError:
        return None
    if checkpoint is None or checkpoint.plain["loop"]["finished"] != run.budget:
        return None
    made = {
        "best": checkpoint.plain["loop"]["best"]["updates"],
        "last": checkpoint.plain["learner"]["updates_made"],
    }
    published = all(run.published(name) == updates for name, updates in made.items())
    return Outcome(run, checkpoint.step, "done") if published else None


def _resumed(
    run: Run,
    watch: Watcher,
    start: str | PathLike[str] | None,
    spent: float,
    player: PlayerOf | None,
    group: Group | None,
) -> Trainer[Any]:
    """A trainer in the state of the newest checkpoint; a new run first saves one for step 0.

    :param spent: seconds that a new run has already used.
    """
    checkpoint, damaged = run.checkpoints.newest()
    trainer = trainer_class(run)(run, watch, start if checkpoint is None else None, player, group)
    if checkpoint is None:
        trainer.elapsed = spent
        trainer.save(spent)
    else:
        trainer.restore(checkpoint)
        run.metrics.keep(checkpoint.step)
    if changes := run.keep_profile(trainer.profile(), trainer.step):
        watch.message(f"Another evaluation profile than before: {changes}.")
    for text in damaged:
        watch.message(f"{text.rstrip('.')}; resuming from step {trainer.step} instead.")
    for text in trainer.replay.damage:
        watch.message(text)
    trainer.publish(last=bool(trainer.finished))
    return trainer


def trainer_class(run: Run) -> type[Trainer[Any]]:
    """The trainer class of the run's algorithm."""
    if run.config.run.algorithm == "muzero":
        from sylvan.runs.muzero_trainer import MuZeroTrainer

        return MuZeroTrainer
    from sylvan.runs.alphazero_trainer import AlphaZeroTrainer

    return AlphaZeroTrainer


def _train_steps(trainer: Trainer[Any]) -> Outcome:
    """Run steps until the budget is spent or the user stops the run."""
    run, watch, limits = trainer.run, trainer.watch, trainer.config.run
    budget = Budget(limits.steps, limits.minutes, trainer.step, trainer.elapsed)
    watch.run_begin(trainer.config, run.folder, trainer.step, trainer.elapsed)
    reason = "failed"
    try:
        with Interrupts() as interrupts:
            done = trainer.finished == run.budget or budget.spent >= 1.0
            while not (done or interrupts.requested):
                _step(trainer, budget)
                done = trainer.finished == run.budget
        reason = "done" if done else "interrupted"
    except KeyboardInterrupt:  # the step in progress is repeated when the run is resumed
        reason = "interrupted"
    finally:
        trainer.close()
        step = max(run.checkpoints.steps(), default=0)
        watch.run_end(step, reason)
    return Outcome(run, step, reason)


def _step(trainer: Trainer[Any], budget: Budget) -> None:
    """Run one step and save it."""
    watch, begun = trainer.watch, budget.elapsed
    begin, end = budget.ahead()
    trainer.step = budget.step + 1
    watch.step_begin(trainer.step, begin)
    numbers: dict[str, Any] = trainer.play(last=end >= 1.0) | trainer.learn(begin, end)
    length = budget.elapsed - begun
    budget.step_done(length)
    last = end >= 1.0 or budget.spent >= 1.0
    if trainer.rating_is_due(last):
        numbers |= trainer.rate()
        budget.ending = budget.elapsed - begun - length
    if last or budget.spent >= 1.0:  # the rating may have taken the rest of the time
        last, end = True, 1.0
        trainer.finish()
    numbers["seconds.step"] = budget.elapsed - begun
    numbers["run.elapsed"], numbers["run.progress"] = budget.elapsed, end
    trainer.run.metrics.log(trainer.step, **numbers)
    trainer.save(budget.elapsed)
    trainer.publish(last=last or trainer.export_is_due())
    watch.step_end(trainer.step, numbers, end)
