"""A run on a cluster: overhead, memory, simulated scale, storage.

    python -m benchmarks.cluster local          local:2 against plain `sylvan train` (4 min)
    python -m benchmarks.cluster scale          the coordinator with 1,000 and 10,000 fake workers
    python -m benchmarks.cluster memory         coordinator and object store over 10,000 leases
    python -m benchmarks.cluster storage        games written and read back by lease order

*local* needs an idle machine; both sides play the same games (exact mode), which is asserted, and
the ratio is of games per second over the steps after the first, learning included. *scale* and
*memory* hardly depend on load; *scale* counts the processor time of one core. *storage* measures
the disk too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sylvan.cluster.address import ClusterOptions
from sylvan.cluster.coordinator import Arrivals, Report, Rules
from sylvan.cluster.lease import Done, Lease, content_hash
from sylvan.cluster.profile import WorkerFacts
from sylvan.cluster.shard_games import ShardGames
from sylvan.cluster.storage import Storage
from sylvan.games.naming import GameSpec
from sylvan.selfplay.actors import Actors
from sylvan.selfplay.config import SelfPlayConfig
from tests.cluster.simulation import PROBE, Fleet, simulate

SYLVAN = [sys.executable, "-c", "from sylvan.cli import app; app()"]


def local(steps: int, positions: int) -> None:
    """Games per second of `local:2` against a run without a cluster."""
    settings = ["--steps", str(steps), "--preset", "cpu", "--threads", "2", "--quiet"]
    settings += ["--set", f"selfplay.positions={positions}", "--set", "arena.every=0"]
    rates, games = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, extra in (("plain", []), ("local:2", ["--cluster", "local:2"])):
            run = Path(folder) / name.replace(":", "-")
            command = [*SYLVAN, "train", "connect4", "--run", str(run), *settings, *extra]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            lines = (run / "metrics.jsonl").read_text().splitlines()
            rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
            games[name] = [row["selfplay.games"] for row in rows]
            seconds = rows[-1]["run.elapsed"] - rows[0]["run.elapsed"]
            rates[name] = sum(games[name][1:]) / seconds
    assert games["plain"] == games["local:2"], "the two runs played different games"
    print("| run | games per second |\n|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.2f} |")
    print(f"| ratio | {rates['local:2'] / rates['plain']:.3f} |")


def scale() -> None:
    """Leases per second of one core's time, and how long the learner waited.

    The learner takes as long for a step as the workers on average, and a quarter more.
    """
    print(
        "| workers | leases | crashes | simulated hours | leases/s of one core | learner waited |"
    )
    print("|---|---|---|---|---|---|")
    for workers, steps in ((1000, 40), (10_000, 20)):
        fleet = Fleet(workers=workers, parts=workers)
        began = time.process_time()
        outcome = simulate(fleet, steps)
        seconds = time.process_time() - began
        assert outcome.taken == sorted(set(outcome.taken)), (
            "a lease was taken twice or out of order"
        )
        print(
            f"| {workers:,} | {outcome.leases:,} | {outcome.crashes} | "
            f"{outcome.seconds / 3600:.2f} | {outcome.leases / seconds:,.0f} | "
            f"{outcome.starved / outcome.seconds:.1%} |"
        )


def memory(leases: int) -> None:
    """Memory of a coordinator in Ray and of the object store, while leases come and go."""
    from sylvan.cluster.driver import connected
    from sylvan.cluster.run_files import ClusterFiles

    with tempfile.TemporaryDirectory() as folder, connected(ClusterOptions("local", 2)) as (ray, _):
        from sylvan.cluster.ray_actors import CoordinatorProcess

        run = Path(folder)
        ClusterFiles(run).make()
        coordinator = ray.remote(CoordinatorProcess).remote(run, None, Rules())
        size = 200

        def call(method: str, *given: Any) -> Any:
            return ray.get(getattr(coordinator, method).remote(*given))

        call("begin")
        call("submit", [], 1, PROBE)
        call("join", WorkerFacts("worker", "node", 0, PROBE.version, {}))
        call("prove", "worker", PROBE.answers)
        pid, heard = call("status")["coordinator"], Arrivals()
        print("| leases | coordinator, MB | object store, MB |\n|---|---|---|")
        for step in range(1, leases // size + 1):
            first = step * size * 8
            wanted = [Lease("run", step, first + 8 * i, 8, "net", "set") for i in range(size)]
            call("submit", wanted, step, None)
            held: list[Lease] = []
            while True:
                finished = tuple(_done(lease) for lease in held)
                held = list(call("exchange", "worker", Report((), 2, finished)).leases)
                if not held:
                    break
            found, _ = call("collect", heard.life, heard.number)
            assert len(found.done) == size
            heard = found
            call("forget_leases", [lease.name for lease in wanted])
            if step in (1, leases // size // 4, leases // size // 2, leases // size):
                free = ray.available_resources().get("object_store_memory", 0)
                used = ray.cluster_resources()["object_store_memory"] - free
                print(f"| {step * size:,} | {_resident(pid):.0f} | {used / 1e6:.1f} |", flush=True)


def _done(lease: Lease) -> Done:
    figures = {"batches": 100.0, "rows": 1000.0, "capacity": 1000.0, "seconds": 1.0}
    return Done(lease.name, "worker", content_hash(b""), 1000, 1.0, 8, 80, 800, figures)


def _resident(pid: int) -> float:
    """Memory of a process in MB."""
    (line,) = [
        each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in each
    ]
    return int(line.split()[1]) / 1024


def storage(games: int, folder: str | None) -> None:
    """Write shards of Connect Four games, and read them in order of their leases."""
    spec, size = GameSpec("connect4"), 64
    options: dict[str, Any] = {"games": size}
    actors = Actors(spec, SelfPlayConfig(**options), seed=1)
    played = ShardGames(actors.play("uniform", 0, size))
    facts, payload = played.to_bytes()
    print("| games | MB | write, MB/s | read and verify, MB/s |\n|---|---|---|---|")
    for count in (games // 4, games // 2, games):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            kept = Storage(place)
            leases = [Lease("run", 1, size * i, size, "net", "set") for i in range(count // size)]
            began = time.perf_counter()
            total = sum(kept.write_shard(lease, facts, payload) for lease in leases)
            written = time.perf_counter()
            for lease in leases:
                kept.read_shard(lease)
            read = time.perf_counter()
        mb = total / 1e6
        speeds = f"{mb / (written - began):.0f} | {mb / (read - written):.0f}"
        print(f"| {count:,} | {mb:.0f} | {speeds} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["local", "scale", "memory", "storage"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--positions", type=int, default=8192, help="of a step of local")
    parser.add_argument("--leases", type=int, default=10_000)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--folder", help="of the storage; default: a temporary one")
    options = parser.parse_args()
    if options.what == "local":
        local(options.steps, options.positions)
    elif options.what == "scale":
        scale()
    elif options.what == "memory":
        memory(options.leases)
    else:
        storage(options.games, options.folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nThis process used {peak:.0f} MB at most; {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
