"""Self-play around a network on a GPU, its evaluator alone, and the bare network, in one process.

- *Self-play*: actors, batches in pinned memory, and the evaluator of a run, with kernels whose
  answers do not depend on the batch. First some games are played by one actor, and again among many
  others by all actors: if they differ, no speed is printed.
- *Evaluator alone*: `submit` and `collect` on prepared batches in the same kind of memory, as many
  under way as in self-play.
- *Bare network*: the same module in the same precision, compiled if the evaluator's is, replayed
  from one CUDA graph, with planes that are on the GPU already.

Requirements on an H200 with 16 cores: chess (10x128) reaches 0.95 million simulations/s and 0.90 of
the evaluator alone, which reaches 0.90 of the bare network; Connect Four (6x64) reaches 3.8 million
simulations/s, as mctx and pgx make on such a card.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.actors import random_state
from benchmarks.measure import Measurement, repeat
from sylvan import Forest, SearchConfig
from sylvan.evaluators.protocol import BatchMemory, encoding_of
from sylvan.evaluators.some_leaves import SomeLeaves
from sylvan.games.naming import GameSpec
from sylvan.selfplay.actors import Actors, Room, attend, batch_rows
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.lease_player import answers_depend_on_batch

__all__ = ["OPENINGS", "Way", "around_network"]

CORES = os.cpu_count() or 1

OPENINGS: dict[str, Any] = {"opening_share": 1.0, "opening_plies": 20}
"""Random openings of many lengths, so that games end at different times, as in a long run."""

CHECKED = 32
"""Games that are played twice before anything is measured."""


@dataclass(frozen=True)
class Way:
    """How to play."""

    compiled: bool | str
    """Whether the network is compiled, or a mode of `torch.compile`."""
    games: int
    """In progress."""
    batches: int
    """Under way."""
    threads: int
    """Actors."""
    simulations: int
    """Per move."""
    mode: Literal["exact", "fast"] = "exact"
    """As `selfplay.mode`."""

    def name(self, game: str, device: str) -> str:
        """The name of the figures."""
        compiled = self.compiled
        if isinstance(compiled, bool):
            compiled = "on" if compiled else "off"
        return (
            f"{game}_{device}_g{self.games}_b{self.batches}_t{self.threads}_s{self.simulations}_"
            f"{compiled}" + ("_fast" if self.mode == "fast" else "")
        )

    def config(self, max_plies: int = 100) -> SelfPlayConfig:
        """Settings of self-play."""
        return SelfPlayConfig(
            games=self.games,
            batches=self.batches,
            max_plies=max_plies,
            mode=self.mode,
            **OPENINGS,
        )


def around_network(game: str, size: str, ways: Iterable[Way], quick: bool) -> list[Measurement]:
    """The figures of a game and a network, for each way to play."""
    import torch

    from sylvan.learning.inference import batch_room
    from sylvan.networks import build_network

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        if not quick:
            print(f"{game}: skipped, because PyTorch sees no GPU here", file=sys.stderr)
            return []
        print(f"{game}: no GPU: a small network on the CPU, only to try this out", file=sys.stderr)
        ways = [replace(way, compiled=False, games=48, threads=2, simulations=8) for way in ways]
        size = "1x8"
    network, room = build_network(size, game=GameSpec(game).first(), seed=1), batch_room(device)
    found: list[Measurement] = []
    for way in ways:
        evaluator = evaluator_of(network, way, device)
        actors = actors_of(game, evaluator, way, way.config(), way.threads, room)
        if way.mode == "exact":
            if answers_depend_on_batch(evaluator, actors, seed=1):  # it also chooses kernels
                sys.exit(f"error: {game}: no kernels give answers that do not depend on the batch.")
            check(game, evaluator, way, room)
        seconds = (1.0 if device == "cpu" else 3.0) if quick else 15.0
        measured = [played(actors, evaluator, way, seconds) for _ in range(1 if quick else 3)]
        found += figures(game, evaluator, way, device, room, measured, 0.3 if quick else 3.0)
    return found


def evaluator_of(network: Any, way: Way, device: str) -> Any:
    """The evaluator of a run on a GPU; on a CPU the same class, evaluating single positions."""
    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.learning.inference import self_play_evaluator

    rows = batch_rows(way.config())
    if device == "cpu":
        return TorchEvaluator(network, device="cpu", deterministic=True)
    return self_play_evaluator(
        network,
        device=device,
        batch=rows,
        compiled=way.compiled,  # type: ignore[arg-type]
        exact=way.mode == "exact",
    )


def actors_of(
    game: str, evaluator: Any, way: Way, config: SelfPlayConfig, threads: int, room: Room
) -> Actors:
    """Actors with batches as large as the evaluator's."""
    search = SearchConfig(simulations=way.simulations, noise=True)
    encoding = encoding_of(evaluator)
    return Actors(GameSpec(game), config, 1, encoding, search, actors=threads, room=room)


def check(game: str, evaluator: Any, way: Way, room: Room) -> None:
    """Play some games twice, by one actor alone and among others by all: they must be equal."""
    config = way.config(max_plies=32)
    games = []
    for threads, count in ((1, CHECKED), (way.threads, min(1024, way.games))):
        actors = actors_of(game, evaluator, way, config, threads, room)
        played = actors.play(evaluator, 0, max(CHECKED, count))
        games.append([played.record(number) for number in range(CHECKED)])
    for number, (one, other) in enumerate(zip(*games, strict=True)):
        for name in ("actions", "policy", "values", "returns"):
            if not np.array_equal(getattr(one, name), getattr(other, name)):
                sys.exit(
                    f"error: {game}: the {name} of game {number} depend on the other rows of its "
                    "batches, so these are not the games of a deterministic run."
                )


@dataclass(frozen=True)
class Played:
    """Some seconds of self-play while batches are full."""

    speed: float
    """Simulations per second."""
    waited: float
    """Share of the time in which no batch was full and none under way."""
    working: float
    """Share of the time in which the evaluator's thread used a core."""
    fill: float
    """Mean share of a batch that held positions."""


def played(actors: Actors, evaluator: Any, way: Way, seconds: float) -> Played:
    """Play for some seconds, after every game has made about a move.

    A search counts when it ends, and the searches of all games end at about the same time: the
    interval begins and ends when as many moves were made as a multiple of the games.
    """
    actors.begin(evaluator, 0, 1_000_000)
    while actors.progress[1] < way.games:
        attend([actors])
    began, cpu, (_, positions, before) = time.perf_counter(), time.thread_time(), actors.progress
    (batches, rows), waited, wanted = actors.evaluated_so_far, 0.0, way.games
    while True:
        waited += attend([actors])
        moves, passed = actors.progress[1] - positions, time.perf_counter() - began
        if moves >= wanted and passed >= seconds:
            break
        wanted = max(wanted, (moves // way.games + 1) * way.games)
    cpu = time.thread_time() - cpu
    simulations = actors.progress[2] - before
    later = actors.evaluated_so_far
    batches, rows = later[0] - batches, later[1] - rows
    actors.stop()
    fill = rows / max(1, batches * actors.rows)
    return Played(simulations / passed, waited / passed, cpu / passed, fill)


def figures(
    game: str,
    evaluator: Any,
    way: Way,
    device: str,
    room: Room,
    measured: list[Played],
    seconds: float,
) -> list[Measurement]:
    """Self-play against the evaluator alone, and that against the bare network."""
    name = way.name(game, device)
    first = GameSpec(game).first()
    states = [random_state(first, tree) for tree in range(batch_rows(way.config()))]
    leaves = Forest(states, simulations=1, threads=CORES).select()
    prepared = [Prepared(leaves, room) for _ in range(way.batches + 1)]
    alone, alone_spread = repeat(lambda: evaluator_alone(evaluator, prepared, seconds), 3)
    bare, bare_spread = repeat(bare_network(evaluator, way, leaves, seconds), 3)
    speeds = iter([each.speed for each in measured])
    speed, spread = repeat(lambda: next(speeds), len(measured))
    waited = mean(each.waited for each in measured)
    limit = "the games are" if waited > 0.3 else "the network is"
    print(
        f"{name} ({evaluator.kernels}): {speed:,.0f} simulations/s, {speed / alone:.0%} of the "
        f"evaluator alone ({alone:,.0f}/s), which makes {alone / bare:.0%} of the bare network "
        f"({bare:,.0f}/s); {limit} the limit: nothing is evaluated {waited:.0%} of the time",
        file=sys.stderr,
    )
    shares = {
        "evaluator_idle": waited,
        "evaluator_thread": mean(each.working for each in measured),
        "batch_fill": mean(each.fill for each in measured),
    }
    return [
        Measurement(name, speed, "simulations/s", spread, "evaluator alone", alone),
        Measurement(
            f"{name}.evaluator_alone", alone, "positions/s", alone_spread, "bare network", bare
        ),
        Measurement(f"{name}.bare_network", bare, "positions/s", bare_spread),
        *(Measurement(f"{name}.{part}", 100 * x, "%", 0.0) for part, x in shares.items()),
        *(device_parts(evaluator, prepared[0], name) if device == "cuda" else []),
    ]


class Prepared(SomeLeaves):
    """Leaves in memory such as self-play's."""

    def __init__(self, leaves: Any, room: Room) -> None:
        super().__init__(leaves, np.arange(len(leaves)))
        indices = self.logit_indices.astype(np.int32)
        self.memory = BatchMemory(
            placed(leaves.observations, room),
            placed(self.offsets, room),
            placed(indices, room),
            room(indices.shape, np.dtype(np.float32)),
        )


def placed(array: NDArray[Any], room: Room) -> NDArray[Any]:
    """A copy in the memory of batches."""
    out = room(array.shape, array.dtype)
    out[...] = array
    return out


def evaluator_alone(evaluator: Any, prepared: list[Prepared], seconds: float) -> float:
    """Positions per second on prepared leaves; one batch less is under way than there are."""
    under_way = deque((leaves, evaluator.submit(leaves)) for leaves in prepared[1:])
    waiting = deque(prepared[:1])
    done, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        leaves, ticket = under_way.popleft()
        evaluator.collect(ticket)
        waiting.append(leaves)
        under_way.append((waiting[0], evaluator.submit(waiting.popleft())))
        done += len(leaves)
    for _, ticket in under_way:
        evaluator.collect(ticket)
    return done / passed


def bare_network(evaluator: Any, way: Way, leaves: Any, seconds: float) -> Callable[[], float]:
    """Measures positions per second of the network alone."""
    import torch

    device, network = evaluator.device, evaluator._module.network
    planes = torch.from_numpy(evaluator.expanded(leaves.observations)).to(device, evaluator.dtype)
    if planes.dim() == 4 and device.type == "cuda":
        planes = planes.contiguous(memory_format=torch.channels_last)
    if way.compiled and evaluator.kernels != "eager":
        mode = way.compiled if isinstance(way.compiled, str) else "default"
        network = torch.compile(network, dynamic=False, mode=mode)
    if device.type == "cuda":
        from sylvan.evaluators.cuda_graphs import CudaLane

        def module(_: torch.Tensor) -> Any:
            return (*network(planes)[:2], None)

        lane = CudaLane(module, lambda count: count, device, kernels=evaluator.kernels)
        with lane.open():
            recorded = lane._record(len(planes), planes)

        def run() -> None:
            recorded.graph.replay()
    else:
        from sylvan.evaluators.lanes import Lane

        lane = Lane(network, lambda count: count, device)  # type: ignore[assignment]

        def run() -> None:
            network(planes)

    def measured() -> float:
        done, start = 0, time.perf_counter()
        with lane.open():
            while (passed := time.perf_counter() - start) < seconds:
                for _ in range(20):
                    run()
                lane.synchronize()
                done += 20 * len(planes)
        return done / passed

    return measured


def device_parts(evaluator: Any, leaves: Prepared, name: str) -> list[Measurement]:
    """Milliseconds of each part of one batch on the GPU, each measured alone."""
    import torch

    from sylvan.evaluators.pytorch import _gathered

    lane, batch, count = evaluator._lanes[0], evaluator._in_place(leaves), len(leaves)
    value = lane.buffer((count, evaluator.header.value_outputs), torch.float32)
    found = []
    with lane.open():
        policy, worth, _ = lane.run(batch.observations)
        recorded = lane._recorded[lane.size(count), batch.observations.dtype]
        legal = lane.to_device(batch.indices), lane.to_device(batch.offsets)
        logits = _gathered(policy, *legal)
        parts: dict[str, Callable[[], Any]] = {
            "send": lambda: (
                recorded.observations[:count].copy_(batch.observations, non_blocking=True),
                lane.to_device(batch.indices),
                lane.to_device(batch.offsets),
            ),
            "network": recorded.graph.replay,
            "gather": lambda: _gathered(policy, *legal),
            "receive": lambda: (
                lane.to_host(logits, batch.logits),
                lane.to_host(worth, value),
            ),
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
