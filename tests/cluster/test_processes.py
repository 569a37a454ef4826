"""The processes of a cluster without Ray's part: what they do when the run's folder fails."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest

import sylvan.cluster.run_files as run_files
from sylvan.cluster.coordinator import Arrivals, Report, Rules
from sylvan.cluster.lease import Lease
from sylvan.cluster.profile import WorkerFacts
from sylvan.errors import ClusterError
from tests.cluster.simulation import PROBE

pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")
from ray.exceptions import GetTimeoutError, RayActorError

from sylvan.cluster import driver, ray_actors
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


def started(run: Path, storage: str | None = None) -> CoordinatorProcess:
    process = CoordinatorProcess(run, storage, Rules())
    process.begin()
    return process


def joined(process: CoordinatorProcess) -> None:
    assert process.join(WorkerFacts("worker", "node", 1, "1/1", {})).known
    assert process.prove("worker", b"answers").known


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.ENOENT])
def test_a_folder_that_cannot_be_written_disturbs_nobody(number, tmp_path, monkeypatch):
    """Workers get their leases, and the plan is written when it can be."""
    process = started(tmp_path)
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
    first = started(run)
    first.submit([LEASE], 1, PROBE)
    first._lock.close()  # it dies
    run.rename(away)
    monkeypatch.setattr(ray_actors, "_was_restarted", lambda: True)
    monkeypatch.setattr(ray_actors, "RETRY", 0.05)
    timer = threading.Timer(0.3, away.rename, [run])
    timer.start()
    began = time.monotonic()
    again = CoordinatorProcess(run, None, Rules())  # Ray restarts it
    timer.join()
    assert time.monotonic() - began >= 0.3
    joined(again)
    assert again.exchange("worker", Report(free=1)).leases == (LEASE,)


def test_a_second_coordinator_is_refused_and_disturbs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_actors, "DYING", 0.2)
    first = started(tmp_path)
    first.submit([LEASE], 1, PROBE)
    with pytest.raises(ClusterError, match="coordinator already"):
        started(tmp_path)
    joined(first)
    assert first.exchange("worker", Report(free=1)).leases == (LEASE,)
    first._lock.close()  # it ends
    last = started(tmp_path)
    joined(last)
    assert last.exchange("worker", Report(free=1)).leases == (LEASE,)


def test_a_folder_that_was_never_there_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        started(tmp_path / "unmounted")
    assert not (tmp_path / "unmounted").exists()


def test_a_split_from_the_coordinator_is_waited_for(monkeypatch):
    """The learner asks again until there is an answer; a worker goes on playing meanwhile."""
    answers = [GetTimeoutError(), RayActorError(), (Arrivals("life", 1), ["news"])]

    def get(reference, timeout):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ray_actors.ray, "get", get)
    link = ray_actors._LearnerLink(MagicMock())
    assert link.collect("", 0) == Arrivals("life", 1)
    assert link.news() == ["news"] and link.news() == []
    answers[:] = [GetTimeoutError(), None]
    link.note(learner=1)
    assert not answers
    answers[:] = [GetTimeoutError()] * 2
    with pytest.raises(ConnectionError):
        ray_actors._WorkerLink(MagicMock()).probe()
    monkeypatch.setattr(ray_actors, "LEARNER_PATIENCE", -1.0)
    with pytest.raises(ClusterError, match="GetTimeoutError"):
        link.collect("", 0)


def test_a_worker_that_cannot_start_is_started_more_and_more_rarely():
    restarts, now, pauses = driver.Restarts(), 1000.0, []
    for _ in range(10):
        restarts.began = now
        pauses.append(restarts.pause(now + 1))
        now += 1 + pauses[-1]
    assert pauses[:3] == [0.5, 1.0, 2.0] and pauses[-1] == driver.REFUSED_PAUSE
    assert not restarts.is_hopeless  # its process died
    restarts.fault = "KeyError"
    assert restarts.is_hopeless
    restarts.began = now
    assert restarts.pause(now + 1000) == 0.5
    assert not restarts.is_hopeless


def test_a_crash_of_native_code_is_in_the_log(tmp_path):
    program = (
        "import faulthandler, os, pathlib, sys; from sylvan.cluster.run_files import ClusterFiles;"
        "files = ClusterFiles(pathlib.Path(sys.argv[1])); files.log_to_file('worker-000');"
        "files.stderr_to_file('worker-000'); faulthandler.enable(); os.abort()"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True)
    assert ended.returncode != 0 and ended.stderr == b""
    text = (tmp_path / "cluster" / "logs" / "worker-000.log").read_text()
    assert "Aborted" in text and "process " in text


def test_a_new_session_removes_leftovers_and_long_logs(tmp_path, monkeypatch):
    monkeypatch.setattr(run_files, "LOG_BYTES", 100)
    storage, logs = tmp_path / "storage", tmp_path / "run" / "cluster" / "logs"
    logs.mkdir(parents=True)
    (storage / "leases").mkdir(parents=True)
    leftover = storage / "leases" / f".{LEASE.name}.shard.123.tmp"
    for path in (leftover, logs / "worker-000.log", logs / "worker-001.log"):
        path.write_bytes(bytes(200 if "000" in path.name else 50))
    started(tmp_path / "run", str(storage))
    assert not leftover.exists()
    assert {path.name for path in logs.iterdir()} == {"coordinator.log", "worker-001.log"}
