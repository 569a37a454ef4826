"""Rules of `key()` and `position_key()`: states with equal keys have equal futures, and with equal
`key()` also equal observations; no position key recurs on a line.

Random plays rarely reach a state twice. So each play is repeated with two of its actions
exchanged: transpositions usually arise this way.
"""

from __future__ import annotations

import random
from typing import Literal, TypeAlias

from sylvan.games.game import Game
from sylvan.testing.play import Play
from sylvan.testing.probe import Probe
from sylvan.testing.view import read_view

# Limits: states stored, pairs compared, actions per comparison, variations per play.
STATES = 2000
PAIRS = 300
FUTURE = 12
EXCHANGES = 4

Method: TypeAlias = Literal["key()", "position_key()"]


class SeenStates:
    """One state for every key seen so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.states: dict[tuple[Method, bytes], Probe] = {}
        self.pairs = 0

    def add(self, play: Play) -> None:
        """Compare the states of a play, and of its variations, with the stored states."""
        if all(view.key is None for view in play.views) and not _has_position_keys(play.start):
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
        probe, line = start.clone(), set[bytes]()
        for ply, action in enumerate([*actions, None]):
            view = read_view(probe)
            if view.key is not None:
                self._add_state("key()", view.key, probe)
            if _has_position_keys(probe):
                self._add_position(probe, ply, line)
            if action not in view.codes:
                return
            probe.apply(action)

    def _add_position(self, probe: Probe, ply: int, line: set[bytes]) -> None:
        """Check the position key of a state; `line` has those of the states before it."""
        key = probe.call("position_key", ply)
        if key is None:
            return
        if not isinstance(key, bytes):
            kind = type(key).__name__
            probe.fail("position_key()", f"gives a {kind}", "return bytes, or None for no key")
        if key in line:
            probe.fail(
                "position_key()",
                "is that of an earlier state of this line",
                "include `ply`, or a count that grows",
            )
        line.add(key)
        if not probe.call("is_repetition"):
            self._add_state("position_key()", key, probe)

    def _add_state(self, method: Method, key: bytes, probe: Probe) -> None:
        known = self.states.get((method, key))
        if known is None:
            if len(self.states) < STATES:
                self.states[method, key] = probe.clone()
        elif known.path != probe.path and self.pairs < PAIRS:
            self.pairs += 1
            self._compare(method, known.clone(), probe.clone())

    def _compare(self, method: Method, one: Probe, other: Probe) -> None:
        """Play the same random actions from both states and compare the answers."""
        path = one.path
        for step in range(FUTURE):
            if one.call("is_repetition") or other.call("is_repetition"):
                return  # a draw of one line only
            mine, yours = read_view(one), read_view(other)
            name = mine.difference(yours, ignore=_apart(method, step))
            if name is not None:
                other.fail(
                    method,
                    f"was the same {Probe(one.state, path).location()}, but {name}() is "
                    f"{mine.answer(name)} there and {yours.answer(name)} here",
                    "include in the key everything that the future and the observation depend on",
                )
            if not mine.codes:
                return
            action = self.rng.choice(mine.codes)
            one.apply(action)
            other.apply(action)


def _apart(method: Method, step: int) -> tuple[str, ...]:
    """Answers that may differ, `step` actions after two states with equal keys."""
    # The rewards of the first states belong to their paths.
    allowed = ("key", "rewards") if step == 0 else ("key",)
    # Lines that share a position may show other earlier boards.
    return allowed if method == "key()" else (*allowed, "observation")


def _has_position_keys(probe: Probe) -> bool:
    """Whether a game has position keys of its own: those of `Game` cannot be wrong."""
    return type(probe.state).position_key is not Game.position_key
