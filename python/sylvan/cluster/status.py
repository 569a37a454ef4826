"""The state of a cluster's run, in words and tables.

The coordinator writes it to the run's folder, so it can be read anywhere and without Ray.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sylvan.cluster.run_files import ClusterFiles
from sylvan.errors import ClusterError

__all__ = ["limit_of", "read_status", "worker_rows"]

RECENT = 10.0
"""Seconds after which a status is old: nothing trains the run."""


def read_status(run: Path) -> dict[str, Any]:
    """The newest status of a run.

    :raises ClusterError: the run was never trained on a cluster.
    """
    files = ClusterFiles(run)
    try:
        status: dict[str, Any] = json.loads(files.status.read_bytes())
    except FileNotFoundError:
        raise ClusterError(
            f"{run} was not trained on a cluster: start it with `sylvan train ... --cluster "
            "local:2`."
        ) from None
    status["age"] = files.age()
    status["limit"] = limit_of(status)
    return status


def limit_of(status: dict[str, Any]) -> str:
    """The limit of the run's speed, in a sentence."""
    workers, leases = status["workers"], status["leases"]
    if status.get("age", 0.0) > RECENT:
        return "Nothing trains the run now: run `sylvan train` with the same folder to go on."
    if not workers:
        refused = status["refused"]
        if refused:
            return f"All workers are refused: {next(reversed(refused.values()))}"
        if status["problems"]:
            return f"No worker plays: {status['problems'][-1]}"
        return "No worker has joined yet: they are starting, or the cluster has no room for them."
    if all(worker["paused"] > 0 for worker in workers):
        return f"Every worker fails and waits: {status['problems'][-1]}"
    if not leases["waiting"] and not leases["under_way"]:
        return "The learner: all games that it asked for are played."
    held = sum(len(worker["held"]) for worker in workers)
    if not leases["waiting"] and held < len(workers):
        return (
            "The end of a step: few leases are left and most workers wait; a larger "
            "selfplay.positions or selfplay.lag gives them work."
        )
    return "Self-play: every worker plays; more workers would play more games."


def worker_rows(status: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row per worker: name, node, state, leases, positions, positions per second."""
    rows: list[tuple[str, ...]] = []
    for worker in status["workers"]:
        state = "plays" if worker["held"] else "waits"
        if worker["paused"] > 0:
            state = f"paused {worker['paused']:.0f} s"
        elif worker["silent"] > 3:
            state = f"silent {worker['silent']:.0f} s"
        rows.append(
            (
                worker["name"],
                worker["node"],
                state,
                str(worker["leases"]),
                f"{worker['positions']:,}",
                f"{worker['positions_per_second']:,.0f}",
            )
        )
    return rows
