"""How the processes of a run share a cluster's cores and GPUs.

Ray places a process where its request fits, and waits for ever if it fits nowhere. So the requests
are chosen to fit into the machines that are there: GPUs are shared if there are fewer of them than
processes, and the learner asks for no more cores than the workers leave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sylvan.cluster.address import ClusterOptions
from sylvan.errors import ClusterError

__all__ = ["Placement", "place"]

SHARES = 10_000
"""Ray divides a GPU into so many shares."""


@dataclass(frozen=True)
class Placement:
    """The resources that each process requests of Ray."""

    workers: int
    worker_cpus: int
    """Cores of a worker; 0: it shares the cores of its machine."""
    learner_cpus: int
    """Cores of each learner."""
    gpus: float = 0.0
    """GPUs of each worker and learner."""

    @property
    def worker_threads(self) -> int:
        """Threads of a worker."""
        return max(1, self.worker_cpus)


def place(
    nodes: Sequence[Mapping[str, float]], options: ClusterOptions, *, gpu: bool, threads: int
) -> Placement:
    """Share the machines of a cluster.

    :param nodes: cores (`CPU`) and GPUs (`GPU`) of each machine.
    :param gpu: learner and workers evaluate on GPUs.
    :param threads: of each learner.
    :raises ClusterError: a local cluster has no GPU.

    >>> place([{"CPU": 8, "GPU": 1}], ClusterOptions("auto"), gpu=True, threads=8)
    Placement(workers=1, worker_cpus=4, learner_cpus=4, gpus=0.5)
    >>> place([{"CPU": 4}, {"CPU": 8}], ClusterOptions("auto"), gpu=False, threads=4)
    Placement(workers=8, worker_cpus=1, learner_cpus=4, gpus=0.0)
    """
    return _with_gpus(nodes, options, threads) if gpu else _on_cores(nodes, options, threads)


def _on_cores(
    nodes: Sequence[Mapping[str, float]], options: ClusterOptions, threads: int
) -> Placement:
    cores = [int(node.get("CPU", 0)) for node in nodes]
    each = options.worker_threads
    left = sum(cores) - each * (options.workers or 1)
    learner = max(0, min(threads, max(cores, default=0), left // options.learners))
    workers = options.workers or max(1, (sum(cores) - learner * options.learners) // each)
    return Placement(workers, each, learner)


def _with_gpus(
    nodes: Sequence[Mapping[str, float]], options: ClusterOptions, threads: int
) -> Placement:
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    if not gpus and options.is_local:
        raise ClusterError(
            "run.device is 'cuda', and Ray finds no GPU on this machine: omit the device."
        )
    workers = options.workers or max(1, gpus - options.learners)
    if not gpus:  # an autoscaler may add some
        return Placement(workers, options.worker_threads, min(1, threads), 1.0)
    sharing = math.ceil((workers + options.learners) / gpus)
    shares = [int(node["CPU"] // (sharing * node["GPU"])) for node in nodes if node.get("GPU")]
    each = min(shares)
    own = each if options.threads is None else options.threads
    return Placement(workers, own, min(threads, each), SHARES // sharing / SHARES)
