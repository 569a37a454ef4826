"""Rules of a game's attributes: seats and their names, action codes, ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sylvan.games.game import MAX_SEATS
from sylvan.games.optional import overrides
from sylvan.testing.probe import Probe


def check_facts(probe: Probe) -> None:
    """Check the attributes of a game in this state."""
    game = probe.state
    _whole_number(probe, "num_players", 1, MAX_SEATS)
    _whole_number(probe, "num_actions", 1)
    if game.max_length is not None:
        _whole_number(probe, "max_length", 1)
    if not isinstance(game.zero_sum, bool):
        probe.fail("zero_sum", f"is {game.zero_sum!r}", "set it to True or False")
    if game.zero_sum and game.num_players != 2:
        probe.fail(
            "zero_sum",
            f"is True, but num_players is {game.num_players}",
            "set it to False, only games of two seats are zero-sum here",
        )
    _check_range(probe, "value_range", "of a seat's payments")
    _check_network(probe)
    _check_seat_names(probe)
    _check_chance_pair(probe)


def _check_network(probe: Probe) -> None:
    """Check the optional attributes for networks: seats, range and conversion of values."""
    game = probe.state
    if hasattr(game, "network_seats"):
        _whole_number(probe, "network_seats", game.num_players, MAX_SEATS)
    if hasattr(game, "network_range"):
        _check_range(probe, "network_range", "of a network's values")
    if not hasattr(game, "seat_values"):
        return
    values = np.zeros((2, game.num_players), np.float32)
    paid = probe.call("seat_values", values)
    is_array = isinstance(paid, np.ndarray) and paid.shape == values.shape
    if not is_array or not np.isfinite(paid).all():
        probe.fail(
            "seat_values()",
            f"gives {paid!r} for zeros of shape {values.shape}",
            "return finite numbers of the same shape",
        )


def _check_seat_names(probe: Probe) -> None:
    """Check that every seat has a name of its own."""
    if not hasattr(probe.state, "seat_name"):
        return
    names: list[str] = []
    for seat in range(probe.state.num_players):
        name = probe.call("seat_name", seat)
        if not isinstance(name, str) or name in names:
            probe.fail(
                f"seat_name({seat})",
                f"gives {name!r}",
                "return a string, another one for every seat",
            )
        names.append(name)


def _whole_number(probe: Probe, name: str, least: int, most: float = math.inf) -> None:
    value = getattr(probe.state, name, None)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        limits = f"{least} or more" if most == math.inf else f"from {least} to {most}"
        probe.fail(name, f"is {value!r}", f"set it to a whole number, {limits}")


def _check_range(probe: Probe, name: str, of: str) -> None:
    limits: Any = getattr(probe.state, name)
    try:
        low, high = map(float, limits)
        ordered = low < high
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        probe.fail(
            name,
            f"is {limits!r}",
            f"set it to the pair (lowest, highest) {of}",
        )


def _check_chance_pair(probe: Probe) -> None:
    has_flag = overrides(probe.state, "is_chance")
    has_outcomes = overrides(probe.state, "chance_outcomes")
    if has_outcomes and not has_flag:
        probe.fail(
            "is_chance()",
            "is not defined although chance_outcomes() is, so chance would never move",
            "define it: True in the states where chance moves",
        )
    if has_flag and not has_outcomes:
        probe.fail(
            "chance_outcomes()",
            "is not defined although is_chance() is",
            "define it: return pairs of action and probability",
        )
