"""The same run on a Ray cluster of four nodes, with deaths: equal to the run on one machine."""

from __future__ import annotations

import gc
import socket
import time
import warnings

import pytest

from sylvan.runs.loop import train
from tests.cluster.killing import ENVIRONMENT, HEALTH, KINDS, NODE, War, config, learned
from tests.runs.killing import outcome_of

# Ray leaves sockets and files to the end of the process.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

pytest.importorskip("ray", reason="the extra cluster (Ray) is not installed")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def cluster():
    """A head without workers and three nodes; it listens on this machine only."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH, **NODE}
        head["ray_client_server_port"] = free_port()
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(3):
                cluster.add_node(num_cpus=2, wait=False, **NODE)
            cluster.client = f"ray://127.0.0.1:{head['ray_client_server_port']}"
            yield cluster
        finally:
            cluster.shutdown()
            del cluster
            with warnings.catch_warnings():  # of Ray's processes, before other tests see them
                warnings.simplefilter("ignore")
                gc.collect()


def differing(war: War) -> list[str]:
    """The files and states that differ from those of the run on one machine."""
    one = outcome_of(war.folder.with_name("peace"), war.steps)
    two = outcome_of(war.folder, war.steps)
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


@pytest.mark.slow
def test_a_run_with_three_deaths_is_the_run_without(cluster, tmp_path):
    war = War(cluster, tmp_path / "war", steps=4)
    train(config(war.steps), tmp_path / "peace")  # while the processes of the other one start
    problems = war.ask_to_leave()["problems"]
    assert not any("died" in each for each in problems), problems
    for kind in ("worker", "coordinator", "learner"):
        assert war.kill(kind), f"the run was over too early: {war.killed}"
    war.wait(300)
    assert differing(war) == []
    assert war.leases() >= 20
    assert war.taken() == (war.leases(), war.games()), "a lease was lost or taken twice"
    assert max(war.recovery) < 30


@pytest.mark.slow
def test_a_muzero_run_is_the_run_without(cluster, tmp_path):
    """Its driver is no part of the cluster, and reaches it by its client's address."""
    war = War(cluster, tmp_path / "war", steps=3, kind="learned", address=cluster.client)
    train(learned(war.steps), tmp_path / "peace")
    war.wait(300)
    assert differing(war) == []
    assert war.taken() == (war.leases(), war.games()), "a lease was lost or taken twice"


@pytest.mark.soak
def test_a_run_with_twenty_deaths_is_the_run_without(cluster, tmp_path):
    war = War(cluster, tmp_path / "war", steps=60, seed=1)
    kinds = [kind for kind in KINDS for _ in range(4)]
    war.draw.shuffle(kinds)
    for number, kind in enumerate(kinds):
        time.sleep(war.draw.uniform(0, 6))
        assert war.kill(kind), f"the run was over too early: {war.killed}"
        print(f"{number + 1}: {kind}, step {war.status().get('step')}", flush=True)
    war.wait(1200)
    train(config(war.steps), tmp_path / "peace")
    assert differing(war) == []
    assert [kind for kind, _ in war.killed] == kinds and war.leases() >= 50
    assert war.taken() == (war.leases(), war.games()), "a lease was lost or taken twice"
    print(f"seconds until a killed worker's lease was done: {sorted(war.recovery)}")
    assert max(war.recovery) < 30
