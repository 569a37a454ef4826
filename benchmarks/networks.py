"""Search around a network: `python -m benchmarks.networks [--quick] [--json] [NAME ...]`.

Maia-1500 (6 blocks of 64 channels with squeeze-excitation) from the folder SYLVAN_NETS, on all
cores of this machine. New trees from the start of chess; every figure first checks the visits of
the tree.

- *share*: evaluations per second in a search ÷ those of the evaluator alone, with positions of the
  same search in batches of the same size. The rest to 1 is the time of the search itself.
- *nodes*: visits per second of a search of 2000 nodes.
- *int8*: the same for the network in int8, and how often both prefer the same move.
- *ready*: from starting the engine to `readyok`, the network loaded.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.engine import start
from benchmarks.measure import Measurement, rate, repeat, run_named
from sylvan import Forest, Search
from sylvan.evaluators import Cached, OnnxEvaluator, load_evaluator
from sylvan.games import Chess
from sylvan.learning.positions import sample_positions
from sylvan.learning.quantization_loss import measure_loss
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.quantize import quantized_model

NODES = 2000
BATCH = OnnxEvaluator.preferred_batch
LC0 = "lc0 0.33 blas, such a machine"  # 2 cores; published figures


def network() -> Path:
    """The file of Maia-1500."""
    folder = os.environ.get("SYLVAN_NETS")
    path = Path(folder or ".") / "maia-1500.pb.gz"
    if folder is None or not path.is_file():
        sys.exit("error: set SYLVAN_NETS to the folder of maia-1500.pb.gz.")
    return path


@cache
def fp32() -> Any:
    """The network in fp32."""
    return load_evaluator(network())


@cache
def int8() -> Any:
    """The network in int8, calibrated on positions of its own games."""
    model = lc0_model(read_lc0(network()))
    calibration = sample_positions(Chess(), 800, seed=1, evaluator=fp32())
    return OnnxEvaluator(quantized_model(model, calibration), name="maia-1500 int8")


@cache
def positions(count: int = 1024) -> NDArray[Any]:
    """Observations of a search, packed: `[count, 112]`."""
    game = Chess().encoded(fp32().encoding)
    rows: list[NDArray[Any]] = []
    forest = Forest([game], simulations=count, leaves_in_flight=BATCH)
    for leaves in forest:
        rows.append(leaves.observations)
        forest.update(*fp32()(leaves))
    return np.concatenate(rows)[:count]


def alone(evaluator: Any, batch: int, seconds: float) -> float:
    """Evaluations per second of the evaluator without a search."""
    rows = positions()
    parts = [rows[start : start + batch] for start in range(0, len(rows) - batch + 1, batch)]
    done, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        evaluator.infer(parts[done % len(parts)])
        done += 1
    return done * batch / passed


def searched(evaluator: Any) -> float:
    """Visits per second of a search from the start."""
    search = Search(evaluator, simulations=NODES)
    speed = rate(NODES, lambda: search.run(Chess()))
    root = search.result.tree.root
    assert root.N == NODES + 1, f"{root.N} visits for {NODES} simulations"
    return speed


def share(quick: bool) -> list[Measurement]:
    """Evaluations per second in search ÷ alone; without a cache every visit is an evaluation."""
    searched(fp32())
    # Alternately, so that both have the same load on the machine.
    pairs = [
        (searched(fp32()), alone(fp32(), BATCH, NODES / 4000)) for _ in range(5 if quick else 15)
    ]
    ratios = iter([search / raw for search, raw in pairs])
    value, spread = repeat(lambda: next(ratios), len(pairs))
    speeds = iter([raw for _, raw in pairs])
    raw, raw_spread = repeat(lambda: next(speeds), len(pairs))
    return [
        Measurement("share", value, "ratio", spread),
        Measurement(f"alone_batch_{BATCH}", raw, "evaluations/s", raw_spread),
    ]


def nodes(quick: bool) -> list[Measurement]:
    """Nodes per second at 2000 nodes, without a cache and with one."""
    repeats = 3 if quick else 11
    plain, plain_spread = repeat(lambda: searched(fp32()), repeats)
    caches: list[Cached] = []

    def cached() -> float:
        caches.append(Cached(fp32(), boards=1))
        return searched(caches[-1])

    with_cache, cache_spread = repeat(cached, repeats)
    return [
        Measurement("nodes", plain, "nodes/s", plain_spread, LC0, 1658.0),
        Measurement("nodes_cached", with_cache, "nodes/s", cache_spread, LC0, 2078.0),
        Measurement("cache_hits", 100 * caches[-1].hit_rate, "%", 0.0),
    ]


def nodes_int8(quick: bool) -> list[Measurement]:
    """Nodes per second at 2000 nodes in int8."""
    searched(int8())
    speed, spread = repeat(lambda: searched(int8()), 3 if quick else 11)
    return [Measurement("nodes_int8", speed, "nodes/s", spread, LC0, 1658.0)]


def int8_gain(quick: bool) -> list[Measurement]:
    """int8 ÷ fp32 in evaluations per second, and how often the best move is the same."""
    pending = iter(
        [alone(int8(), 32, 0.4) / alone(fp32(), 32, 0.4) for _ in range(3 if quick else 11)]
    )
    gain, spread = repeat(lambda: next(pending), 3 if quick else 11)
    others = sample_positions(Chess(), 500 if quick else 4000, seed=2, evaluator=fp32())
    loss = measure_loss(fp32(), int8(), others)
    return [
        Measurement("int8_gain", gain, "ratio", spread),
        Measurement("int8_top1", 100 * loss.top1, "%", 0.0),
        Measurement("int8_policy_kl", loss.policy_kl, "nats", 0.0),
        Measurement("int8_value_error", loss.value_error, "of -1 to 1", 0.0),
    ]


def ready(quick: bool) -> list[Measurement]:
    """Seconds from starting the engine to `readyok`, with the network."""
    seconds, spread = repeat(lambda: start(str(network())), 3 if quick else 11)
    return [Measurement("ready", seconds, "s", spread)]


BENCHMARKS: tuple[Callable[[bool], list[Measurement]], ...] = (
    share,
    nodes,
    nodes_int8,
    int8_gain,
    ready,
)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
