"""Self-play around a network: `python -m benchmarks.selfplay [--quick] [--json] [NAME ...]`.

The figures include moves, records and new games.

- *connect4_actors*, *chess_actors*: actors with an evaluator that answers at once, against the bare
  search of as many trees (`benchmarks/actors.py`): the limit of the host. `--games=1024` in
  progress, batches of `--rows=256`. Needs no GPU.
- *cartpole_learned*, *connect4_learned*: steps and simulations per second with a learned model, by
  the preset for a CPU, with an untrained network and one thread. Needs no GPU.
- *connect4_cpu_share*: share of the wall time outside a 6x64 network on ONNX Runtime, on all cores
  of this machine; the games must be the same with a cache as without.
- *connect4_gpu* (6x64), *chess_gpu* (10x128): simulations per second around a network on a GPU, as
  a run plays: deterministic, compiled, `self_play_evaluator`. In the same run its evaluator alone,
  and the bare network under CUDA graphs (`benchmarks/around_network.py`). A line on stderr names
  the limit. About three minutes each. Without a GPU only `--quick` runs, with a small network, to
  try the benchmark out.

Options of the last two, each a list of values: `--games=8192,16384` in progress, `--batches=2,3,4`
under way, `--threads=8,14` actors, `--compile=off,on,max-autotune-no-cudagraphs`, and
`--simulations=32` per move, `--mode=exact,fast` as `selfplay.mode`.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from typing import Any

from benchmarks.actors import checksum, host_alone
from benchmarks.around_network import OPENINGS, Way, around_network
from benchmarks.measure import Benchmark, Measurement, repeat, run_named
from sylvan import SearchConfig
from sylvan.games.naming import GameSpec
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig

CORES = os.cpu_count() or 1


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
    found, games = [], []
    for name, cache in (("connect4_cpu_share", 0), ("connect4_cpu_share_cached", 64 * 2**20)):
        evaluator = self_play_evaluator(network, device="cpu", threads=CORES, cache_bytes=cache)
        selfplay = SelfPlay(GameSpec("connect4"), config, 1, None, search)
        shares, speeds = [], []
        for step in range(1, 4 if quick else 9):
            evaluator.refresh(network)  # a cache starts empty, as in every step
            records = selfplay.play(
                lambda _, evaluator=evaluator: evaluator,  # type: ignore[misc]
                step,
            )
            games.append((step, [record.actions.tolist() for record in records]))
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
    half = len(games) // 2
    if games[:half] != games[half:]:
        sys.exit("error: other games were played with a cache than without.")
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


def connect4_gpu(quick: bool) -> list[Measurement]:
    """Connect Four with a 6x64 network."""
    return around_network("connect4", "6x64", ways(), quick)


def chess_gpu(quick: bool) -> list[Measurement]:
    """Chess with a 10x128 network."""
    return around_network("chess", "10x128", ways(), quick)


def ways() -> list[Way]:
    """The combinations of the options."""
    modes = {"off": False, "on": True}
    return [
        Way(modes.get(compiled, compiled), games, batches, threads, simulations, mode)  # type: ignore[arg-type]
        for compiled, games, batches, threads, simulations, mode in product(
            option("compile", "on"),
            numbers("games", "12288"),
            numbers("batches", "2"),
            numbers("threads", str(max(1, CORES - 2))),
            numbers("simulations", "32"),
            option("mode", "exact"),
        )
    ]


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
