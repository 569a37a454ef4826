"""Evaluations per second through a network server, and of one process that holds the network.

    python -m benchmarks.network_server [--quick] [--json] [--clients=4] [--net=PATH] [NAME ...]

Every process searches chess positions with the same network: `one_tree` searches one position after
the other with 16 leaves in flight, `forest` 32 positions in lock-step. A figure is the number of
positions evaluated by all processes in the same seconds; its peer is one process that holds the
network itself. Runs of the two alternate; `--torch` runs the network in PyTorch. A search of
`one_tree` that did not make all its simulations is an error. `cpu` is the processor time of all
processes for a position, which other work on the machine hardly changes: one process that holds the
network, divided by clients and server.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from benchmarks.measure import Benchmark, Measurement, repeat, run_named

SIMULATIONS = 160
TREES = 32
OPTIONS = dict(
    argument.removeprefix("--").split("=") for argument in sys.argv[1:] if "=" in argument
)
CLIENTS = int(OPTIONS.get("clients", 4))


def network() -> str:
    """The network's file."""
    from sylvan.evaluators.shipped import NETS

    return OPTIONS.get("net", str(NETS / "chess.onnx"))


def loaded() -> Any:
    """The evaluator of a process that holds the network."""
    from sylvan.evaluators import load_evaluator

    return load_evaluator(network(), backend="torch" if "--torch" in sys.argv else "auto")


class Counted:
    """An evaluator that counts the positions it is asked for."""

    def __init__(self, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.encoding, self.header = evaluator.encoding, evaluator.header
        self.preferred_batch = evaluator.preferred_batch
        self.positions = 0

    def __call__(self, leaves: Any) -> Any:
        self.positions += len(leaves)
        return self.evaluator(leaves)


def one_tree(evaluator: Counted, seed: int, stop: Callable[[], bool]) -> None:
    """Search one position after the other."""
    import sylvan
    from sylvan.engines.match.openings import builtin_openings

    openings = [opening.start() for opening in builtin_openings()]
    search = 0
    while not stop():
        state = openings[(seed + search) % len(openings)]
        result = sylvan.search(
            state, evaluator=evaluator, simulations=SIMULATIONS, leaves_in_flight=16
        )
        assert result.simulations == SIMULATIONS
        search += 1


def forest(evaluator: Counted, seed: int, stop: Callable[[], bool]) -> None:
    """Search many positions in lock-step."""
    import sylvan
    from sylvan.engines.match.openings import builtin_openings

    openings = [opening.start().encoded(evaluator.encoding) for opening in builtin_openings()]
    while not stop():
        states = [openings[(seed + tree) % len(openings)] for tree in range(TREES)]
        trees = sylvan.Forest(states, simulations=SIMULATIONS, leaves_in_flight=1)
        for leaves in trees:
            if stop():
                break
            trees.update(*evaluator(leaves))


WORK = {"one_tree": one_tree, "forest": forest}


def client(
    name: str, address: str | None, seed: int, start: Event, seconds: float, out: Any
) -> None:
    """A process: wait for the start, work, and report the positions evaluated per second."""
    from sylvan.evaluators.remote import RemoteEvaluator

    evaluator = Counted(loaded() if address is None else RemoteEvaluator(address))
    began = time.perf_counter()
    WORK[name](evaluator, seed, lambda: time.perf_counter() - began > 0.5)  # warm up
    out.put(None)
    start.wait()
    evaluator.positions, began, used = 0, time.perf_counter(), time.process_time()
    WORK[name](evaluator, seed, lambda: time.perf_counter() - began > seconds)
    rate = evaluator.positions / (time.perf_counter() - began)
    out.put((rate, (time.process_time() - used) / evaluator.positions))


def processes(name: str, address: str | None, count: int, seconds: float) -> tuple[float, float]:
    """Positions per second of `count` processes together, and their processor time for one."""
    spawn = multiprocessing.get_context("spawn")
    start, out = spawn.Event(), spawn.Queue()
    workers = [
        spawn.Process(target=client, args=(name, address, 30 * seed, start, seconds, out))
        for seed in range(count)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        out.get(timeout=300)
    start.set()
    found = [out.get(timeout=60 + 10 * seconds) for _ in workers]
    for worker in workers:
        worker.join()
    total: float = sum(rate for rate, _ in found)
    return total, sum(rate * used for rate, used in found) / total


def serve(address: str, ready: Event, stop: Event, out: Any) -> None:
    """The server's process; it reports its mean batch, and its processor time for a position."""
    from sylvan.evaluators.serving import NetworkServer

    with NetworkServer(loaded(), address) as server:
        used = time.process_time()
        ready.set()
        stop.wait()
        positions = server.counts.positions
        out.put((positions / server.counts.batches, (time.process_time() - used) / positions))


def served(name: str, count: int, seconds: float) -> tuple[float, float, float]:
    """Positions per second of `count` clients of a server, the processor time of all processes for
    one, and the positions of a batch.
    """
    spawn = multiprocessing.get_context("spawn")
    ready, stop, out = spawn.Event(), spawn.Event(), spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        address = f"socket:{Path(folder) / 'n'}"
        server = spawn.Process(target=serve, args=(address, ready, stop, out))
        server.start()
        assert ready.wait(120)
        total, used = processes(name, address, count, seconds)
        stop.set()
        batch, served_used = out.get(timeout=60)
        server.join()
    return total, used + served_used, batch


def compared(name: str) -> Benchmark:
    """The benchmark of one kind of work."""

    def benchmark(quick: bool) -> list[Measurement]:
        repeats, seconds = (2, 2.0) if quick else (7, 6.0)
        pairs = [
            (processes(name, None, 1, seconds), served(name, CLIENTS, seconds))
            for _ in range(repeats)
        ]

        def figure(kind: str, unit: str, values: list[float]) -> Measurement:
            median, spread = repeat(iter(values).__next__, repeats)
            return Measurement(f"{name}_{kind}", median, unit, spread)

        return [
            figure("alone", "positions/s", [one[0] for one, _ in pairs]),
            figure(f"{CLIENTS}_clients", "positions/s", [all_[0] for _, all_ in pairs]),
            figure("ratio", "clients ÷ alone", [all_[0] / one[0] for one, all_ in pairs]),
            figure("cpu", "alone ÷ clients and server", [one[1] / all_[1] for one, all_ in pairs]),
            figure("batch", "positions per batch", [all_[2] for _, all_ in pairs]),
        ]

    benchmark.__name__ = name
    return benchmark


if __name__ == "__main__":
    run_named(
        [compared(name) for name in WORK],
        [argument for argument in sys.argv[1:] if "=" not in argument and argument != "--torch"],
    )
