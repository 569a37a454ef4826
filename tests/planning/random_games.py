"""Random game trees for property tests: every fact of a state is drawn from its history.

A `RandomGame` has any number of seats in any order, uneven depth, forced moves, chance, rewards and
returns of any kind, all fixed by a seed and the actions taken. `evaluate` gives logits and values
that are fixed the same way, so that two searches see the same evaluations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sylvan import Game
from sylvan._native import mix

NUM_ACTIONS = 7


@dataclass(frozen=True)
class Shape:
    """The kind of a game."""

    seed: int = 0
    num_players: int = 2
    depth: int = 6
    branching: int = 4
    zero_sum: bool = True
    graded: bool = False
    """Returns between the ends of the range too, not only -1, 0 and 1."""
    rewards: bool = False
    chance: float = 0.0
    """The share of states in which chance moves."""
    stop: float = 0.1
    """The share of states from ply 2 on that are terminal."""
    alternate: bool = False
    width: int = 0
    """How many positions a ply has, so that lines meet; 0: every line has its own."""


class RandomGame(Game):
    """A state: the shape and a hash of the actions taken."""

    num_players = 2
    num_actions = NUM_ACTIONS

    def __init__(self, shape: Shape, key: int | None = None, ply: int = 0, last: int = 0) -> None:
        self.shape, self.ply, self.last = shape, ply, last
        self.num_players, self.zero_sum = shape.num_players, shape.zero_sum
        self.hash = mix(shape.seed, 1) if key is None else key

    def draw(self, what: int, n: int) -> int:
        """A number below `n` that depends on the state alone."""
        return mix(self.hash, what) % n

    def clone(self) -> RandomGame:
        return type(self)(self.shape, self.hash, self.ply, self.last)

    def apply(self, action: int) -> None:
        self.hash = mix(self.hash, 100 + action)
        self.ply += 1
        self.last = action
        if self.shape.width:
            self.hash = mix(mix(self.shape.seed, self.ply), self.hash % self.shape.width)

    def is_terminal(self) -> bool:
        over = self.ply >= self.shape.depth
        return over or (self.ply >= 2 and self.draw(2, 1000) < 1000 * self.shape.stop)

    def is_chance(self) -> bool:
        if self.ply == 0 or self.is_terminal():
            return False
        return self.draw(3, 1000) < 1000 * self.shape.chance

    def chance_outcomes(self) -> list[tuple[int, float]]:
        weights = [1 + self.draw(20 + i, 4) for i in range(1 + self.draw(4, 3))]
        return [(i, w / sum(weights)) for i, w in enumerate(weights)]

    def to_play(self) -> int:
        if self.shape.alternate:
            return self.ply % self.num_players
        return self.draw(5, self.num_players)

    def legal_actions(self) -> list[int]:
        if self.is_terminal() or self.is_chance():
            return []
        count = 1 + self.draw(6, self.shape.branching)
        first = self.draw(7, NUM_ACTIONS)
        return [(first + 3 * i) % NUM_ACTIONS for i in range(min(count, NUM_ACTIONS))]

    def returns(self) -> list[float]:
        steps = 7 if self.shape.graded else 3
        values = [2 * self.draw(30 + s, steps) / (steps - 1) - 1 for s in range(self.num_players)]
        return [values[0], -values[0]] if self.zero_sum else values

    def observation(self) -> np.ndarray:
        return np.array([self.ply, self.hash % 1024], np.float32)

    def key(self) -> bytes:
        return self.hash.to_bytes(8, "little")


class RewardingGame(RandomGame):
    """The same with a payment on every step; where lines meet, each step pays its own."""

    value_range = (-20.0, 20.0)

    def rewards(self) -> list[float]:
        step = 40 + (10 + 10 * self.last if self.shape.width else 0)
        values = [self.draw(step + s, 9) / 4 - 1 for s in range(self.num_players)]
        return [values[0], -values[0]] if self.zero_sum else values


def make(shape: Shape) -> RandomGame:
    """A start position where a seat is to move, whatever the seed."""
    kind = RewardingGame if shape.rewards else RandomGame
    game = kind(shape)
    while game.is_terminal() or game.is_chance():
        game = kind(replace(shape, seed=shape.seed + 1))
        shape = game.shape
    return game


def evaluate(states: list[RandomGame]) -> list[tuple[list[float], list[float]]]:
    """Logits and values, fixed by the state; ties are common."""
    answers = []
    for state in states:
        logits = [state.draw(50 + a, 9) / 3 for a in state.legal_actions()]
        values = [state.draw(70 + s, 41) / 20 - 1 for s in range(state.num_players)]
        if state.zero_sum:
            values = [values[0], -values[0]]
        answers.append((logits, values))
    return answers


def evaluate_leaves(leaves) -> tuple[np.ndarray, np.ndarray]:
    """The same for a native forest."""
    answers = evaluate(leaves.states)
    logits = np.array([x for row, _ in answers for x in row], np.float32)
    return logits, np.array([values for _, values in answers], np.float32)


def nearly(a: float, b: float) -> bool:
    """Equal up to the rounding of a mean."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
