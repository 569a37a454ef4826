"""Repeats, medians, spreads, and how they are printed."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

__all__ = ["Benchmark", "Measurement", "print_json", "print_table", "rate", "repeat", "run_named"]


@dataclass(frozen=True)
class Measurement:
    """One figure: the median of several repeats, and half the range between quartiles."""

    name: str
    value: float
    unit: str
    spread: float
    peer: str | None = None
    peer_value: float | None = None


Benchmark = Callable[[bool], list[Measurement]]
"""A benchmark: a function with a name; its argument is `quick`."""


def run_named(
    benchmarks: Sequence[Benchmark],
    arguments: list[str],
    show: Callable[[list[Measurement]], object] | None = None,
) -> None:
    """Run all or the named benchmarks, with `--quick` and `--json`; `--help` prints the module's
    docstring.

    :param show: prints the figures instead of a table or JSON.
    """
    if "--help" in arguments or "-h" in arguments:
        print(sys.modules["__main__"].__doc__)
        return
    known = {benchmark.__name__: benchmark for benchmark in benchmarks}
    names = [argument for argument in arguments if not argument.startswith("--")]
    for name in names:
        if name not in known:
            sys.exit(f"error: there is no benchmark {name!r}: there are {', '.join(known)}.")
    measurements = []
    for name in names or known:
        print(f"measuring {name} ...", file=sys.stderr)
        measurements += known[name]("--quick" in arguments)
    show = show or (print_json if "--json" in arguments else print_table)
    show(measurements)


def repeat(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Median and spread of the results of `work`."""
    values = sorted(work() for _ in range(repeats))
    if len(values) < 2:
        return values[0], 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return statistics.median(values), (high - low) / 2


def rate(count: int, work: Callable[[], object]) -> float:
    """Items per second of `work`, which does `count`."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def print_json(measurements: list[Measurement]) -> None:
    """A list of objects, one per figure."""
    print(json.dumps([asdict(measurement) for measurement in measurements], indent=1))


def print_table(measurements: list[Measurement]) -> None:
    """A Markdown table."""
    print("| name | value | spread | unit | peer | peer's value | ratio |")
    print("|---|---|---|---|---|---|---|")
    for m in measurements:
        ratio = f"{m.value / m.peer_value:.2f}" if m.peer_value and m.unit != "ratio" else ""
        peer = f"{m.peer_value:,.4g}" if m.peer_value else ""
        print(
            f"| `{m.name}` | {m.value:,.4g} | ± {m.spread:,.2g} | {m.unit} "
            f"| {m.peer or ''} | {peer} | {ratio} |"
        )
