"""Rules of the optional methods for training: `estimate` and `auxiliary`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sylvan.testing.probe import Probe

__all__ = ["check_auxiliary", "check_estimate"]


def check_estimate(probe: Probe) -> None:
    """Check that an estimate is None, or one number per seat within `value_range`."""
    if not hasattr(probe.state, "estimate"):
        return
    given = probe.call("estimate")
    if given is None:
        return
    seats, (low, high) = probe.state.num_players, probe.state.value_range
    numbers = _numbers(given)
    if numbers is None or numbers.shape != (seats,):
        probe.fail("estimate()", f"gives {given!r}", f"return {seats} numbers, one per seat")
    elif not ((low <= numbers) & (numbers <= high)).all():
        probe.fail(
            "estimate()",
            f"gives {given!r}, but value_range is {(low, high)}",
            "stay in value_range",
        )


def check_auxiliary(probes: list[Probe], end: Probe) -> None:
    """Check that auxiliary targets are finite, with the same names and shapes in all states."""
    if not hasattr(end.state, "auxiliary"):
        return
    first: dict[str, tuple[int, ...]] | None = None
    for probe in probes:
        given = probe.call("auxiliary", end.state)
        if not isinstance(given, Mapping):
            probe.fail("auxiliary()", f"gives {given!r}", "return arrays by name")
        arrays = {name: _numbers(array) for name, array in given.items()}
        for name, array in arrays.items():
            if array is None:
                probe.fail(
                    "auxiliary()", f"gives {given[name]!r} for {name!r}", "return finite numbers"
                )
        shapes = {name: array.shape for name, array in arrays.items() if array is not None}
        first = shapes if first is None else first
        if shapes != first:
            probe.fail(
                "auxiliary()",
                f"gives {shapes}, but {first} earlier in the play",
                "give the same names and shapes in all states",
            )


def _numbers(given: Any) -> Any:
    """Convert to an array; return None unless all numbers are finite."""
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None
