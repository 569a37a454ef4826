"""Copy a run's figures to another program: TensorBoard, Weights & Biases, MLflow, or your own.

A logger has three methods: `open`, `log` and `close`. It is found by name, as an entry point of the
group `sylvan.loggers` (`sylvan.registry`), so that other packages can add theirs.

The metrics file remains the source, and a logger cannot stop a run: if it fails during the run, it
is closed with a warning, and the run goes on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from sylvan import registry
from sylvan.errors import ConfigError
from sylvan.runs.watcher import Numbers, Watcher
from sylvan.settings.file import plain_settings

if TYPE_CHECKING:
    from sylvan.runs.config import TrainingConfig

__all__ = ["Logger", "logger_named"]


class Logger(Watcher):
    """The base class of loggers.

    >>> class Printer(Logger):
    ...     def log(self, step, numbers):
    ...         print(step, numbers)
    >>> Printer().step_end(3, {"step": 3, "loss.policy": 1.5, "rating.elo": math.nan}, 0.1)
    3 {'loss/policy': 1.5}
    """

    failed = False
    """Whether it failed, and receives nothing more."""

    def open(self, folder: Path, settings: Mapping[str, object], step: int) -> None:
        """The run in `folder` starts, or resumes after `step` steps.

        An exception here refuses the run, so that a mistake shows before hours of training.

        :param settings: all settings of the run by name: `selfplay.simulations`.
        """

    def log(self, step: int, numbers: Numbers) -> None:
        """A step is done. `numbers` are its finite figures by name: `loss/policy`."""

    def text(self, text: str) -> None:
        """One sentence for the user."""

    def close(self, reason: str) -> None:
        """The run stops: `done`, `interrupted` or `failed`."""

    @override
    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        settings = {
            f"{section}.{name}": value
            for section, values in plain_settings(config).items()
            for name, value in values.items()
        }
        self.open(folder, settings, step)

    @override
    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        finite = {
            name.replace(".", "/", 1): value
            for name, value in numbers.items()
            if name != "step" and math.isfinite(value)
        }
        self._guarded(lambda: self.log(step, finite))

    @override
    def message(self, text: str) -> None:
        self._guarded(lambda: self.text(text))

    @override
    def run_end(self, step: int, reason: str) -> None:
        self._guarded(lambda: self.close(reason))

    def _guarded(self, call: Callable[[], None]) -> None:
        if self.failed:
            return
        try:
            call()
        except Exception as error:
            self.failed = True
            warnings.warn(
                f"{type(self).__name__} receives no more figures of this run, because it failed: "
                f"{error} The run goes on; its figures are in metrics.jsonl.",
                RuntimeWarning,
                stacklevel=3,
            )


def logger_named(name: str) -> Logger:
    """Make the logger with this name: `tensorboard`, `wandb`, `mlflow`, or another package's.

    :raises ConfigError: there is no such logger.
    :raises MissingExtra: the program's package is not installed.
    """
    make: Callable[[], Logger] | None = registry.find("loggers", name)
    if make is None:
        names = ", ".join(sorted(registry.names("loggers")))
        raise ConfigError(f"There is no logger {name!r}: give one of {names}.")
    return make()
