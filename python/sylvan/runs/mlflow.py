"""Copy a run's figures to MLflow.

Its own environment variables say where: `MLFLOW_TRACKING_URI`, a server or a database (default: the
file `mlflow.db` in the current folder), and `MLFLOW_EXPERIMENT_NAME` (default `sylvan`).

A resumed run continues the same run there. MLflow keeps every point, so steps that it has already
are not sent again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from sylvan.errors import MissingExtra, RunError
from sylvan.files import write_text
from sylvan.runs.logger import Logger
from sylvan.runs.watcher import Numbers

__all__ = ["RUN_ID", "MLflow"]

RUN_ID = "mlflow-run-id"
"""The file in a run's folder that names the run there."""

STATUS = {"done": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}

LAST_STEP = "run/last_step"
"""A metric that every step has: the step itself, so that its newest value is the last step."""


class MLflow(Logger):
    """Logs every step to a run of MLflow, with the settings as its parameters.

    :raises MissingExtra: `mlflow` is not installed.
    """

    def __init__(self) -> None:
        try:
            from mlflow import MlflowClient
        except ImportError:
            raise MissingExtra.named("MLflow is not installed", "mlflow") from None
        self._make_client = MlflowClient
        self._run_id = ""

    @override
    def open(self, folder: Path, settings: Mapping[str, object], step: int) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self._client = self._make_client()
            self._run_id, self._last_step = self._resumed(folder) or self._started(folder, settings)
        except MlflowException as error:
            raise RunError(f"MLflow does not start: {error}") from error

    @override
    def log(self, step: int, numbers: Numbers) -> None:
        from mlflow.entities import Metric

        if step <= self._last_step:
            return
        now = int(time.time() * 1000)
        points = {**numbers, LAST_STEP: step}
        self._client.log_batch(
            self._run_id, [Metric(name, float(value), now, step) for name, value in points.items()]
        )
        self._last_step = step

    @override
    def close(self, reason: str) -> None:
        if self._run_id:
            self._client.set_terminated(self._run_id, STATUS[reason])
            self._run_id = ""

    def _resumed(self, folder: Path) -> tuple[str, int] | None:
        """The run that an earlier session logged to, and its last step; None if there is none."""
        from mlflow.exceptions import MlflowException

        path = folder / RUN_ID
        if not path.is_file():
            return None
        try:
            run = self._client.get_run(path.read_text().strip())
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None  # it is on another server: start one here
        self._client.update_run(run.info.run_id, status="RUNNING")
        return run.info.run_id, int(run.data.metrics.get(LAST_STEP, 0))

    def _started(self, folder: Path, settings: Mapping[str, object]) -> tuple[str, int]:
        from mlflow.entities import Param

        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "sylvan")
        experiment = self._client.get_experiment_by_name(name)
        where = experiment.experiment_id if experiment else self._client.create_experiment(name)
        run = self._client.create_run(where, run_name=folder.resolve().name)
        parameters = [Param(name, str(value)) for name, value in settings.items()]
        for first in range(0, len(parameters), 100):  # as many as a request may have
            self._client.log_batch(run.info.run_id, params=parameters[first : first + 100])
        write_text(folder / RUN_ID, run.info.run_id)
        return run.info.run_id, 0
