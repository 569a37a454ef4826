"""Checkpoints are written atomically; damaged ones are detected and renamed."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import RunError
from sylvan.games import TicTacToe
from sylvan.networks import NetworkHeader
from sylvan.runs.checkpoints import CheckpointFolder, NetworkState

HEADER = NetworkHeader.for_game(TicTacToe(), architecture={"name": "none"})


def network(number: float) -> NetworkState:
    return NetworkState(HEADER, {"weight": np.full((2, 3), number, np.float32)})


def save(folder: CheckpointFolder, step: int) -> Path:
    parts = {
        "learner": {
            "momentum": np.arange(step, dtype=np.float64),
            "updates": 10 * step,
            "n": np.float32(7)[...],
        },
        "selfplay": {"games": [{"seed": 2**63, "actions": [1, 2]}], "empty": np.zeros((0, 3))},
        "replay": {"shards": {"a.shard": 123}, "share": 0.1},
    }
    return folder.save(step, 1.5 * step, {"network": network(step)}, parts)


@pytest.fixture
def folder(tmp_path):
    return CheckpointFolder(tmp_path / "checkpoints")


def test_a_saved_checkpoint_is_read_back(folder):
    save(folder, 3)
    found, complaints = folder.newest()
    assert found is not None and complaints == []
    assert (found.step, found.elapsed) == (3, 4.5)
    assert found.network("network").header == HEADER
    assert (found.network("network").tensors["weight"] == 3).all()
    learner = found.part("learner")
    assert learner["momentum"].dtype == np.float64 and learner["momentum"].tolist() == [0, 1, 2]
    assert learner["updates"] == 30 and learner["n"].shape == () and learner["n"] == 7
    selfplay = found.part("selfplay")
    assert selfplay["games"] == [{"seed": 2**63, "actions": [1, 2]}]
    assert selfplay["empty"].shape == (0, 3)
    assert found.part("replay") == {"shards": {"a.shard": 123}, "share": 0.1}
    assert found.part("nothing") == {}


def test_the_newest_is_found_and_old_ones_are_removed(folder):
    for step in (1, 2, 10):
        save(folder, step)
    folder.keep({2, 10})
    assert folder.steps() == [2, 10]
    found, _ = folder.newest()
    assert found is not None and found.step == 10


def test_an_empty_folder_has_none(folder):
    assert folder.newest() == (None, [])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip(path / "network.safetensors"),
        lambda path: flip(path / "learner.safetensors"),
        lambda path: flip(path / "state.json"),
        lambda path: (path / "state.json").write_bytes(b""),
        lambda path: (path / "state.json").write_text("[]"),
        lambda path: (path / "state.json").unlink(),
        lambda path: (path / "selfplay.safetensors").unlink(),
        lambda path: os.truncate(path / "learner.safetensors", 9),
    ],
)
def test_a_damaged_checkpoint_is_renamed_and_the_previous_one_is_used(folder, damage):
    save(folder, 1)
    damage(save(folder, 2))
    found, complaints = folder.newest()
    assert found is not None and found.step == 1
    assert len(complaints) == 1 and "step-000002 is damaged" in complaints[0]
    assert folder.steps() == [1] and folder.path(2).with_suffix(".damaged").is_dir()
    save(folder, 2)
    again, complaints = folder.newest()
    assert again is not None and again.step == 2 and complaints == []


def test_a_folder_of_damaged_checkpoints_raises(folder):
    (save(folder, 1) / "state.json").unlink()
    with pytest.raises(RunError, match="checkpoint"):
        folder.newest()


def test_a_change_of_any_byte_is_detected(folder):
    """A change of any single byte of any file is detected."""
    path = save(folder, 1)
    rng = np.random.default_rng(0)
    for file in path.iterdir():
        whole = file.read_bytes()
        for place in rng.integers(0, len(whole), 20):
            data = bytearray(whole)
            data[place] ^= 1 << rng.integers(0, 7)
            file.write_bytes(data)
            with pytest.raises(RunError, match="damaged"):
                folder.read(1)
        file.write_bytes(whole)
    assert folder.read(1).step == 1


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_full_disk_keeps_older_checkpoints(folder, monkeypatch, call):
    save(folder, 1)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        save(folder, 2)
    monkeypatch.undo()
    assert [path.name for path in folder.folder.iterdir()] == ["step-000001"]
    found, complaints = folder.newest()
    assert found is not None and found.step == 1 and complaints == []


def test_leftovers_of_a_killed_process_are_removed(folder):
    save(folder, 1)
    for name in (".step-000002.tmp", ".step-000000.old"):
        (folder.folder / name).mkdir()
        (folder.folder / name / "state.json").write_text("{")
    assert folder.steps() == [1]
    folder.sweep()
    assert [path.name for path in folder.folder.iterdir()] == ["step-000001"]


def test_a_later_format_is_refused(folder, monkeypatch):
    monkeypatch.setattr("sylvan.runs.checkpoints.FORMAT", 2)
    save(folder, 1)
    monkeypatch.undo()
    with pytest.raises(RunError, match=r"format 2.*1"):
        folder.read(1)
