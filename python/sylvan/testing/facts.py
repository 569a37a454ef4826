"""The rules about what a game says of itself: seats, action codes, ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sylvan.games.game import MAX_SEATS, Game
from sylvan.testing.probe import Probe


def check_facts(probe: Probe) -> None:
    """The attributes of a game, as this state has them."""
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
            "set it to False, only two seats can share one number",
        )
    _check_range(probe, "value_range", "of what a seat can be paid")
    _check_network(probe)
    _check_chance_pair(probe)


def _check_network(probe: Probe) -> None:
    """What a network says of the seats, and how the game reads it; a game may say nothing of it."""
    game = probe.state
    if hasattr(game, "network_seats"):
        _whole_number(probe, "network_seats", game.num_players, MAX_SEATS)
    if hasattr(game, "network_range"):
        _check_range(probe, "network_range", "of what a network says of a seat")
    if not hasattr(game, "seat_values"):
        return
    said = np.zeros((2, game.num_players), np.float32)
    paid = probe.ask("seat_values", said)
    if not isinstance(paid, np.ndarray) or paid.shape != said.shape or not np.isfinite(paid).all():
        probe.fail(
            "seat_values()",
            f"gives {paid!r} for zeros of the shape {said.shape}",
            "return as many finite numbers, one per seat",
        )


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
    kind = type(probe.state)
    says = getattr(kind, "is_chance", None) is not Game.is_chance
    lists = getattr(kind, "chance_outcomes", None) is not Game.chance_outcomes
    if lists and not says:
        probe.fail(
            "is_chance()",
            "is not defined although chance_outcomes() is, so chance would never move",
            "define it to be True in the states where chance moves",
        )
    if says and not lists:
        probe.fail(
            "chance_outcomes()",
            "is not defined although is_chance() is",
            "define it to give pairs of action and probability",
        )
