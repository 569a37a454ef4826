"""The rule of `key()`: states with equal keys look the same and have the same future.

Random plays seldom meet the same state twice, so each play is also tried with two of its actions
exchanged, which is how games usually come to one position by two ways.
"""

from __future__ import annotations

import random

from sylvan.testing.play import Play
from sylvan.testing.probe import Probe
from sylvan.testing.view import View, look

# States kept to compare with, pairs whose futures are compared, and how far.
STATES = 2000
PAIRS = 300
FUTURE = 12
EXCHANGES = 4


class KeyBook:
    """One state for every key met so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.states: dict[bytes, tuple[Probe, View]] = {}
        self.pairs = 0

    def add(self, play: Play) -> None:
        """Compare the states of a play, and of its variations, with those met before."""
        if all(view.key is None for view in play.views):
            return
        self._follow(play.start, play.actions)
        for _ in range(EXCHANGES):
            if len(play.actions) >= 3:
                actions = list(play.actions)
                i = self.rng.randrange(len(actions) - 2)
                actions[i], actions[i + 2] = actions[i + 2], actions[i]
                self._follow(play.start, actions)

    def _follow(self, start: Probe, actions: list[int]) -> None:
        """Play as far as the actions are legal."""
        probe = start.clone()
        for action in [*actions, None]:
            view = look(probe)
            self._meet(probe, view)
            if action not in view.codes:
                return
            probe.apply(action)

    def _meet(self, probe: Probe, view: View) -> None:
        if view.key is None:
            return
        if view.key not in self.states:
            if len(self.states) < STATES:
                self.states[view.key] = (probe.clone(), view)
            return
        known, _ = self.states[view.key]
        if known.path != probe.path and self.pairs < PAIRS:
            self.pairs += 1
            self._compare(known.clone(), probe.clone())

    def _compare(self, one: Probe, other: Probe) -> None:
        """Both states take the same random actions and must stay alike."""
        met = one.path
        for step in range(FUTURE):
            mine, yours = look(one), look(other)
            # What the last step paid belongs to the path, which may differ before the meeting.
            name = mine.difference(yours, ignore=("key", "rewards") if step == 0 else ("key",))
            if name is not None:
                other.fail(
                    "key()",
                    f"was the same {Probe(one.state, met).place()}, but {name}() is "
                    f"{mine.told(name)} there and {yours.told(name)} here",
                    "put into the key all that the future and the observation depend on",
                )
            if not mine.codes:
                return
            action = self.rng.choice(mine.codes)
            one.apply(action)
            other.apply(action)
