"""Rule of `key()`: states with equal keys have equal observations and equal futures.

Random plays rarely reach a state twice. So each play is repeated with two of its actions
exchanged: transpositions usually arise this way.
"""

from __future__ import annotations

import random

from sylvan.testing.play import Play
from sylvan.testing.probe import Probe
from sylvan.testing.view import View, read_view

# Limits: states stored, pairs compared, actions per comparison, variations per play.
STATES = 2000
PAIRS = 300
FUTURE = 12
EXCHANGES = 4


class SeenStates:
    """One state for every key seen so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.states: dict[bytes, tuple[Probe, View]] = {}
        self.pairs = 0

    def add(self, play: Play) -> None:
        """Compare the states of a play, and of its variations, with the stored states."""
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
        """Play the actions until one is not legal."""
        probe = start.clone()
        for action in [*actions, None]:
            view = read_view(probe)
            self._add_state(probe, view)
            if action not in view.codes:
                return
            probe.apply(action)

    def _add_state(self, probe: Probe, view: View) -> None:
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
        """Play the same random actions from both states and compare the answers."""
        path = one.path
        for step in range(FUTURE):
            mine, yours = read_view(one), read_view(other)
            # At the first state the rewards belong to the paths, which differ.
            name = mine.difference(yours, ignore=("key", "rewards") if step == 0 else ("key",))
            if name is not None:
                other.fail(
                    "key()",
                    f"was the same {Probe(one.state, path).location()}, but {name}() is "
                    f"{mine.answer(name)} there and {yours.answer(name)} here",
                    "include in the key everything that the future and the observation depend on",
                )
            if not mine.codes:
                return
            action = self.rng.choice(mine.codes)
            one.apply(action)
            other.apply(action)
