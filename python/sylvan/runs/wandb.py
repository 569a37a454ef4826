"""Copy a run's figures to Weights & Biases.

Its own environment variables say where: `WANDB_PROJECT` (default `sylvan`), `WANDB_ENTITY`,
`WANDB_API_KEY`; `WANDB_MODE=offline` writes to `wandb/` in the run's folder, for `wandb sync`.

A resumed run continues the same run there. The server ignores steps that it has already.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from sylvan.errors import MissingExtra, RunError
from sylvan.files import write_text
from sylvan.runs.logger import Logger
from sylvan.runs.watcher import Numbers

__all__ = ["RUN_ID", "WandB"]

RUN_ID = "wandb-run-id"
"""The file in a run's folder that names the run there."""


class WandB(Logger):
    """Logs every step to a run of Weights & Biases, with the settings as its configuration.

    :raises MissingExtra: `wandb` is not installed.
    """

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtra.named("Weights & Biases is not installed", "wandb") from None
        self._wandb = wandb
        self._run: Any = None

    @override
    def open(self, folder: Path, settings: Mapping[str, object], step: int) -> None:
        try:
            self._run = self._wandb.init(
                project=os.environ.get("WANDB_PROJECT", "sylvan"),
                id=_run_id(folder),
                name=folder.resolve().name,
                dir=folder,
                config=dict(settings),
                resume="allow",
                settings=self._wandb.Settings(console="off"),  # the live view is no log
            )
        except self._wandb.Error as error:
            raise RunError(
                f"Weights & Biases does not start: {error} Log in with `wandb login`, or set "
                "WANDB_MODE=offline."
            ) from error

    @override
    def log(self, step: int, numbers: Numbers) -> None:
        self._run.log(dict(numbers), step=step)

    @override
    def close(self, reason: str) -> None:
        if self._run is not None:
            self._run.finish(exit_code=int(reason == "failed"))
            self._run = None


def _run_id(folder: Path) -> str:
    """The identifier of the folder's run, made when it is first logged."""
    path = folder / RUN_ID
    if not path.is_file():
        write_text(path, uuid.uuid4().hex[:12])
    return path.read_text().strip()
