"""TensorBoard, Weights & Biases and MLflow get every finite figure of every step, once."""

import math
import sqlite3
import struct
import sys

import pytest

from sylvan import registry
from sylvan.errors import ConfigError, MissingExtra
from sylvan.runs.config import TrainingConfig
from sylvan.runs.logger import Logger, logger_named
from sylvan.runs.presets import preset_settings

CONFIG = TrainingConfig(**preset_settings("tictactoe", "cpu"))


class Kept(Logger):
    """Keeps what it is given, and fails at step 3 if asked to."""

    def __init__(self, *, fails=False):
        self.steps, self.closed, self.fails = {}, [], fails

    def open(self, folder, settings, step):
        self.settings = settings

    def log(self, step, numbers):
        if self.fails and step == 3:
            raise OSError("no route to host")
        self.steps[step] = numbers

    def close(self, reason):
        self.closed.append(reason)


def session(logger, folder, first, last, *, offset=0.0, reason="done"):
    """A session of a run: steps `first` to `last`, whose policy loss is `offset` + step."""
    logger.run_begin(CONFIG, folder, first - 1, 0.0)
    for step in range(first, last + 1):
        numbers = {"step": step, "loss.policy": offset + step, "rating.elo": math.nan}
        logger.step_end(step, numbers, step / 10)
    logger.run_end(last, reason)


def test_a_logger_gets_settings_and_finite_figures(tmp_path):
    kept = Kept()
    session(kept, tmp_path, 1, 2)
    assert kept.steps == {1: {"loss/policy": 1}, 2: {"loss/policy": 2}}
    assert kept.settings["game.name"] == "tictactoe"
    assert kept.settings["run.steps"] == CONFIG.run.steps
    assert kept.closed == ["done"]


def test_a_logger_that_fails_does_not_stop_the_run(tmp_path):
    kept = Kept(fails=True)
    with pytest.warns(RuntimeWarning, match="no route to host"):
        session(kept, tmp_path, 1, 5)
    assert kept.failed and list(kept.steps) == [1, 2] and kept.closed == []


@pytest.mark.parametrize(
    ("name", "module"),
    [("tensorboard", "torch.utils.tensorboard"), ("wandb", "wandb"), ("mlflow", "mlflow")],
)
def test_without_its_package_the_error_names_the_extra(monkeypatch, name, module):
    extra = {"tensorboard": "train"}.get(name, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"sylvan\[{extra}\]"):
        logger_named(name)


def test_an_unknown_logger_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'tensorbord'.*mlflow, tensorboard, wandb"):
        logger_named("tensorbord")


def test_another_package_may_add_one(monkeypatch):
    monkeypatch.setattr(
        registry, "find", lambda group, name: {("loggers", "mine"): Kept}[group, name]
    )
    assert isinstance(logger_named("mine"), Kept)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from TensorBoard's reader
def test_tensorboard_has_every_step_once(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from sylvan.runs.tensorboard import FOLDER

    session(logger_named("tensorboard"), tmp_path, 1, 5)
    session(logger_named("tensorboard"), tmp_path, 4, 6, offset=100.0)  # resumed from step 3
    events = EventAccumulator(str(tmp_path / FOLDER))
    events.Reload()
    assert events.Tags()["scalars"] == ["loss/policy"]  # no point for NaN, no curve for the step
    found = [(each.step, each.value) for each in events.Scalars("loss/policy")]
    assert found == [(1, 1), (2, 2), (3, 3), (4, 104), (5, 105), (6, 106)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MLflow's own
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
def test_mlflow_has_every_step_once(tmp_path, monkeypatch):
    """Read back from its database without MLflow."""
    pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    folder = tmp_path / "four"
    folder.mkdir()
    session(logger_named("mlflow"), folder, 1, 5, reason="interrupted")
    session(logger_named("mlflow"), folder, 4, 6, offset=100.0)  # resumed from step 3
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        points = database.execute("select key, step, value from metrics order by key, step")
        assert [row[1:] for row in points if row[0] == "loss/policy"] == [
            (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 106)
        ]  # fmt: skip
        (run,) = database.execute("select name, status from runs")
        assert run == ("four", "FINISHED")
        assert database.execute("select name from experiments where name = 'sylvan'").fetchall()
        parameters = dict(database.execute("select key, value from params"))
        assert parameters["game.name"] == "tictactoe"
    database.close()


@pytest.mark.slow
def test_wandb_has_every_step(tmp_path, monkeypatch):
    """Read back from the files that `wandb sync` sends."""
    wandb = pytest.importorskip("wandb", reason="the extra wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    folder = tmp_path / "four"
    folder.mkdir()
    session(logger_named("wandb"), folder, 1, 5, reason="interrupted")
    session(logger_named("wandb"), folder, 6, 7)
    wandb.teardown()  # waits until its process has written everything, as the end of ours does
    found, runs = wandb_history(folder)
    assert found == [(step, step) for step in range(1, 8)]
    assert len(runs) == 1 and runs == {(folder / "wandb-run-id").read_text()}


def wandb_history(folder):
    """The steps and policy losses in the offline files of a run's folder, and the runs' names."""
    from wandb.proto import wandb_internal_pb2

    found, runs = [], set()
    for path in sorted((folder / "wandb").glob("offline-run-*/*.wandb")):
        for data in leveldb_records(path.read_bytes()[7:]):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.HasField("run"):
                runs.add(record.run.run_id)
            items = {".".join(i.nested_key) or i.key: i.value_json for i in record.history.item}
            if "loss/policy" in items:
                found.append((int(items["_step"]), float(items["loss/policy"])))
    return found, runs


def leveldb_records(data, block=32768, header=7):
    """The records of a LevelDB log, the format of W&B's files after their first seven bytes.

    A record is in one part, or in a first, middle ones and a last. No part crosses a block.
    """
    at, record = 0, b""
    whole, first, _, last = range(1, 5)
    while at + header <= len(data):
        if (room := block - (at + header) % block) < header:  # the file's own header counts
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + header : at + header + length]
        record = part if kind in (whole, first) else record + part
        at += header + length
        if kind in (whole, last):
            yield record
