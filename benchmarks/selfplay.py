"""Self-play around a network: `python -m benchmarks.selfplay [--quick] [--json] [NAME ...]`.

`SelfPlay` plays the games in two half-forests: one selects while the leaves of the other are
evaluated. The figures include moves, records and new games.

- *connect4_cpu_share*: share of the wall time outside a 6x64 network on ONNX Runtime, on all cores
  of this machine.
- *connect4_host*, *chess_host*: the same games with an evaluator that returns random numbers at
  once: the limit of the CPU's part. Needs no GPU.
- *connect4_actors*, *chess_actors*: the same for actors (`benchmarks/actors.py`), against the bare
  search of as many trees; `--games=1024` in progress, batches of `--rows=256`.
- *connect4_gpu* (6x64), *chess_gpu* (10x128): simulations per second on a GPU, with the share of
  the wall time of each phase, the speed of the GPU alone, and its milliseconds for each part of a
  batch. A line on stderr names the bottleneck.

Options, each a list of values: `--games=2048,4096` per half, `--threads=8,14` of the search,
`--compile=off,on,max-autotune-no-cudagraphs`, and `--simulations=32` per move.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import product
from typing import Any

import numpy as np

from benchmarks.actors import host_alone
from benchmarks.measure import Benchmark, Measurement, repeat, run_named
from sylvan import Forest, SearchConfig
from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.selfplay.halves import Half
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig

PEERS = {
    "connect4": ("mctx + pgx on such a card", 3.8e6),
    "chess": ("the network alone in such a loop", 0.9e6),
}
CORES = os.cpu_count() or 1

PHASES = {
    (SelfPlay, "play"): "rest",
    (Forest, "select"): "select",
    (Forest, "update"): "update",
    (Half, "_begin"): "begin",
    (Half, "_move"): "moves",
    (Half, "_end"): "records",
    (Half, "_replace"): "new games",
}
"""Methods by phase, for timing."""


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
    """Wall time by phase; time of an inner phase does not count for the outer one."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def of(self, evaluator: Any) -> Iterator[None]:
        """Time the methods of self-play and of an evaluator for a while."""
        places = dict(PHASES)
        places |= {(type(evaluator), "submit"): "submit", (type(evaluator), "collect"): "wait"}
        if hasattr(evaluator, "_observations"):
            places[type(evaluator), "_observations"] = "observe"
        plain = {(kind, name): getattr(kind, name) for kind, name in places}
        self.seconds.clear()
        for (kind, name), phase in places.items():
            setattr(kind, name, self._timed(plain[kind, name], phase))
        try:
            yield
        finally:
            for (kind, name), method in plain.items():
                setattr(kind, name, method)

    def _timed(self, method: Callable[..., Any], phase: str) -> Callable[..., Any]:
        @wraps(method)
        def timed(*arguments: Any, **named: Any) -> Any:
            self._switch()
            self._open.append(phase)
            try:
                return method(*arguments, **named)
            finally:
                self._switch()
                self._open.pop()

        return timed

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def shares(self) -> dict[str, float]:
        """Of all the time."""
        total = sum(self.seconds.values())
        return {phase: seconds / total for phase, seconds in self.seconds.items()}


class Noise:
    """An evaluator that returns prepared random numbers at once."""

    encoding = None

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.logits = rng.standard_normal(1 << 21, dtype=np.float32)
        self.values = rng.uniform(-0.3, 0.3, 1 << 16).astype(np.float32)

    def submit(self, leaves: Any) -> Any:
        """Read the observations, as a network would."""
        _ = leaves.observations, leaves.logit_indices
        return len(leaves.actions), len(leaves)

    def collect(self, ticket: Any) -> Any:
        """Return random numbers."""
        return self.logits[: ticket[0]], self.values[: ticket[1]]

    def __call__(self, leaves: Any) -> Any:
        """Both at once."""
        return self.collect(self.submit(leaves))


@dataclass
class Table:
    """Self-play of one setting, step after step."""

    game: str
    evaluator: Any
    games: int
    """Of each half."""
    threads: int
    simulations: int
    positions: int = 65_536
    """Searched in a step."""
    phases: Phases = field(default_factory=Phases)
    step: int = 0

    def __post_init__(self) -> None:
        # Random openings of many lengths, so that games end at different times, as in a long run.
        settings: dict[str, Any] = {"opening_share": 1.0, "opening_plies": 20}
        config = SelfPlayConfig(games=2 * self.games, positions=self.positions, **settings)
        search = SearchConfig(simulations=self.simulations, noise=True, threads=self.threads)
        encoding = self.evaluator.encoding
        self.selfplay = SelfPlay(GameSpec(self.game), config, 1, encoding, search)

    def play(self) -> float:
        """Simulations per second of the next step."""
        with self.phases.of(self.evaluator):
            self.selfplay.play(self.evaluator, self.step)
        self.step += 1
        found = self.selfplay.statistics
        assert found.positions >= self.positions
        return found.simulations / found.seconds

    def details(self, name: str) -> list[Measurement]:
        """Where the time of the last step went."""
        found = self.selfplay.statistics
        rows = [
            Measurement(f"{name}.{phase}", 100 * share, "% of the time", 0.0)
            for phase, share in sorted(self.phases.shares().items(), key=lambda item: -item[1])
        ]
        batches = max(found.batches, 1)
        return [
            *rows,
            Measurement(f"{name}.batch", 1e3 * found.seconds / batches, "ms each", 0.0),
            Measurement(f"{name}.batch_size", found.simulations / batches, "simulations", 0.0),
            Measurement(f"{name}.games", found.games / found.seconds, "games/s", 0.0),
        ]


def host(game: str, quick: bool) -> list[Measurement]:
    """Games without a network."""
    found = []
    counts, threads = numbers("games", "1024"), numbers("threads", str(CORES))
    for count, some, simulations in product(counts, threads, numbers("simulations", "32")):
        name = f"{game}_host_2x{count}_t{some}_s{simulations}"
        table = Table(game, Noise(), count, some, simulations, 8192 if quick else 65_536)
        table.play()
        speed, spread = repeat(table.play, 1 if quick else 3)
        found += [Measurement(name, speed, "simulations/s", spread), *table.details(name)]
    return found


def connect4_host(quick: bool) -> list[Measurement]:
    """Connect Four without a network."""
    return host("connect4", quick)


def chess_host(quick: bool) -> list[Measurement]:
    """Chess without a network."""
    return host("chess", quick)


def connect4_cpu_share(quick: bool) -> list[Measurement]:
    """Time outside a 6x64 network on the CPU, without and with a cache."""
    from sylvan.games import ConnectFour
    from sylvan.learning.inference import self_play_evaluator
    from sylvan.networks import build_network

    network = build_network("6x64", game=ConnectFour(), seed=1)
    found = []
    for name, cache in (("connect4_cpu_share", 0), ("connect4_cpu_share_cached", 64 * 2**20)):
        evaluator = self_play_evaluator(network, device="cpu", threads=CORES, cache_bytes=cache)
        table = Table("connect4", evaluator, 64, CORES, 32, 128 if quick else 1024)
        table.selfplay.play(evaluator, 0)
        shares, speeds = [], []
        for step in range(1, 3 if quick else 8):
            evaluator.refresh(network)  # a cache starts empty, as in every step
            table.selfplay.play(evaluator, step)
            numbers = table.selfplay.statistics
            shares.append(100 * (1 - numbers.network_share))
            speeds.append(numbers.simulations / numbers.seconds)
        for label, values, unit in (
            (name, shares, "% not in the network"),
            (f"{name}.speed", speeds, "simulations/s"),
        ):
            pending = iter(values)
            median, spread = repeat(lambda pending=pending: next(pending), len(values))  # type: ignore[misc]
            found.append(Measurement(label, median, unit, spread))
    return found


def on_gpu(game: str, size: str, quick: bool) -> list[Measurement]:
    """Games around a network on a GPU."""
    import torch

    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.networks import build_network

    if not torch.cuda.is_available():
        sys.exit("error: PyTorch sees no GPU here: connect4_host and chess_host need none.")
    network = build_network(size, game=GameSpec(game).first(), seed=1)
    found: list[Measurement] = []
    for compiled, count in product(option("compile", "off,on"), numbers("games", "4096")):
        mode: bool | str = {"off": False, "on": True}.get(compiled, compiled)
        began = time.perf_counter()
        evaluator = TorchEvaluator(network, device="cuda", batch=count, compile=mode)
        for some, simulations in product(
            numbers("threads", str(max(1, CORES - 2))), numbers("simulations", "32")
        ):
            name = f"{game}_gpu_2x{count}_t{some}_s{simulations}_{compiled}"
            table = Table(game, evaluator, count, some, simulations, 32 * count)
            table.play()
            ready = time.perf_counter() - began
            speed, spread = repeat(table.play, 1 if quick else 3)
            found.append(Measurement(name, speed, "simulations/s", spread, *PEERS[game]))
            found.append(Measurement(f"{name}.ready", ready, "s", 0.0))
            found += table.details(name)
            found += limits(table, name, speed)
            began = time.perf_counter()
    return found


def limits(table: Table, name: str, speed: float) -> list[Measurement]:
    """The speed of the GPU alone, and the bottleneck."""
    evaluator, first = table.evaluator, GameSpec(table.game).first()
    states = [wandered(first, tree) for tree in range(table.games)]
    leaves = Forest(states, simulations=1, threads=table.threads).select()
    bare = alone(evaluator, leaves, 1.0)
    parts = device_parts(evaluator, leaves, name)
    shares = table.phases.shares()
    waits = shares.pop("wait")
    largest = max(shares, key=lambda phase: shares[phase])
    print(
        f"{name}: {speed:,.0f} simulations/s, {speed / bare:.0%} of the evaluator alone "
        f"({bare:,.0f}/s); "
        + (
            f"the GPU is the limit: the search waits {waits:.0%} of the time"
            if waits > 0.3
            else f"the search is the limit: it waits {waits:.0%} of the time, "
            f"'{largest}' takes {shares[largest]:.0%}"
        ),
        file=sys.stderr,
    )
    return [Measurement(f"{name}.evaluator_alone", bare, "positions/s", 0.0), *parts]


def wandered(first: Game, seed: int) -> Game:
    """A state after some random moves."""
    rng, state = np.random.default_rng(seed), first.clone()
    for _ in range(int(rng.integers(0, 16))):
        after = state.clone()
        after.apply(int(rng.choice(list(state.legal_actions()))))
        if after.is_terminal():
            break
        state = after
    return state


def alone(evaluator: Any, leaves: Any, seconds: float) -> float:
    """Positions per second of the evaluator on prepared leaves, with two batches in flight."""
    under_way = deque(evaluator.submit(leaves) for _ in range(2))
    done, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        evaluator.collect(under_way.popleft())
        under_way.append(evaluator.submit(leaves))
        done += len(leaves)
    for ticket in under_way:
        evaluator.collect(ticket)
    return done / passed


def device_parts(evaluator: Any, leaves: Any, name: str) -> list[Measurement]:
    """Milliseconds of each part of one batch on the GPU, each measured alone."""
    import torch

    from sylvan.evaluators.pytorch import _gathered

    lane = evaluator._lanes[0]
    inputs = evaluator._observations(leaves)[: evaluator.batch]
    count = len(inputs)
    legal = int(leaves.offsets[count])
    indices = torch.from_numpy(leaves.logit_indices[:legal]).int().pin_memory()
    counts = torch.from_numpy(np.diff(leaves.offsets[: count + 1])).pin_memory()
    buffer = lane.buffer((legal,), torch.float32)
    found = []
    with lane.open():
        policy, _, _ = lane.run(inputs)
        recorded = lane._recorded[lane.size(count), inputs.dtype]
        on_device = lane.to_device(indices), lane.to_device(counts)
        logits = _gathered(policy, *on_device).float()
        parts: dict[str, Callable[[], Any]] = {
            "send": lambda: recorded.observations[:count].copy_(inputs, non_blocking=True),
            "send_indices": lambda: (lane.to_device(indices), lane.to_device(counts)),
            "network": recorded.graph.replay,
            "gather": lambda: _gathered(policy, *on_device),
            "receive": lambda: lane.to_host(logits, buffer),
        }
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


def connect4_gpu(quick: bool) -> list[Measurement]:
    """Connect Four with a 6x64 network."""
    return on_gpu("connect4", "6x64", quick)


def chess_gpu(quick: bool) -> list[Measurement]:
    """Chess with a 10x128 network."""
    return on_gpu("chess", "10x128", quick)


def connect4_actors(quick: bool) -> list[Measurement]:
    """Connect Four by actors, answered at once, against the bare search."""
    return host_alone("connect4", *actor_sizes(), quick)


def chess_actors(quick: bool) -> list[Measurement]:
    """Chess by actors, answered at once, against the bare search."""
    return host_alone("chess", *actor_sizes(), quick)


def actor_sizes() -> tuple[int, int]:
    """Games in progress and rows of a batch: `--games`, `--rows`."""
    return numbers("games", "1024")[0], numbers("rows", "256")[0]


BENCHMARKS: tuple[Benchmark, ...] = (
    connect4_actors,
    chess_actors,
    connect4_cpu_share,
    connect4_host,
    chess_host,
    connect4_gpu,
    chess_gpu,
)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
