"""Random plays, and the rules that need more than one state.

A play runs from the first state to the end (or to a limit). At a few plies, the state and its
copies play different actions, and one must not change the other. Then the same actions are played
again and must give the same answers.
"""

from __future__ import annotations

import copy
import math
import random
from dataclasses import dataclass, field

import numpy as np

from sylvan.games.game import Game
from sylvan.testing.extras import check_auxiliary, check_estimate
from sylvan.testing.hidden import check_views
from sylvan.testing.probe import Probe
from sylvan.testing.view import TOLERANCE, View, read_twice, read_view

# Plies per play with the expensive checks, and the actions that a copy plays there.
STOPS = 6
DETOUR = 4

# Actions per such ply whose names are checked: a state may have thousands.
NAMES = 40


@dataclass
class Play:
    """`views[t]` is the state before `actions[t]`; the last one has no action after it."""

    start: Probe
    actions: list[int] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    deals: int = 0
    """Deals drawn from views."""
    true_deals: int = 0
    """Deals among them that equal the true state."""

    @property
    def ended(self) -> bool:
        """Whether the play reached the end of the game."""
        return self.views[-1].is_terminal


def random_play(start: Probe, rng: random.Random, max_plies: int) -> Play:
    """Play to the end, or to `max_plies` if the game's `max_length` is larger."""
    play, probe, kept = Play(start), start.clone(), list[tuple[int, Probe]]()
    stops = _stops(rng, max_plies)
    while True:
        view = read_twice(probe)
        play.views.append(view)
        _check_form(probe, play)
        if view.is_terminal or not _must_continue(probe, len(play.actions), max_plies):
            break
        if len(play.actions) in stops:
            _check_names(probe, rng.sample(view.codes, min(NAMES, len(view.codes))))
            _check_clone(probe, view, rng)
            check_estimate(probe)
            drawn, true = check_views(probe, view, rng)
            play.deals, play.true_deals = play.deals + drawn, play.true_deals + true
            kept.append((len(play.actions), probe.clone()))
        action = rng.choice(view.codes)
        _step(probe, action, view)
        play.actions.append(action)
        if kept and kept[-1][0] == len(play.actions) - 1:
            _check_unmoved(kept[-1][1], view, "clone()", "changes when the original moves")
    if view.is_terminal:
        turns = [state for ply, state in kept if play.views[ply].observation is not None]
        check_auxiliary(turns, probe)
    _check_again(play, kept)
    _check_value_range(play)
    return play


def _stops(rng: random.Random, max_plies: int) -> set[int]:
    """Choose the plies to stop at: the first, and others, most of them early."""
    return {0} | {int(max_plies ** rng.random()) - 1 for _ in range(STOPS)}


def _must_continue(probe: Probe, plies: int, max_plies: int) -> bool:
    """Return whether to continue a play; fail if the game should have ended by now."""
    limit = probe.state.max_length
    if limit is not None and plies >= limit:
        probe.fail(
            "max_length",
            f"is {limit}, but the game has not ended after {plies} actions",
            "raise it, or end the game in is_terminal()",
        )
    if plies < max_plies:
        return True
    if limit is None:
        probe.fail(
            "is_terminal()",
            f"is still False after {plies} actions",
            "end every game, for example after a number of actions, or set max_length, "
            "or give check_game a larger max_plies",
        )
    return False


def _step(probe: Probe, action: int, view: View) -> None:
    """Apply an action; an array returned before must not change."""
    seen = view.observation
    returned = () if seen is None else probe.call("observation")
    probe.apply(action)
    if seen is not None and not np.array_equal(returned, seen):
        probe.fail(
            "observation()",
            "gives an array that changes when apply() moves the state",
            "return a new array every time",
        )


def _check_form(probe: Probe, play: Play) -> None:
    """Check that all observations of a game have one shape and one dtype."""
    seen = play.views[-1].observation
    first = next((v.observation for v in play.views if v.observation is not None), None)
    if seen is None or first is None:
        return
    if (seen.shape, seen.dtype) != (first.shape, first.dtype):
        probe.fail(
            "observation()",
            f"has shape {seen.shape} and dtype {seen.dtype}, "
            f"but {first.shape} and {first.dtype} earlier in the play",
            "keep one shape and dtype in all states",
        )


def _check_names(probe: Probe, codes: list[int]) -> None:
    """Check that `string_to_action` inverts `action_to_string`."""
    for code in codes:
        name = probe.call("action_to_string", code)
        if not isinstance(name, str):
            probe.fail(f"action_to_string({code})", f"gives {name!r}", "return a string")
        back = probe.call("string_to_action", name)
        if back != code:
            probe.fail(
                f"string_to_action({name!r})",
                f"gives {back!r}, but it is the name of action {code}",
                "invert action_to_string(), and give every legal action its own name",
            )


def _check_clone(probe: Probe, view: View, rng: random.Random) -> None:
    """Check that a copy equals the original, and that changing it does not change the original."""
    twin = probe.clone()
    _check_unmoved(twin, view, "clone()", "differs from the original")
    seen = None if view.observation is None else twin.call("observation")
    if seen is not None and seen.flags.writeable:
        seen[...] = ~seen if seen.dtype == bool else seen + 1
        advice = "return a new array every time"
        for state in (twin, probe):
            _check_unmoved(
                state, view, "observation()", "changes when its array is written to", advice
            )
    for _ in range(DETOUR):
        codes = read_view(twin).codes
        if not codes:
            break
        twin.apply(rng.choice(codes))
        _check_unmoved(
            probe,
            view,
            "clone()",
            f"shares state, apply({twin.path[-1]}) on the copy changes the original",
        )


def _check_unmoved(
    probe: Probe,
    view: View,
    method: str,
    problem: str,
    fix: str = "copy everything that apply() changes",
) -> None:
    now = read_view(probe)
    name = view.difference(now)
    if name is not None:
        probe.fail(
            method, f"{problem}: {name}() was {view.answer(name)}, is {now.answer(name)}", fix
        )


def _check_again(play: Play, kept: list[tuple[int, Probe]]) -> None:
    """Play the same actions again, from the first state and from the copies made on the way."""
    for begin, probe in [(0, play.start.clone()), *kept]:
        for ply, view in enumerate(play.views[begin:], begin):
            if ply > begin:
                probe.apply(play.actions[ply - 1])
            now = read_view(probe)
            name = view.difference(now)
            if name is not None:
                _fail_replay(
                    probe, play, f"{name}() is {view.answer(name)} and then {now.answer(name)}"
                )


def _fail_replay(probe: Probe, play: Play, seen: str) -> None:
    """Report a replay that differs: `apply` is random, or `clone` shares state.

    Deep copies share nothing, so if their replays differ too, `apply` is random.
    """
    try:
        runs = [_rerun(copy.deepcopy(play.start.state), play.actions) for _ in range(10)]
        random_apply = any(
            a.difference(b) for run in runs[1:] for a, b in zip(runs[0], run, strict=True)
        )
    except Exception:  # the game has no deep copy: report the more frequent cause
        random_apply = True
    if random_apply:
        probe.fail(
            "apply()",
            f"is not deterministic: when the same actions are played again, {seen}",
            "use only the state and the action, and put chance in chance_outcomes()",
        )
    probe.fail(
        "clone()",
        f"shares or loses state: when a copy plays the same actions, {seen}",
        "copy everything that apply() changes",
    )


def _rerun(state: Game, actions: list[int]) -> list[View]:
    probe = Probe(state)
    views = [read_view(probe)]
    for action in actions:
        probe.apply(action)
        views.append(read_view(probe))
    return views


def _check_value_range(play: Play) -> None:
    """Check that the sum of payments after each state lies in the game's `value_range`."""
    if not play.ended:
        return
    low, high = play.start.state.value_range
    slack = 0.0  # none for the returns alone; the sums with rewards are rounded
    to_come = list(play.views[-1].returns or ())
    for ply in range(len(play.actions), -1, -1):
        for seat, amount in enumerate(to_come):
            if not low - slack <= amount <= high + slack:
                paid = "returns()" if ply == len(play.actions) else "rewards()"
                Probe(play.start.state, tuple(play.actions)).fail(
                    paid,
                    f"pays seat {seat} {amount:g} from action {ply} on, "
                    f"but value_range is {(low, high)}",
                    "widen value_range to every amount that a state can still pay",
                )
        to_come = [a + b for a, b in zip(to_come, play.views[ply].rewards, strict=True)]
        slack = TOLERANCE * max([1.0] + [abs(end) for end in (low, high) if math.isfinite(end)])
