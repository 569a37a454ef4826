"""The same run on a Ray cluster of four nodes, with deaths: equal to the run on one machine."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest

from sylvan.runs.loop import train
from tests.cluster.killing import ENVIRONMENT, HEALTH, NODE, War, config
from tests.runs.killing import outcome_of

# Ray leaves sockets and files to the end of the process.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")


@pytest.fixture(scope="module")
def cluster():
    """A head without workers and three nodes; it listens on this machine only."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH, **NODE}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(3):
                cluster.add_node(num_cpus=2, wait=False, **NODE)
            yield cluster
        finally:
            cluster.shutdown()
            del cluster
            with warnings.catch_warnings():  # of Ray's processes, before other tests see them
                warnings.simplefilter("ignore")
                gc.collect()


def compared(cluster, folder: Path, steps: int, kinds: list[str], patience: float) -> War:
    """Make a run in peace and one with kills; they are equal."""
    war = War(cluster, folder / "war", steps)
    train(config(steps), folder / "peace")
    for kind in kinds:
        assert war.kill(kind), f"the run was over before the {kind} was killed: {war.killed}"
    war.wait(patience)
    one, two = outcome_of(folder / "peace", steps), outcome_of(folder / "war", steps)
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    assert [kind for kind, _ in war.killed] == kinds
    return war


@pytest.mark.slow
def test_a_run_with_three_deaths_is_the_run_without(cluster, tmp_path):
    war = compared(cluster, tmp_path, 4, ["worker", "coordinator", "learner"], 120)
    assert war.leases() >= 20
