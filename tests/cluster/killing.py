"""Kill processes of a run on a Ray cluster, and compare with the run on one machine.

    python -m tests.cluster.killing FOLDER STEPS ADDRESS [learned]       the driver of a run

A kill begins by freezing a worker (SIGSTOP) that plays a lease: so a lease is certainly under way
when the victim is killed (SIGKILL), and not just finished.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sylvan.cluster.address import ClusterOptions
from sylvan.runs.config import TrainingConfig
from sylvan.runs.figures import run_columns
from sylvan.runs.workers import WorkerTotals
from tests.runs.killing import tiny_learned

KINDS = ("worker", "node", "coordinator", "learner", "driver")

ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}

NODE = {"object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}

HEALTH = {
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 6,
    "health_check_initial_delay_ms": 1000,
}


def config(steps: int) -> TrainingConfig:
    """A small run whose leases take some tenths of a second."""
    settings: dict[str, Any] = {
        "run": {"steps": steps, "seed": 5, "threads": 1, "device": "cpu", "keep": 2},
        "game": {"name": "connect4", "params": {"columns": 5, "rows": 4}},
        "network": {"size": "mlp1x16"},
        "search": {"simulations": 256},
        "selfplay": {"games": 12, "positions": 400, "temperature_plies": 6},
        "learner": {"batch": 32, "samples_per_position": 1.0},
        "replay": {"window_min": 100},
        "arena": {"every": 2, "games": 8, "simulations": 32, "positions": 0},
    }
    return TrainingConfig(**settings)


class War:
    """A run on a cluster of Ray nodes, some of whose processes are killed.

    :param cluster: a `ray.cluster_utils.Cluster`.
    :param kind: `learned` for a MuZero run.
    :param address: as `--cluster` takes it.
    """

    def __init__(
        self,
        cluster: Any,
        folder: Path,
        steps: int,
        seed: int = 0,
        kind: str = "",
        address: str = "auto",
    ) -> None:
        self.cluster, self.folder, self.steps = cluster, folder, steps
        self.given = [address, kind] if kind else [address]
        self.draw = random.Random(seed)
        self.killed: list[tuple[str, str]] = []
        """Kind of each victim, and the lease that was under way."""
        self.recovery: list[float] = []
        """Seconds until a killed worker's lease was done."""
        self.driver = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.cluster.killing", str(self.folder), str(self.steps)]
        command += self.given
        environment = os.environ | ENVIRONMENT | {"RAY_ADDRESS": self.cluster.address}
        with self.folder.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def status(self) -> dict[str, Any]:
        """The newest status; empty before there is one."""
        try:
            found: dict[str, Any] = json.loads(
                (self.folder / "cluster" / "status.json").read_bytes()
            )
        except (FileNotFoundError, ValueError):
            return {}
        return found

    def is_over(self) -> bool:
        """Whether the driver ended by itself."""
        return self.driver.poll() is not None

    def kill(self, kind: str, patience: float = 120.0) -> bool:
        """Kill a process of some kind while a lease is under way; False: the run is over."""
        deadline = time.monotonic() + patience
        while not self.is_over():
            assert time.monotonic() < deadline, f"no lease was under way: {self.status()}"
            frozen = self._freeze()
            if frozen is None:
                time.sleep(0.05)
                continue
            pid, node, lease, status = frozen
            others = {each["name"] for each in status["workers"] if each["pid"] != pid}
            struck = False
            try:
                if kind != "worker" or others:  # one that can play its lease
                    struck = self._strike(kind, pid, node, status)
            finally:
                _signal(pid, signal.SIGCONT)
            if not struck:  # the status is older than the victim, or nobody is left
                time.sleep(0.2)
                continue
            self.killed.append((kind, lease))
            if kind == "worker":
                self.recovery.append(self._recovered(lease))
                now = {each["name"] for each in self.status()["workers"]}
                assert others <= now, f"other workers were disturbed: {others - now}"
            return True
        return False

    def ask_to_leave(self, patience: float = 60.0) -> dict[str, Any]:
        """Send SIGTERM to a worker that plays; return the status in which it is gone."""
        deadline = time.monotonic() + patience
        name = ""
        while time.monotonic() < deadline:
            status = self.status()
            workers = {each["name"]: each for each in status.get("workers", ())}
            if name and name not in workers:
                return status
            playing = [each for each in workers.values() if each["held"]]
            if not name and playing and _signal(playing[0]["pid"], signal.SIGTERM):
                name = playing[0]["name"]
            time.sleep(0.05)
        raise AssertionError(f"no worker plays, or {name} does not leave: {self.status()}")

    def _recovered(self, lease: str) -> float:
        """Seconds until a lease is done: its shard is there, or the learner needs it no more."""
        began = time.monotonic()
        shard = self.folder / "cluster" / "leases" / f"{lease}.shard"
        while not shard.exists() and self.status().get("step", 0) <= int(lease[:7]):
            assert time.monotonic() - began < 60, f"{lease} is not played again"
            time.sleep(0.02)
        return time.monotonic() - began

    def _freeze(self) -> tuple[int, str, str, dict[str, Any]] | None:
        """Freeze a worker that plays: process, node and lease; None: none plays."""
        playing = [worker for worker in self.status().get("workers", ()) if worker["held"]]
        if not playing:
            return None
        worker = self.draw.choice(playing)
        if not _signal(worker["pid"], signal.SIGSTOP):
            return None
        moment = time.time()
        while time.time() < moment + 5:
            status = self.status()
            if status["time"] > moment + 0.2 and "learner" in status:
                same = [each for each in status["workers"] if each["name"] == worker["name"]]
                if same and same[0]["held"]:
                    return worker["pid"], worker["node"], same[0]["held"][0], status
                break
            time.sleep(0.02)
        _signal(worker["pid"], signal.SIGCONT)
        return None

    def _strike(self, kind: str, worker: int, node: str, status: dict[str, Any]) -> bool:
        if kind == "worker":
            return _signal(worker, signal.SIGKILL)
        elif kind == "node":
            own = node.split()[1]
            (victim,) = [each for each in self.cluster.worker_nodes if each.node_id[:8] == own]
            self.cluster.remove_node(victim, allow_graceful=False)
            self.cluster.add_node(num_cpus=2, **NODE)
        elif kind == "driver":
            self.driver.kill()
            self.driver.wait()
            self.driver = self._start()
        else:
            return _signal(status[kind], signal.SIGKILL)
        return True

    def wait(self, patience: float) -> None:
        """Wait until the run is over."""
        assert self.driver.wait(patience) == 0, self.folder.with_suffix(".log").read_text()[-3000:]

    def taken(self) -> tuple[int, int]:
        """Leases and games that the learner took from workers, each step counted once."""
        workers = WorkerTotals(self.folder).workers.values()
        return sum(each["leases"] for each in workers), sum(each["games"] for each in workers)

    def games(self) -> int:
        """Games of the run, as its metrics say."""
        return int(run_columns(self.folder)["selfplay.games"].sum())

    def leases(self) -> int:
        """Leases of the run, as the learner cut them."""
        text = (self.folder / "cluster" / "logs" / "learner.log").read_text()
        found = dict(re.findall(r"step (\d+) has (\d+) leases", text))
        return sum(int(found[str(step)]) for step in range(1, self.steps + 1))


def _signal(pid: int, number: int) -> bool:
    """Send a signal to a process of Ray; False: there is none with this number any more."""
    try:
        if not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::"):
            return False
        os.kill(pid, number)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


def learned(steps: int) -> TrainingConfig:
    """A tiny MuZero run, whose games of later steps begin early, and whose workers reanalyse."""
    found = tiny_learned(steps, "tictactoe")
    replay, selfplay = found.replay.replace(prioritised=False), found.selfplay.replace(lag=1)
    return found.replace(replay=replay, selfplay=selfplay)


def main(folder: str, steps: str, address: str, kind: str = "") -> None:
    from sylvan.cluster.driver import train_on_cluster

    run = (learned if kind else config)(int(steps))
    train_on_cluster(run, folder, ClusterOptions(address, workers=3))


if __name__ == "__main__":
    main(*sys.argv[1:])
