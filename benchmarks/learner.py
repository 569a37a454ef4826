"""Networks in self-play and in training: `python -m benchmarks.learner [--quick] [--json] [NAME]`.

Connect Four, networks of three sizes, on the CPU or with `--device=cuda` on a GPU. The ratio of the
two is the cost of training on a position, in evaluations.

- *inference*: positions per second of the evaluator of self-play, in fp32 and in int8, on one
  thread and on all. First checks that int8 is close to fp32.
- *parts*: the same in fp32 on one thread, by the size of the parts of a split batch.
- *refresh*: milliseconds to load new weights; int8 includes calibration and rounding.
- *training*: positions per second of the learner, forward, backward and step, by size of the batch
  and by norm. Checks that the weights have changed.
- *cached*: microseconds per leaf of a cache with 25 % hits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.measure import Measurement, repeat, run_named
from sylvan import Forest
from sylvan.evaluators import Cached
from sylvan.games import ConnectFour
from sylvan.learning import sample_positions
from sylvan.learning.inference import OnnxNetwork
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.networks import NetworkHeader, build_network
from sylvan.replay.batches import Batch

SIZES = ("4x32", "5x48", "6x64")
DEVICE = next((each[9:] for each in sys.argv if each.startswith("--device=")), "cpu")


@cache
def positions(count: int = 512) -> NDArray[np.float32]:
    """Observations of random games."""
    return np.asarray(
        sample_positions(ConnectFour(), count, evaluator="uniform").observations, np.float32
    )


def timed(count: int, work: Callable[[], object], quick: bool) -> tuple[float, float]:
    """Items per second of `work`, which does `count` per call: median and spread."""
    work()

    def once() -> float:
        done, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < (0.2 if quick else 1.0):
            work()
            done += count
        return done / passed

    return repeat(once, 3 if quick else 9)


def evaluators(size: str, **options: Any) -> Iterator[tuple[str, OnnxNetwork]]:
    """The evaluator of self-play in fp32 and in int8."""
    network = build_network(size, game=ConnectFour(), seed=1).eval()
    exact = OnnxNetwork(network, **options)
    narrow = OnnxNetwork(network, exact.model, eight_bits=ConnectFour(), **options)
    assert narrow.in_integers, f"eight bits cost too much: {narrow.loss}"
    yield "fp32", exact
    yield "int8", narrow


def inference(quick: bool) -> list[Measurement]:
    """Positions per second, on one thread and on all."""
    found = []
    for size in SIZES:
        for threads in (1, None):
            for kind, evaluator in evaluators(size, threads=threads):
                rows = positions()
                value, spread = timed(len(rows), lambda: evaluator.infer(rows), quick)  # noqa: B023
                name = f"inference_{size}_{kind}_{evaluator.threads}"
                found.append(Measurement(name, value, "positions/s", spread))
    return found


def parts(quick: bool) -> list[Measurement]:
    """Positions per second on one thread, by the size of a part."""
    found = []
    for size in SIZES:
        for batch in (16, 32, 64, 128, 256):
            network = build_network(size, game=ConnectFour(), seed=1).eval()
            evaluator, rows = OnnxNetwork(network, threads=1, batch=batch), positions()
            value, spread = timed(len(rows), lambda: evaluator.infer(rows), quick)  # noqa: B023
            found.append(Measurement(f"parts_{size}_{batch}", value, "positions/s", spread))
    return found


def refresh(quick: bool) -> list[Measurement]:
    """Milliseconds to load new weights."""
    found = []
    for size in SIZES:
        network = build_network(size, game=ConnectFour(), seed=1).eval()
        for kind, evaluator in evaluators(size):
            rate, _ = timed(1, lambda: evaluator.refresh(network), quick)  # noqa: B023
            found.append(Measurement(f"refresh_{size}_{kind}", 1000 / rate, "ms", 0.0))
    return found


class Same:
    """Returns the same batch every time, so that only the learner is measured."""

    def __init__(self, header: NetworkHeader, size: int) -> None:
        rng = np.random.default_rng(0)
        seen = positions()[rng.integers(0, len(positions()), size)]
        policy = rng.dirichlet(np.ones(header.num_logits), size).astype(np.float32)
        self.batch = Batch(
            observations=seen,
            policy=policy,
            legal=np.ones(policy.shape, np.bool_),
            policy_weight=np.ones(size, np.float32),
            value=rng.dirichlet(np.ones(3), size).astype(np.float32),
            weight=np.ones(size, np.float32),
            moves_left=None,
            positions=np.zeros((size, 2), np.int64),
        )

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """The batch."""
        return self.batch


def training(quick: bool) -> list[Measurement]:
    """Positions per second of updates."""
    found = []
    for size in SIZES:
        for norm in ("batch", "fixed"):
            for batch in (256, 512, 1024) if DEVICE == "cpu" else (1024, 4096):
                network = build_network(size, game=ConnectFour(), seed=1, norm=norm)
                config = LearnerConfig.model_validate({"batch": batch})
                learner, rng = Learner(network, config, DEVICE), np.random.default_rng(0)
                same = Same(learner.header, batch)
                before = [each.clone() for each in network.parameters()]
                value, spread = timed(
                    4 * batch,
                    lambda: learner.train(same, 4, 0.5, rng),  # noqa: B023
                    quick,
                )
                after = network.parameters()
                assert not any(torch.equal(a, b) for a, b in zip(before, after, strict=True))
                name = f"training_{size}_{norm}_{batch}"
                found.append(Measurement(name, value, "positions/s", spread))
    return found


def cached(quick: bool) -> list[Measurement]:
    """Microseconds per leaf of a cache around an evaluator that takes no time."""

    def once() -> float:
        rng = np.random.default_rng(5)
        states: list[ConnectFour] = []
        while len(states) < 256:
            state = ConnectFour()
            for _ in range(rng.integers(0, 12)):
                if not state.is_terminal():
                    state.apply(int(rng.choice(state.legal_actions())))
            states += [] if state.is_terminal() else [state]
        inside = [0.0]

        def noise(leaves: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            start = time.perf_counter()
            values = np.sin(leaves.observations.reshape(len(leaves), -1) @ np.arange(84.0))
            logits = np.sin(leaves.actions * 7.0 + np.repeat(values, np.diff(leaves.offsets)))
            inside[0] += time.perf_counter() - start
            return logits.astype(np.float32), values.astype(np.float32)

        cache, spent, leaves_seen = Cached(noise), 0.0, 0
        forest = Forest(states, simulations=100, seed=3)
        for leaves in forest:
            _ = leaves.observations, leaves.logit_indices
            start = time.perf_counter()
            answer = cache(leaves)
            spent += time.perf_counter() - start
            leaves_seen += len(leaves)
            forest.update(*answer)
        assert 0.1 < cache.hit_rate < 0.6
        return 1e6 * (spent - inside[0]) / leaves_seen

    value, spread = repeat(once, 3 if quick else 9)
    return [Measurement("cached", value, "µs/leaf", spread)]


BENCHMARKS = (inference, parts, refresh, training, cached)


if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
