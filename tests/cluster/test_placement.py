"""Requests of the processes to Ray fit into the machines that are there."""

from __future__ import annotations

import itertools

import pytest

from sylvan.cluster.address import ClusterOptions
from sylvan.cluster.placement import Placement, place
from sylvan.errors import ClusterError


def fits(nodes: list[dict[str, int]], found: Placement) -> bool:
    """Whether all processes can be placed, the learner first, as Ray would: where most is free."""
    free = [dict(node) for node in nodes]
    processes = [found.learner_cpus] + [found.worker_cpus] * found.workers
    for cpus in processes:
        room = [
            node
            for node in free
            if node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= found.gpus - 1e-9
        ]
        if not room:
            return False
        chosen = max(room, key=lambda node: (node.get("GPU", 0), node.get("CPU", 0)))
        chosen["CPU"] = chosen.get("CPU", 0) - cpus
        if found.gpus:
            chosen["GPU"] -= found.gpus
    return True


@pytest.mark.parametrize("workers", [None, 1, 2, 4, 7])
def test_processes_fit_on_gpus(workers):
    machines = [{"CPU": 8, "GPU": 1}, {"CPU": 2, "GPU": 2}, {"CPU": 64, "GPU": 8}, {"CPU": 16}]
    for count in (1, 2, 3):
        for nodes in itertools.combinations_with_replacement(machines, count):
            if any("GPU" in node for node in nodes):
                found = place(nodes, ClusterOptions("auto", workers), gpu=True, threads=16)
                assert fits(nodes, found), (nodes, found)
                assert found.workers == workers or workers is None


@pytest.mark.parametrize("threads", [1, 4, 64])
def test_processes_fit_on_cores(threads):
    for nodes in ([{"CPU": 1}], [{"CPU": 2}], [{"CPU": 8}], [{}, {"CPU": 4}, {"CPU": 4}]):
        found = place(nodes, ClusterOptions("auto"), gpu=False, threads=threads)
        assert fits(nodes, found), (nodes, found)


def test_gpus_are_shared_only_if_they_are_few():
    four = [{"CPU": 32, "GPU": 4}]
    assert place(four, ClusterOptions("auto"), gpu=True, threads=2) == Placement(3, 8, 2, 1.0)
    assert place(four, ClusterOptions("auto", 7), gpu=True, threads=2) == Placement(7, 4, 2, 0.5)
    given = ClusterOptions("auto", 3, threads=2)
    assert place(four, given, gpu=True, threads=2) == Placement(3, 2, 2, 1.0)


def test_no_gpu_here_is_an_error_and_elsewhere_may_come_later():
    with pytest.raises(ClusterError, match="cuda"):
        place([{"CPU": 2}], ClusterOptions("local", 2), gpu=True, threads=1)
    assert place([{"CPU": 2}], ClusterOptions("auto", 2), gpu=True, threads=1).gpus == 1.0


def test_local_workers_share_the_machine():
    found = place([{"CPU": 5}], ClusterOptions("local", 4, threads=1), gpu=False, threads=8)
    assert found == Placement(4, 1, 1)
