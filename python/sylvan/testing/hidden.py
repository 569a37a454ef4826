"""Rules of `observe` and `sample`, for games with hidden information.

A view must have the same seat to move as the state and, if that is its observer, the same legal
actions and observation. So must the deals drawn from it; they must be full states and depend only
on the random generator. A view must not peek: two deals that look the same to a seat give
views that draw the same deals, and not all deals may equal the true state.
"""

from __future__ import annotations

import random

from sylvan._native import Rng
from sylvan.games.optional import observer_of, overrides
from sylvan.testing.probe import Probe
from sylvan.testing.view import View, read_view

__all__ = ["check_other_deals", "check_views"]

FIX = "remove everything that the seat does not see, and draw it at random in sample()"

DEALS = 3
"""Deals drawn from each view."""
ENOUGH = 20
"""Number of deals that cannot all equal the true state by chance."""
DETOUR = 4
"""Actions played to detect that a deal differs from the true state."""


def check_views(probe: Probe, view: View, rng: random.Random) -> tuple[int, int]:
    """Check the view of each seat in a state in which a seat moves; return the number of deals
    drawn, and how many of them equal the true state.
    """
    if not overrides(probe.state, "observe") or view.to_play is None:
        return 0, 0
    true = 0
    for seat in range(probe.state.num_players):
        seen = _observed(probe, seat)
        if read_view(probe).difference(view) is not None:
            probe.fail(f"observe({seat})", "changes the state", "hide information in a copy")
        _check_turn(probe, seen, view, seat, f"observe({seat})")
        for _ in range(DEALS):
            deal = _checked_deal(probe, seen, view, seat, rng.getrandbits(63))
            true += _same_future(probe.clone(), deal, rng)
    return DEALS * probe.state.num_players, true


def check_other_deals(start: Probe, drawn: int, true: int) -> None:
    """Fail if all of many deals equal the true state: then the views contain it."""
    if drawn >= ENOUGH and drawn == true:
        start.fail(
            "observe(0)",
            f"peeks: all {drawn} deals drawn from views equal the true state",
            FIX,
        )


def _same_future(true: Probe, deal: Probe, rng: random.Random) -> bool:
    """Return whether two states have the same answers, now and after some actions."""
    for _ in range(DETOUR):
        view = read_view(true)
        if view.difference(read_view(deal)) is not None:
            return False
        if view.is_terminal:
            break
        action = rng.choice(view.codes)
        true.apply(action)
        deal.apply(action)
    return True


def _observed(probe: Probe, seat: int) -> Probe:
    """Return the view of a seat; check `observer` in it and in its copy."""
    seen = Probe(probe.call("observe", seat), probe.path)
    for name, state in (("the view", seen.state), ("a copy of the view", seen.call("clone"))):
        if observer_of(state) != seat:
            probe.fail(
                "observer",
                f"is {observer_of(state)!r} in {name} observe({seat})",
                f"set it to {seat}, and copy it in clone()",
            )
    return seen


def _check_turn(probe: Probe, seen: Probe, view: View, seat: int, method: str) -> None:
    """Check that a view or deal shows a seat the same as the state does."""
    if seen.call("is_terminal") or seen.call("is_chance") or seen.call("to_play") != view.to_play:
        probe.fail(method, "has another seat to move than the state", "keep public information")
    if view.to_play != seat:
        return
    legal = tuple(seen.call("legal_actions"))
    if legal != view.legal_actions:
        probe.fail(
            method,
            f"has the legal actions {legal} for seat {seat}, but the state {view.legal_actions}",
            "derive legal actions from the seat's knowledge only, in the same order",
        )
    if (seen.call("observation") != view.observation).any():
        probe.fail(
            method,
            f"has another observation for seat {seat} than the state",
            "derive the observation from the seat's knowledge only",
        )


def _checked_deal(probe: Probe, seen: Probe, view: View, seat: int, seed: int) -> Probe:
    """Draw a deal; check that it is a full state, fits the view, follows from the seed, and that
    its own view draws the same deals.
    """
    deal = Probe(seen.call("sample", Rng(seed)), probe.path)
    if deal.state is seen.state or observer_of(deal.state) is not None:
        probe.fail(
            "sample()", "gives a view", "complete a copy of the view, with observer set to None"
        )
    _check_turn(probe, deal, view, seat, "sample()")
    fitting, first = read_view(deal), seed ^ 1
    if fitting.difference(read_view(Probe(seen.call("sample", Rng(seed))))) is not None:
        probe.fail("sample()", "draws another deal with the same generator", "draw only from rng")
    other = _observed(deal, seat)
    one, two = (read_view(Probe(each.call("sample", Rng(first)))) for each in (seen, other))
    if one.difference(two) is not None:
        probe.fail(
            f"observe({seat})",
            "peeks: two deals that look the same to the seat give views that draw different deals",
            FIX,
        )
    return deal
