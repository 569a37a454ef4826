"""`sylvan train --cluster local:2` on this machine, and `sylvan cluster status`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sylvan.cluster.coordinator import Coordinator, Rules
from sylvan.cluster.run_files import ClusterFiles
from sylvan.cluster.status import limit_of, read_status
from sylvan.errors import ClusterError
from sylvan.runs.loop import train
from sylvan.settings.file import toml_text
from tests.cluster.killing import ENVIRONMENT
from tests.runs.killing import outcome_of, tiny

SYLVAN = [sys.executable, "-c", "from sylvan.cli import app; app()"]
STEPS = 10


def descendants(pid: int) -> list[int]:
    """A process and all its children's children."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):  # the thread has ended
                found += [int(child) for child in task.read_text().split()]
    return found


def is_of_ray(pid: int) -> bool:
    """Whether a process of Ray has this number."""
    try:
        return b"ray" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def listening_on(pids: list[int]) -> set[str]:
    """The addresses on which some processes listen, in the kernel's notation."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
            except OSError:
                continue
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


# Ray leaves processes and files to the end of the interpreter.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 31 + "1"}


@pytest.mark.slow
def test_two_local_workers_make_the_same_run_and_listen_here_only(tmp_path):
    """The driver is killed after the first step; the same command goes on."""
    pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")
    settings = tmp_path / "tiny.toml"
    settings.write_text(toml_text(tiny(STEPS), "The run of a test."))
    run = tmp_path / "cluster"
    command = [*SYLVAN, "train", "tictactoe", "--run", str(run), "--cluster", "local:2", "--quiet"]
    environment = os.environ | ENVIRONMENT
    command += ["--config", str(settings)]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    while not (run / "checkpoints" / "step-000001" / "state.json").exists():
        assert killed.poll() is None, "the run ended too early"
        time.sleep(0.02)
    processes = descendants(killed.pid)
    killed.kill()
    killed.communicate()
    driver = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    train(tiny(STEPS), tmp_path / "alone")
    addresses: set[str] = set()
    while driver.poll() is None:
        addresses |= listening_on(descendants(driver.pid))
        time.sleep(0.2)
    printed = driver.communicate()[0].decode()
    assert driver.returncode == 0 and f"Done: {STEPS} steps" in printed
    deadline = time.monotonic() + 60
    while any(is_of_ray(pid) for pid in processes):
        assert time.monotonic() < deadline, "processes of the killed run are left"
        time.sleep(0.1)
    assert addresses and addresses <= LOOPBACK
    one, two = outcome_of(tmp_path / "alone", STEPS), outcome_of(run, STEPS)
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    names = {path.name for path in (run / "cluster" / "logs").iterdir()}
    assert {"coordinator.log", "learner.log"} < names and len(names) >= 4
    log = (run / "cluster" / "logs" / "worker-001.log").read_text()
    assert "niceness 10" in log  # the learner has 0
    shown = subprocess.run([*SYLVAN, "cluster", "status", str(run)], capture_output=True, text=True)
    assert "exact mode" in shown.stdout and "worker-001" in shown.stdout
    assert " of 2; together" in shown.stdout
    as_json = subprocess.run(
        [*SYLVAN, "cluster", "status", str(run), "--json"], capture_output=True, text=True
    )
    assert json.loads(as_json.stdout)["counts"]["taken"] >= 4


def test_a_run_without_a_cluster_has_no_status(tmp_path):
    with pytest.raises(ClusterError, match="local:2"):
        read_status(tmp_path)


@pytest.mark.parametrize("shift", [1e6, -1e6, 0.0])
def test_the_age_of_a_status_needs_no_common_clock(shift, tmp_path):
    """The coordinator's clock is another one than the reader's."""
    files = ClusterFiles(tmp_path)
    files.make()
    coordinator = Coordinator(Rules(), time.monotonic)
    files.save_status({"time": time.time() + shift} | coordinator.status())
    assert read_status(tmp_path)["age"] < 5
    before = files.status.stat().st_mtime - 100
    os.utime(files.status, (before, before))
    assert 100 <= read_status(tmp_path)["age"] < 105
    assert "Nothing trains" in read_status(tmp_path)["limit"]
    assert {path.name for path in files.folder.iterdir()} == {"status.json", "logs"}


WORKER = {"held": ["lease"], "paused": 0.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "every worker plays"),
        ({"age": 60.0}, "Nothing trains"),
        ({"workers": [], "problems": []}, "No worker has joined"),
        ({"workers": []}, "the disk is full"),
        ({"workers": [], "refused": {"a": "another card"}}, "another card"),
        ({"workers": [WORKER | {"paused": 3.0}]}, "the disk is full"),
        ({"leases": {"waiting": 0, "under_way": 0, "done": 4}}, "learner"),
        (
            {"leases": {"waiting": 0, "under_way": 1, "done": 3}, "workers": [WORKER]}
            | {"workers": [WORKER, WORKER | {"held": []}, WORKER | {"held": []}]},
            "end of a step",
        ),
    ],
)
def test_what_limits_a_run_is_said(change, words):
    status = {
        "age": 0.1,
        "workers": [WORKER, WORKER],
        "leases": {"waiting": 4, "under_way": 2, "done": 0},
        "refused": {},
        "problems": ["the disk is full"],
    }
    assert words in limit_of(status | change)
