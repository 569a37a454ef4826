"""The loop: play, remember, learn, rate, and make it safe; then again with the better network.

A step ends at a boundary, where everything the rest of the run depends on is in its checkpoint:
networks, optimiser, games in progress, how long the shards of the replay are, counters. No tree and
no cache lives across it, and every random choice of step k follows from (seed, purpose, k). So a
run that is killed anywhere does its last step again and ends with the same weights.

    step k:   games  ← self-play with the averaged network, until enough positions were searched
              replay ← the games that ended
              network ← updates on batches of the replay; the average follows it
              rating ← every so many steps, of the averaged network
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
    from sylvan.runs.trainer import Trainer

__all__ = ["Outcome", "train"]


@dataclass(frozen=True)
class Outcome:
    """How a sitting ended."""

    run: Run
    step: int
    """Steps that are done."""
    reason: str
    """`done`, or `interrupted`."""


def train(
    config: TrainingConfig,
    folder: str | PathLike[str],
    *,
    watch: Watcher | None = None,
    start: str | PathLike[str] | None = None,
) -> Outcome:
    """Begin the run in `folder`, or go on with it, until its budget is spent.

    Args:
        config: of the run. One that goes on may differ from what it was, except in what is fixed.
        folder: of the run; made if it is not there.
        watch: hears of everything as it happens.
        start: begin with this network: a file, or another run's folder.

    What cannot be trained leaves the folder as it was, and none where there was none.

    :raises RunError: the folder is in use, of another run, damaged or full.
    """
    watch = watch or Watcher()
    path, config = Path(folder), config.resolved()
    missing = [each for each in (path, *path.parents) if not each.exists()]
    with locked(path):
        before: TrainingConfig | None = None
        if Run.exists(path):
            run = Run.open(path)
            before = run.config
            for name, change in run.change(config).items():
                watch.message(f"{name}: {change}.")
        else:
            run = Run.create(path, config)
        with disk_full(run):
            if (done := _already_done(run)) is not None:
                return done
            try:
                trainer = _resumed(run, watch, start)
            except BaseException:
                _take_back(run, before, missing)
                raise
            return _sitting(trainer)


def _take_back(run: Run, before: TrainingConfig | None, missing: list[Path]) -> None:
    """Leave a run as it was, where its parts cannot be made: a wrong setting that stayed would
    refuse the command that has it right.

    :param before: what it was set to; None: it is new.
    :param missing: folders that are there for this run alone, the innermost first.
    """
    with contextlib.suppress(OSError):  # a full disk: what has gone wrong is said already
        if before is not None:
            if run.config != before:
                run.config = before
                run.save_config()
        elif not run.checkpoints.steps():
            for each in run.folder.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            for empty in missing:
                empty.rmdir()


def _already_done(run: Run) -> Outcome | None:
    """How a run ended whose budget is spent and whose networks are there; nothing is loaded."""
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


def _resumed(run: Run, watch: Watcher, start: str | PathLike[str] | None) -> Trainer:
    """The run at its last boundary; a new one has its first before the first step."""
    run.checkpoints.sweep()
    checkpoint, complaints = run.checkpoints.newest()
    trainer = _trainer(run)(run, watch, start if checkpoint is None else None)
    if checkpoint is None:
        trainer.save(0.0)
    else:
        trainer.restore(checkpoint)
        run.metrics.keep(checkpoint.step)
    for complaint in complaints:
        watch.message(f"{complaint.rstrip('.')}; going on from step {trainer.step} instead.")
    for damage in trainer.replay.damage:
        watch.message(damage)
    trainer.publish(last=bool(trainer.finished))
    return trainer


def _trainer(run: Run) -> type[Trainer]:
    """What joins the parts of a run's algorithm."""
    if run.config.run.algorithm == "muzero":
        from sylvan.runs.muzero_trainer import MuZeroTrainer

        return MuZeroTrainer
    from sylvan.runs.trainer import Trainer

    return Trainer


def _sitting(trainer: Trainer) -> Outcome:
    """Steps until the budget is spent or somebody wants to stop."""
    run, watch, limits = trainer.run, trainer.watch, trainer.config.run
    budget = Budget(limits.steps, limits.minutes, trainer.step, trainer.elapsed)
    watch.run_begin(trainer.config, run.folder, trainer.step, trainer.elapsed)
    reason = "failed"

    def asked() -> None:
        watch.message(
            f"Stopping at the end of step {budget.step + 1}; Ctrl-C again stops at once, and that "
            "step is then done again when the run goes on."
        )

    try:
        with Interrupts(asked) as interrupts:
            done = trainer.finished == run.budget or budget.spent >= 1.0
            while not (done or interrupts.requested):
                _step(trainer, budget)
                done = trainer.finished == run.budget
        reason = "done" if done else "interrupted"
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        watch.run_end(budget.step, reason)
    return Outcome(run, budget.step, reason)


def _step(trainer: Trainer, budget: Budget) -> None:
    """One step, from boundary to boundary."""
    watch, begun = trainer.watch, budget.elapsed
    begin, end = budget.ahead()
    trainer.step = budget.step + 1
    watch.step_begin(trainer.step, begin)
    numbers: dict[str, Any] = trainer.play() | trainer.learn(begin, end)
    length = budget.elapsed - begun
    budget.step_done(length)
    last = end >= 1.0 or budget.spent >= 1.0
    if trainer.rating_is_due(last):
        numbers |= trainer.rate()
        budget.ending = budget.elapsed - begun - length
    if last or budget.spent >= 1.0:  # a rating may take the rest of the time
        last, end = True, 1.0
        trainer.finish()
    numbers["seconds.step"] = budget.elapsed - begun
    numbers["run.elapsed"], numbers["run.progress"] = budget.elapsed, end
    trainer.run.metrics.log(trainer.step, **numbers)
    trainer.save(budget.elapsed)
    trainer.publish(last=last or trainer.export_is_due())
    watch.step_end(trainer.step, numbers, end)
