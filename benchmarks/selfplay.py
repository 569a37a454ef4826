"""Self-play around a network: `python -m benchmarks.selfplay [--quick] [--json] [NAME ...]`.

The figures include moves, records and new games.

- *connect4_actors*, *chess_actors*: actors with an evaluator that answers at once, against the bare
  search of as many trees (`benchmarks/actors.py`): the limit of the host. `--games=1024` in
  progress, batches of `--rows=256`. Needs no GPU.
- *cartpole_learned*, *connect4_learned*: steps and simulations per second with a learned model, by
  the preset for a CPU, with an untrained network and one thread. Needs no GPU.
- *connect4_cpu_share*: share of the wall time outside a 6x64 network on ONNX Runtime, on all cores
  of this machine.
- *connect4_gpu* (6x64), *chess_gpu* (10x128): simulations per second on a GPU against the same
  evaluator alone, with its milliseconds for each part of a batch. A line on stderr names the limit.

Options, each a list of values: `--games=8192,16384` in progress, `--threads=8,14` actors,
`--compile=off,on,max-autotune-no-cudagraphs`, and `--simulations=32` per move.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from benchmarks.actors import checksum, host_alone, random_state
from benchmarks.measure import Benchmark, Measurement, repeat, run_named
from sylvan import Forest, SearchConfig
from sylvan.evaluators.protocol import encoding_of
from sylvan.games.naming import GameSpec
from sylvan.selfplay.actors import Actors, attend, batch_rows
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig

PEERS = {
    "connect4": ("mctx + pgx on such a card", 3.8e6),
    "chess": ("the network alone in such a loop", 0.9e6),
}
CORES = os.cpu_count() or 1

# Random openings of many lengths, so that games end at different times, as in a long run.
OPENINGS: dict[str, Any] = {"opening_share": 1.0, "opening_plies": 20}


def option(name: str, default: str) -> list[str]:
    """The values of `--name=a,b`."""
    prefix = f"--{name}="
    given = [each.removeprefix(prefix) for each in sys.argv if each.startswith(prefix)]
    return (given[-1] if given else default).split(",")


def numbers(name: str, default: str) -> list[int]:
    """Those values as whole numbers."""
    return [int(each) for each in option(name, default)]


def connect4_cpu_share(quick: bool) -> list[Measurement]:
    """Time outside a 6x64 network on the CPU, without and with a cache."""
    from sylvan.games import ConnectFour
    from sylvan.learning.inference import self_play_evaluator
    from sylvan.networks import build_network

    network = build_network("6x64", game=ConnectFour(), seed=1)
    search = SearchConfig(simulations=32, noise=True, threads=CORES)
    config = SelfPlayConfig(games=128, positions=128 if quick else 1024, lag=0, **OPENINGS)
    found = []
    for name, cache in (("connect4_cpu_share", 0), ("connect4_cpu_share_cached", 64 * 2**20)):
        evaluator = self_play_evaluator(network, device="cpu", threads=CORES, cache_bytes=cache)
        selfplay = SelfPlay(GameSpec("connect4"), config, 1, None, search)
        shares, speeds = [], []
        for step in range(1, 4 if quick else 9):
            evaluator.refresh(network)  # a cache starts empty, as in every step
            selfplay.play(lambda _, evaluator=evaluator: evaluator, step)  # type: ignore[misc]
            numbers = selfplay.statistics
            shares.append(100 * (1 - numbers.network_share))
            speeds.append(numbers.simulations / numbers.seconds)
        for label, values, unit in (
            (name, shares, "% not in the network"),
            (f"{name}.speed", speeds, "simulations/s"),
        ):
            pending = iter(values[1:])
            median, spread = repeat(lambda pending=pending: next(pending), len(values) - 1)  # type: ignore[misc]
            found.append(Measurement(label, median, unit, spread))
    return found


def on_gpu(game: str, size: str, quick: bool) -> list[Measurement]:
    """Games around a network on a GPU."""
    import torch

    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.networks import build_network

    if not torch.cuda.is_available():
        sys.exit("error: PyTorch sees no GPU here: connect4_actors and chess_actors need none.")
    network = build_network(size, game=GameSpec(game).first(), seed=1)
    found: list[Measurement] = []
    for compiled, games in product(option("compile", "off,on"), numbers("games", "12288")):
        mode: bool | str = {"off": False, "on": True}.get(compiled, compiled)
        evaluator = TorchEvaluator(network, device="cuda", batch=batch_rows(games), compile=mode)
        for threads, simulations in product(
            numbers("threads", str(max(1, CORES - 2))), numbers("simulations", "32")
        ):
            name = f"{game}_gpu_g{games}_t{threads}_s{simulations}_{compiled}"
            actors = actors_of(game, evaluator, games, threads, simulations)
            check_checksum(actors, evaluator)
            measured = [played(actors, evaluator, games, quick) for _ in range(1 if quick else 3)]
            pending = iter(speed for speed, _ in measured)
            speed, spread = repeat(lambda pending=pending: next(pending), len(measured))  # type: ignore[misc]
            found.append(Measurement(name, speed, "simulations/s", spread, *PEERS[game]))
            found += limits(game, evaluator, name, speed, measured[-1][1])
    return found


def learned(game: str, quick: bool) -> list[Measurement]:
    """Self-play with a learned model, by the preset for a CPU."""
    from sylvan.muzero import ModelPlayer, MuZeroConfig, TorchModel, build_muzero
    from sylvan.runs.config import TrainingConfig
    from sylvan.runs.presets import preset_settings
    from sylvan.selfplay.leases import Lease

    config = TrainingConfig(**preset_settings(game, "cpu", "muzero")).resolved()
    spec, size = config.game.spec, config.network.size
    network = build_muzero(size, game=spec.first(), config=MuZeroConfig(), seed=1)
    model = TorchModel(network, device="cpu", threads=1)
    search = config.search.replace(threads=1)

    def games(slots: int, count: int, first: int = 0) -> Any:
        player = ModelPlayer(spec, config.selfplay.replace(games=slots), 1, search=search)
        return player.play(Lease(1, 0, first, count), [], lambda _: model)

    one, many = (checksum(games(slots, 4).games) for slots in (1, 4))
    if one != many:
        sys.exit(f"error: the games have checksums {one} and {many} with 1 and 4 slots.")
    steps, simulations = [], []
    for number in range(1 if quick else 5):
        found = games(config.selfplay.games, config.selfplay.games, 1000 * number)
        seconds = found.statistics.seconds
        steps.append(len(found.games["actions"]) / seconds)
        simulations.append(int(found.games["simulations"].sum()) / seconds)
    return [
        Measurement(f"{spec.short_name}, learned", median, unit, spread)
        for unit, speeds in (("steps/s", steps), ("simulations/s", simulations))
        for median, spread in [repeat(iter(speeds).__next__, len(speeds))]
    ]


def cartpole_learned(quick: bool) -> list[Measurement]:
    """CartPole with a learned model."""
    return learned("gym:CartPole-v1", quick)


def connect4_learned(quick: bool) -> list[Measurement]:
    """Connect Four with learned rules."""
    return learned("connect4", quick)


def actors_of(game: str, evaluator: Any, games: int, threads: int, simulations: int) -> Actors:
    """Actors with so many games in progress."""
    search = SearchConfig(simulations=simulations, noise=True)
    config = SelfPlayConfig(games=games, max_plies=100, **OPENINGS)
    encoding = encoding_of(evaluator)
    return Actors(GameSpec(game), config, 1, encoding, search, actors=threads)


def check_checksum(actors: Actors, evaluator: Any) -> None:
    """Play some games twice: the same games, or the speed means nothing."""
    first, second = (checksum(actors.play(evaluator, 0, 64)) for _ in range(2))
    if first != second:
        print(
            f"the games have checksums {first} and {second}: this evaluator's answers depend on "
            "the rest of a batch",
            file=sys.stderr,
        )


def played(actors: Actors, evaluator: Any, games: int, quick: bool) -> tuple[float, float]:
    """Simulations per second while batches are full, and the share of the time spent waiting."""
    actors.begin(evaluator, 64, 1_000_000)
    seconds, waited = 3.0 if quick else 20.0, 0.0
    while actors.progress[1] < games:  # every game has made about a move
        attend([actors])
    began, before = time.perf_counter(), actors.progress[2]
    while (passed := time.perf_counter() - began) < seconds:
        waited += attend([actors])
    simulations = actors.progress[2] - before
    actors.stop()
    return simulations / passed, waited / passed


def limits(game: str, evaluator: Any, name: str, speed: float, waited: float) -> list[Measurement]:
    """The speed of the GPU alone, and what limits self-play."""
    first = GameSpec(game).first()
    states = [random_state(first, tree) for tree in range(evaluator.batch)]
    leaves = Forest(states, simulations=1, threads=CORES).select()
    bare = alone(evaluator, leaves, 1.0)
    limit = "the games are" if waited > 0.3 else "the GPU is"
    print(
        f"{name}: {speed:,.0f} simulations/s, {speed / bare:.0%} of the evaluator alone "
        f"({bare:,.0f}/s); {limit} the limit: the evaluator waits {waited:.0%} of the time",
        file=sys.stderr,
    )
    return [
        Measurement(f"{name}.evaluator_alone", bare, "positions/s", 0.0),
        *device_parts(evaluator, leaves, name),
    ]


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
    cartpole_learned,
    connect4_learned,
    connect4_cpu_share,
    connect4_gpu,
    chess_gpu,
)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
