"""The run's folder: create, open, lock, change settings."""

import errno
import os
import subprocess
import sys

import pytest

from sylvan.errors import NetworkError, RunError
from sylvan.evaluators import load_evaluator
from sylvan.evaluators.loading import is_network, network_file
from sylvan.runs.config import TrainingConfig
from sylvan.runs.run import Run, disk_full, locked


def config(**settings):
    return TrainingConfig(**{"game": {"name": "tictactoe"}} | settings)


def test_a_run_is_opened_as_created(tmp_path):
    made = Run.create(tmp_path / "a" / "run", config(run={"seed": 3, "steps": 9}))
    again = Run.open(tmp_path / "a" / "run")
    assert again.config == made.config and again.config.run.seed == 3
    assert again.checkpoints.steps() == [] and Run.exists(tmp_path / "a" / "run")


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="already"):
        Run.create(tmp_path, config())
    assert os.listdir(tmp_path) == ["thesis.tex"]
    with pytest.raises(RunError, match=r"config\.toml"):
        Run.open(tmp_path)


def test_a_run_is_created_where_a_creation_was_killed(tmp_path):
    Run.create(tmp_path / "run", config())
    (tmp_path / "run/config.toml").rename(tmp_path / "run/.config.toml.71.tmp")
    run = Run.create(tmp_path / "run", config())
    assert Run.exists(run.folder) and not list(run.folder.glob(".*.tmp"))


def test_settings_that_cannot_be_read_are_named(tmp_path):
    run = Run.create(tmp_path / "run", config())
    (run.folder / "config.toml").write_text("[run]\nsed = 1\n")
    with pytest.raises(RunError, match=r"config\.toml.*'seed'"):
        Run.open(run.folder)


def test_fixed_settings_cannot_change(tmp_path):
    run = Run.create(tmp_path / "run", config(run={"steps": 9}))
    longer = config(run={"steps": 20}, learner={"learning_rate": 0.5})
    changed = run.change(longer)
    assert changed == {"run.steps": "9 → 20", "learner.learning_rate": "0.002 → 0.5"}
    assert Run.open(run.folder).config == longer
    for other, sentence in (
        (config(game={"name": "connect4"}), r"game\.name.*'tictactoe'.*'connect4'"),
        (config(network={"size": "3x16"}), r"network\.size.*'4x48'.*'3x16'"),
        (config(run={"seed": 4}), r"run\.seed.*0.*4"),
    ):
        with pytest.raises(RunError, match=sentence):
            run.change(other)
    assert Run.open(run.folder).config == longer


def test_half_written_files_of_a_killed_process_are_removed(tmp_path):
    run = Run.create(tmp_path / "run", config())
    (run.networks / "last").mkdir()
    kept = sorted(run.folder.rglob("*"))
    code = (
        "import os; from sylvan.files import write_text\n"
        "os.replace = lambda *_: os.kill(os.getpid(), 9)\n"
        "write_text(%r, 'half')"
    )
    for name in ("config.toml", "networks/last.onnx", "networks/last/dynamics.onnx"):
        subprocess.run([sys.executable, "-c", code % str(run.folder / name)], check=False)
    assert len(sorted(run.folder.rglob("*"))) == len(kept) + 3
    run.sweep()
    assert sorted(run.folder.rglob("*")) == kept


HOLD = """
import sys, time
from pathlib import Path
from sylvan.runs.run import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_cannot_train_one_run(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with (
            pytest.raises(RunError, match=f"process {holder.pid}"),
            locked(tmp_path),
        ):
            pass
    finally:
        holder.kill()  # like a crash, without cleaning up
        holder.communicate()
    with locked(tmp_path):
        pass


def test_a_full_disk_raises_one_sentence(tmp_path):
    run = Run.create(tmp_path / "run", config())
    with (
        pytest.raises(
            RunError,
            match=r"full.*step 0",
        ),
        disk_full(run),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="Input/output"), disk_full(run):
        raise OSError(errno.EIO, "Input/output error")


def test_a_run_is_a_network_by_its_name(tmp_path):
    run = Run.create(tmp_path / "four", config())
    assert is_network(run.folder) and not is_network(tmp_path)
    with pytest.raises(NetworkError, match="no network"):
        load_evaluator(run.folder)
    for name in ("best.onnx", "best.safetensors", "last.onnx"):
        (run.networks / name).touch()
    assert network_file(run.folder) == run.networks / "best.onnx"
    assert network_file(run.folder, "torch") == run.networks / "best.safetensors"
    assert network_file("other.onnx").name == "other.onnx"
