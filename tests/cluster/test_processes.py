"""The processes of a cluster without Ray's part: what they do when the run's folder fails."""

from __future__ import annotations

import errno
import logging
import threading
import time
from pathlib import Path

import pytest

import sylvan.cluster.run_files as run_files
from sylvan.cluster.coordinator import Report, Rules
from sylvan.cluster.lease import Lease
from sylvan.cluster.profile import WorkerFacts
from tests.cluster.simulation import PROBE

pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")
from sylvan.cluster import ray_actors
from sylvan.cluster.ray_actors import CoordinatorProcess

LEASE = Lease("run", 1, 0, 8, "network", "settings")


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Each call writes the status."""
    monkeypatch.setattr(ray_actors, "STATUS_INTERVAL", -1.0)
    yield
    for handler in logging.getLogger("sylvan").handlers[:]:
        if isinstance(handler, logging.FileHandler):
            logging.getLogger("sylvan").removeHandler(handler)
            handler.close()


def joined(process: CoordinatorProcess) -> None:
    assert process.join(WorkerFacts("worker", "node", 1, "1/1", {})).known
    assert process.prove("worker", b"answers").known


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.ENOENT])
def test_a_folder_that_cannot_be_written_disturbs_nobody(number, tmp_path, monkeypatch):
    """Workers get their leases, and the plan is written when it can be."""
    process = CoordinatorProcess(tmp_path, None, Rules())
    write, broken = run_files.write_bytes, [True]

    def failing(path: Path, data: bytes) -> None:
        if broken:
            raise OSError(number, "the folder fails", str(path))
        write(path, data)

    monkeypatch.setattr(run_files, "write_bytes", failing)
    process.submit([LEASE], 1, PROBE)
    joined(process)
    assert process.exchange("worker", Report(free=1)).leases == (LEASE,)
    (problem,) = process.collect("", 0)[1]
    assert "the folder fails" in problem
    assert not (tmp_path / "cluster" / "plan.json").exists()
    broken.clear()
    process.exchange("worker", Report((LEASE.name,)))
    assert LEASE.network in (tmp_path / "cluster" / "plan.json").read_text()
    assert process.files.status.exists()


def test_a_restarted_coordinator_waits_for_its_folder(tmp_path, monkeypatch):
    run, away = tmp_path / "run", tmp_path / "away"
    run.mkdir()
    first = CoordinatorProcess(run, None, Rules())
    first.submit([LEASE], 1, PROBE)
    first._lock.close()  # it dies
    run.rename(away)
    monkeypatch.setattr(ray_actors, "_was_restarted", lambda: True)
    monkeypatch.setattr(ray_actors, "RETRY", 0.05)
    timer = threading.Timer(0.3, away.rename, [run])
    timer.start()
    began = time.monotonic()
    again = CoordinatorProcess(run, None, Rules())
    timer.join()
    assert time.monotonic() - began >= 0.3
    joined(again)
    assert again.exchange("worker", Report(free=1)).leases == (LEASE,)


def test_a_folder_that_was_never_there_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        CoordinatorProcess(tmp_path / "unmounted", None, Rules())
    assert not (tmp_path / "unmounted").exists()
