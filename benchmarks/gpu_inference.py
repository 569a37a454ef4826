"""Networks on a GPU: `python -m benchmarks.gpu_inference [--quick] [--json] [SIZE ...]`.

Chess, packed planes in and legal logits out, for networks of some sizes (`6x64` and `10x128`).

- *bare*: the network alone, fp16, same batch size, with expanded planes already on the GPU.
- *evaluator*: `TorchEvaluator` on leaves of a forest, from NumPy to NumPy: the whole time that a
  search waits. Its peer is the bare network.
- *compiled*: the same with `compile=True`.

Outputs in fp16 are first compared with fp32 on the CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Measurement, print_json, print_table, rate, repeat
from sylvan import Forest
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.games import Chess
from sylvan.networks import build_network

BATCH = 1024


def leaves(count: int) -> Any:
    """Leaves of many games, some plies in."""
    rng = np.random.default_rng(1)
    states = []
    for _ in range(count):
        state = Chess()
        for _ in range(int(rng.integers(0, 30))):
            if not state.is_terminal():
                state.apply(int(rng.choice(list(state.legal_actions()))))
        states.append(Chess() if state.is_terminal() else state)
    batch = Forest(states, simulations=1).select()
    assert batch is not None and len(batch) == count
    return batch


def timed(work: Callable[[], object], seconds: float, repeats: int) -> tuple[float, float]:
    """Positions per second: median and spread; `work` ends with the GPU idle."""
    work()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    calls = max(1, int(seconds / (time.perf_counter() - start)))

    def once() -> float:
        def calls_and_wait() -> None:
            for _ in range(calls):
                work()
            torch.cuda.synchronize()

        return rate(calls * BATCH, calls_and_wait)

    return repeat(once, repeats)


def measure(size: str, quick: bool) -> list[Measurement]:
    """The figures of one network."""
    network = build_network(size, game=Chess(), seed=1)
    batch = leaves(BATCH)
    seconds, repeats = (0.2, 3) if quick else (1.0, 7)
    evaluator = TorchEvaluator(network, device="cuda", batch=BATCH)
    exact = TorchEvaluator(network, device="cpu", batch=BATCH)
    off = np.abs(evaluator(batch)[0] - exact(batch)[0]).max()
    assert off < 0.05, f"fp16 logits differ from fp32 by {off}"
    planes = torch.rand(BATCH, 112, 8, 8, device="cuda").half()
    planes = planes.contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        bare, bare_spread = timed(lambda: evaluator._module.network(planes), seconds, repeats)
    found = [Measurement(f"bare_{size}", bare, "positions/s", bare_spread)]
    compiled = TorchEvaluator(network, device="cuda", batch=BATCH, compile=True)
    for name, each in (("evaluator", evaluator), ("compiled", compiled)):
        speed, spread = timed(lambda each=each: each(batch), seconds, repeats)  # type: ignore[misc]
        found.append(
            Measurement(f"{name}_{size}", speed, "positions/s", spread, "bare network", bare)
        )
    return found


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", default=["6x64", "10x128"], metavar="SIZE")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, for a first look")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: PyTorch sees no GPU here.")
    found = [each for size in options.sizes for each in measure(size, options.quick)]
    (print_json if options.json else print_table)(found)


if __name__ == "__main__":
    main()
