"""Self-play around a network: `python -m benchmarks.selfplay [--quick] [--json] [NAME ...]`.

Games are played by two half-forests: while the leaves of one are evaluated, the other selects.

- *connect4_cpu_share*: share of the wall time that is not spent in a 6x64 network on ONNX Runtime,
  on all cores of this machine.
- *connect4_host*, *chess_host*: the same loop with an evaluator that answers at once with noise:
  what the processor alone could do. Needs no GPU.
- *connect4_gpu* (6x64), *chess_gpu* (10x128): simulations per second on a GPU, with the share of
  the wall time of each phase, and what the GPU can do when nothing else has to be done.

Options, each a list to go through: `--games=2048,4096` in each half, `--threads=8,14` of the
search, `--compile=off,on,max-autotune-no-cudagraphs`, and `--simulations=32` in each move.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from benchmarks.measure import Benchmark, Measurement, repeat, run_named
from sylvan import Forest, SearchConfig
from sylvan.games import Chess, ConnectFour, Game

PEERS = {
    "connect4": ("mctx + pgx on such a card", 3.8e6),
    "chess": ("the network alone in such a loop", 0.9e6),
}


def option(name: str, default: str) -> list[str]:
    """The values of `--name=a,b`."""
    prefix = f"--{name}="
    given = [each.removeprefix(prefix) for each in sys.argv if each.startswith(prefix)]
    return (given[-1] if given else default).split(",")


def numbers(name: str, default: str) -> list[int]:
    """Those values as whole numbers."""
    return [int(each) for each in option(name, default)]


@dataclass
class Phases:
    """Wall time by phase. A phase inside another counts for itself alone."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what is inside."""
        self._switch(name)
        try:
            yield
        finally:
            self._close()

    def around(self, thing: Any, method: str, name: str) -> None:
        """Time every call of a method."""
        plain = getattr(thing, method)

        def timed(*arguments: Any) -> Any:
            with self(name):
                return plain(*arguments)

        setattr(thing, method, timed)

    def _switch(self, name: str) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._open.append(name)
        self._since = now

    def _close(self) -> None:
        now = time.perf_counter()
        self.seconds[self._open.pop()] += now - self._since
        self._since = now


class Noise:
    """An evaluator that answers at once, from a store of random numbers."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.logits = rng.standard_normal(1 << 20, dtype=np.float32)
        self.values = rng.uniform(-0.3, 0.3, 1 << 16).astype(np.float32)

    def submit(self, leaves: Any) -> Any:
        """Read what a network would read."""
        _ = leaves.observations, leaves.logit_indices
        return len(leaves.actions), len(leaves)

    def collect(self, ticket: Any) -> Any:
        """Some numbers."""
        return self.logits[: ticket[0]], self.values[: ticket[1]]


@dataclass
class Half:
    """One of two forests, and what it waits for."""

    forest: Forest
    first: Game
    rng: np.random.Generator
    ticket: Any = None
    plies: int = 0

    def move(self) -> None:
        """Play a move in every game, at random by the policy; replace those that end."""
        forest = self.forest
        for tree in range(len(forest)):
            outcome = forest._native.outcome(tree)
            assert outcome is not None
            actions, policy = outcome[:2]
            choice = min(int(np.searchsorted(policy.cumsum(), self.rng.random())), len(policy) - 1)
            forest.advance(tree, int(actions[choice]))
            if forest.states[tree].is_terminal():
                forest.plant(tree, self.first)
        self.plies += 1


class Loop:
    """Two half-forests around an evaluator, until the time is over."""

    def __init__(
        self, first: Game, evaluator: Any, games: int, threads: int, simulations: int
    ) -> None:
        self.evaluator, self.phases = evaluator, Phases()
        self.simulations = self.batches = 0
        self.halves = [
            Half(
                Forest(
                    [first] * games,
                    SearchConfig(simulations=simulations, noise=True, threads=threads, seed=seed),
                ),
                first,
                np.random.default_rng(seed),
            )
            for seed in (0, 1)
        ]
        if hasattr(evaluator, "_seen"):
            self.phases.around(evaluator, "_seen", "observe")

    def run(self, seconds: float, turns: int = 0) -> float:
        """Simulations per second, over at least so many turns of both halves."""
        self.phases.seconds.clear()
        self.simulations = self.batches = 0
        start = time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds or self.batches < 2 * turns:
            for half in self.halves:
                self.turn(half)
        return self.simulations / passed

    def turn(self, half: Half) -> None:
        """Take in what was evaluated, and send what comes next."""
        phases, forest = self.phases, half.forest
        if half.ticket is not None:
            with phases("wait"):
                answer = self.evaluator.collect(half.ticket)
            with phases("update"):
                forest.update(*answer)
        with phases("select"):
            leaves = forest.select()
        if leaves is None:
            with phases("moves"):
                half.move()
                forest.begin()
            with phases("select"):
                leaves = forest.select()
        assert leaves is not None
        with phases("indices"):
            _ = leaves.logit_indices
        with phases("submit"):
            half.ticket = self.evaluator.submit(leaves)
        self.simulations += len(leaves)
        self.batches += 1

    def shares(self, name: str) -> list[Measurement]:
        """Where the wall time went, and how long a batch took."""
        total = sum(self.phases.seconds.values())
        found = [
            Measurement(f"{name}.{phase}", 100 * seconds / total, "% of the time", 0.0)
            for phase, seconds in self.phases.seconds.items()
        ]
        batch = Measurement(f"{name}.batch", 1e3 * total / self.batches, "ms each", 0.0)
        size = Measurement(f"{name}.batch_size", self.simulations / self.batches, "leaves", 0.0)
        return [*found, batch, size]


def host(kind: str, first: Game, quick: bool) -> list[Measurement]:
    """The loop without a network."""
    found = []
    games, threads = numbers("games", "1024"), numbers("threads", str(os.cpu_count()))
    for count, some, simulations in product(games, threads, numbers("simulations", "32")):
        name = f"{kind}_host_2x{count}_t{some}_s{simulations}"
        loop = Loop(first, Noise(), count, some, simulations)
        loop.run(0.0, turns=simulations + 2)  # a whole search and its moves
        speed, spread = repeat(lambda loop=loop: loop.run(1.0), 2 if quick else 4)  # type: ignore[misc]
        found.append(Measurement(name, speed, "simulations/s", spread))
        found += loop.shares(name)
    return found


def connect4_host(quick: bool) -> list[Measurement]:
    """Connect Four, answered at once."""
    return host("connect4", ConnectFour(), quick)


def chess_host(quick: bool) -> list[Measurement]:
    """Chess, answered at once."""
    return host("chess", Chess(), quick)


def connect4_cpu_share(quick: bool) -> list[Measurement]:
    """Time not spent in a 6x64 network, on the processor."""
    from sylvan.evaluators import OnnxEvaluator
    from sylvan.networks import build_network
    from sylvan.networks.export import onnx_bytes

    network = build_network("6x64", game=ConnectFour(), seed=1)
    evaluator = OnnxEvaluator(onnx_bytes(network, network.header))
    inside = Phases()
    inside.around(evaluator, "forward", "network")

    class AtOnce:
        """As a search asks it: no half waits, since all cores are in the network."""

        def submit(self, leaves: Any) -> Any:
            return evaluator(leaves)

        def collect(self, ticket: Any) -> Any:
            return ticket

    loop = Loop(ConnectFour(), AtOnce(), 256, os.cpu_count() or 1, 32)
    loop.run(0.0, turns=4)
    shares = []
    for _ in range(2 if quick else 6):
        inside.seconds.clear()
        start = time.perf_counter()
        speed = loop.run(4.0)
        shares.append(1 - inside.seconds["network"] / (time.perf_counter() - start))
    pending = iter(shares)
    share, spread = repeat(lambda: next(pending), len(shares))
    return [
        Measurement("connect4_cpu_share", 100 * share, "% not in the network", 100 * spread),
        Measurement("connect4_cpu_share.speed", speed, "simulations/s", 0.0),
        *loop.shares("connect4_cpu_share"),
    ]


def alone(evaluator: Any, batches: list[Any], seconds: float) -> float:
    """Positions per second of the evaluator on leaves that are there, two batches under way."""
    tickets = [evaluator.submit(leaves) for leaves in batches]
    done, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        for number, leaves in enumerate(batches):
            evaluator.collect(tickets[number])
            tickets[number] = evaluator.submit(leaves)
            done += len(leaves)
    for ticket in tickets:
        evaluator.collect(ticket)
    return done / passed


def device_parts(evaluator: Any, leaves: Any, name: str) -> list[Measurement]:
    """Milliseconds of each part of one batch on the GPU, each alone and many times over."""
    import torch

    from sylvan.evaluators.pytorch import _gathered

    lane = evaluator._lanes[0]
    seen = evaluator._seen(leaves, lane.room)[: evaluator.batch]
    count = len(seen)
    legal = int(leaves.offsets[count])
    indices = torch.from_numpy(leaves.logit_indices[:legal]).int().pin_memory()
    counts = torch.from_numpy(np.diff(leaves.offsets[: count + 1])).pin_memory()
    room = lane.room((legal,), torch.float32)
    with lane.open():
        policy, _, _ = lane.answer(seen)
        recorded = lane._recorded[lane.size(count), seen.dtype]
        on_device = lane.sent(indices), lane.sent(counts)
        logits = _gathered(policy, *on_device).float()
        parts: dict[str, Callable[[], Any]] = {
            "send": lambda: recorded.observations[:count].copy_(seen, non_blocking=True),
            "send_indices": lambda: (lane.sent(indices), lane.sent(counts)),
            "network": recorded.graph.replay,
            "gather": lambda: _gathered(policy, *on_device),
            "receive": lambda: lane.bring(logits, room),
        }
        found = []
        for part, work in parts.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            work()
            begin.record()
            for _ in range(20):
                work()
            end.record()
            end.synchronize()
            took = begin.elapsed_time(end) / 20
            found.append(Measurement(f"{name}.gpu_{part}", took, "ms a batch", 0.0))
    return found


def on_gpu(kind: str, size: str, first: Game, games: str, quick: bool) -> list[Measurement]:
    """The loop around a network on a GPU."""
    import torch

    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.networks import build_network

    if not torch.cuda.is_available():
        sys.exit("error: PyTorch sees no GPU here: connect4_host and chess_host need none.")
    network = build_network(size, game=first, seed=1)
    found: list[Measurement] = []
    cores = os.cpu_count() or 1
    for compiled, count in product(option("compile", "off,on"), numbers("games", games)):
        mode: bool | str = {"off": False, "on": True}.get(compiled, compiled)
        began = time.perf_counter()
        evaluator = TorchEvaluator(network, device="cuda", batch=count, compile=mode)
        for some, simulations in product(
            numbers("threads", str(max(1, cores - 2))), numbers("simulations", "32")
        ):
            name = f"{kind}_gpu_2x{count}_t{some}_s{simulations}_{compiled}"
            loop = Loop(first, evaluator, count, some, simulations)
            loop.run(0.0, turns=simulations + 2)
            found.append(Measurement(f"{name}.ready", time.perf_counter() - began, "s", 0.0))
            speed, spread = repeat(
                lambda loop=loop: loop.run(1.5),  # type: ignore[misc]
                2 if quick else 5,
            )
            found.append(Measurement(name, speed, "simulations/s", spread, *PEERS[kind]))
            found += loop.shares(name)
            found += limits(evaluator, loop, name, speed)
            began = time.perf_counter()
    return found


def limits(evaluator: Any, loop: Loop, name: str, speed: float) -> list[Measurement]:
    """What the GPU does when nothing else has to be done, and what follows from that."""
    batches = []
    for half in loop.halves:
        half.forest.update(*evaluator.collect(half.ticket))
        half.ticket = None
        half.forest.begin()
        batches.append(half.forest.select())
    bare = alone(evaluator, batches, 1.0)
    parts = device_parts(evaluator, batches[0], name)
    shares = {
        phase: time / sum(loop.phases.seconds.values())
        for phase, time in loop.phases.seconds.items()
    }
    waits = shares.pop("wait")
    largest = max(shares, key=lambda phase: shares[phase])
    print(
        f"{name}: {speed:,.0f} simulations/s, {speed / bare:.0%} of the evaluator alone; "
        + (
            f"the GPU is the limit ({waits:.0%} of the time the search waits for it)"
            if waits > 0.3
            else f"the search is the limit, above all '{largest}' ({shares[largest]:.0%})"
        ),
        file=sys.stderr,
    )
    return [Measurement(f"{name}.evaluator_alone", bare, "positions/s", 0.0), *parts]


def connect4_gpu(quick: bool) -> list[Measurement]:
    """Connect Four with a 6x64 network."""
    return on_gpu("connect4", "6x64", ConnectFour(), "2048,4096,8192", quick)


def chess_gpu(quick: bool) -> list[Measurement]:
    """Chess with a 10x128 network."""
    return on_gpu("chess", "10x128", Chess(), "2048,4096", quick)


BENCHMARKS: tuple[Benchmark, ...] = (
    connect4_cpu_share,
    connect4_host,
    chess_host,
    connect4_gpu,
    chess_gpu,
)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
