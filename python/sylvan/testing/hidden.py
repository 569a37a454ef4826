"""What a seat knows: `observe` and `sample`, where a game hides something.

A view must agree with the state on whose turn it is and, if it is its observer's, on what that seat
may do and sees; the deals drawn from it must as well, follow from the draws, and be whole. And it
must not peek: the views of two deals that a seat cannot tell apart draw the same deals, and not all
deals are the true state.
"""

from __future__ import annotations

import random

from sylvan._native import Rng
from sylvan.games.game import Game
from sylvan.testing.probe import Probe
from sylvan.testing.view import View, look

__all__ = ["check_views", "need_other_deals"]

DEALS = 3
"""Deals drawn from every view that is checked."""
ENOUGH = 20
"""Deals of which not all can be the true state by chance."""
DETOUR = 4
"""Actions after which a deal that is not the true state should show."""


def check_views(probe: Probe, view: View, rng: random.Random) -> tuple[int, int]:
    """Check what each seat knows of a state in which one is to move; how many deals were drawn, and
    how many of them were the true state.
    """
    if getattr(type(probe.state), "observe", Game.observe) is Game.observe or view.to_play is None:
        return 0, 0
    true = 0
    for seat in range(probe.state.num_players):
        seen = _observed(probe, seat)
        if look(probe).difference(view) is not None:
            probe.fail(f"observe({seat})", "changes the state", "erase what is hidden in a copy")
        _check_turn(probe, seen, view, seat, f"observe({seat})")
        for _ in range(DEALS):
            deal = _checked_deal(probe, seen, view, seat, rng.getrandbits(63))
            true += _same_future(probe.clone(), deal, rng)
    return DEALS * probe.state.num_players, true


def need_other_deals(start: Probe, drawn: int, true: int) -> None:
    """Fail if all of many deals were the true state: then the views must have known it."""
    if drawn >= ENOUGH and drawn == true:
        start.fail(
            "observe(0)",
            f"peeks: all of {drawn} deals that were drawn from views are the true state",
            "erase everything that the seat does not see, and draw what is left open",
        )


def _same_future(true: Probe, deal: Probe, rng: random.Random) -> bool:
    """Whether two states answer alike, and still do after some actions."""
    for _ in range(DETOUR):
        view = look(true)
        if view.difference(look(deal)) is not None:
            return False
        if view.is_terminal:
            break
        action = rng.choice(view.codes)
        true.apply(action)
        deal.apply(action)
    return True


def _observed(probe: Probe, seat: int) -> Probe:
    """The view of a seat, which says whose it is, and whose copies do."""
    seen = Probe(probe.ask("observe", seat), probe.path)
    for name, state in (("what", seen.state), ("a copy of what", seen.ask("clone"))):
        if getattr(state, "observer", None) != seat:
            probe.fail(
                "observer",
                f"is {getattr(state, 'observer', None)!r} in {name} observe({seat}) gives",
                f"set it to {seat}, and copy it in clone()",
            )
    return seen


def _check_turn(probe: Probe, seen: Probe, view: View, seat: int, method: str) -> None:
    """What a seat can tell of a state is the same in its view and in a deal that fits."""
    if seen.ask("is_terminal") or seen.ask("is_chance") or seen.ask("to_play") != view.to_play:
        probe.fail(method, "does not know whose turn it is", "keep what everyone sees")
    if view.to_play != seat:
        return
    legal = tuple(seen.ask("legal_actions"))
    if legal != view.legal_actions:
        probe.fail(
            method,
            f"has the legal actions {legal} for seat {seat}, but it has {view.legal_actions}",
            "let what a seat may do follow from what it knows, in the same order",
        )
    if (seen.ask("observation") != view.observation).any():
        probe.fail(
            method,
            f"shows seat {seat} another observation than the state does",
            "let the observation hold what the seat to move knows, and nothing else",
        )


def _checked_deal(probe: Probe, seen: Probe, view: View, seat: int, seed: int) -> Probe:
    """A deal is whole, fits, and follows from the draws; its own view draws the same deals."""
    deal = Probe(seen.ask("sample", Rng(seed)), probe.path)
    if deal.state is seen.state or getattr(deal.state, "observer", None) is not None:
        probe.fail(
            "sample()", "gives a view", "complete a copy of the view, with observer set to None"
        )
    _check_turn(probe, deal, view, seat, "sample()")
    fitting, first = look(deal), seed ^ 1
    if fitting.difference(look(Probe(seen.ask("sample", Rng(seed))))) is not None:
        probe.fail("sample()", "draws another deal from the same generator", "draw from rng alone")
    other = _observed(deal, seat)
    one, two = (look(Probe(each.ask("sample", Rng(first)))) for each in (seen, other))
    if one.difference(two) is not None:
        probe.fail(
            f"observe({seat})",
            "peeks: the views of two deals that the seat cannot tell apart draw different deals",
            "erase everything that the seat does not see, and draw what is left open",
        )
    return deal
