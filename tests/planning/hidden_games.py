"""Random games with hidden hands for property tests: every fact is drawn from the public actions,
and what is private from the hands as well.

Each seat holds a number below `hands`. Whose turn it is follows from the actions so far, which all
see; what is legal also from the mover's hand; what the end pays, what a step pays and what chance
may bring from all hands. `evaluate` gives logits by the mover's hand and values by all hands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sylvan import Game
from sylvan._native import Rng, mix

NUM_ACTIONS = 7


@dataclass(frozen=True)
class Shape:
    """The kind of a game."""

    seed: int = 0
    num_players: int = 2
    depth: int = 6
    branching: int = 4
    hands: int = 3
    zero_sum: bool = False
    rewards: bool = False
    chance: float = 0.0
    """The share of states in which chance moves."""
    stop: float = 0.1
    """The share of states from ply 2 on that are terminal."""
    secret_ends: bool = False
    """Whether the game ends depends on the hands too."""


class HiddenGame(Game):
    """A state: the shape, a hash of the actions taken, the hands, or None where one is not seen."""

    num_actions = NUM_ACTIONS
    num_players = 2

    def __init__(self, shape: Shape, hands=None, key=None, past=(), observer=None) -> None:
        self.shape, self.past, self.observer = shape, past, observer
        self.over = False  # of a view: what the game itself said
        self.num_players, self.zero_sum = shape.num_players, shape.zero_sum
        self.hash = mix(shape.seed, 1) if key is None else key
        dealt = [mix(self.hash, 500 + s) % shape.hands for s in range(shape.num_players)]
        self.hands = tuple(dealt if hands is None else hands)

    def clone(self):
        copy = type(self)(self.shape, self.hands, self.hash, self.past, self.observer)
        copy.over = self.over
        return copy

    def observe(self, seat):
        view = self.clone()
        view.hands = tuple(hand if s == seat else None for s, hand in enumerate(self.hands))
        view.observer, view.over = seat, self.is_terminal()
        return view

    def sample(self, rng):
        deal = self.clone()
        deal.observer = None
        fits = [self.fitting(s) if h is None else [h] for s, h in enumerate(self.hands)]
        for _ in range(1000):
            deal.hands = tuple(hands[rng.below(len(hands))] for hands in fits)
            keys = [*(key for _, key, _ in self.past), *([] if self.is_terminal() else [self.hash])]
            if not any(deal.ended(key, ply) for ply, key in enumerate(keys)):
                return deal
        raise AssertionError("no deal fits, not even the true one")

    def fitting(self, seat):
        """The hands with which a seat could have done what it did."""
        return [
            hand
            for hand in range(self.shape.hands)
            if all(a in self.moves(key, hand) for s, key, a in self.past if s == seat)
        ]

    def ended(self, key: int, ply: int) -> bool:
        """Whether the game is over after `ply` actions, with this hash."""
        for hand in self.hands if self.shape.secret_ends else ():
            key = mix(key, 900 + hand)
        over = ply >= 2 and mix(key, 2) % 1000 < 1000 * self.shape.stop
        return over or ply >= self.shape.depth

    def draw(self, what: int, n: int) -> int:
        """A number below `n` that depends on what all have seen."""
        return mix(self.hash, what) % n

    def secret(self, what: int, n: int) -> int:
        """A number below `n` that depends on all hands too."""
        key = self.hash
        for hand in self.hands:
            key = mix(key, 900 + hand)
        return mix(key, what) % n

    @property
    def ply(self) -> int:
        return len(self.past)

    def apply(self, action: int) -> None:
        seat = None if self.is_chance() else self.to_play()
        self.past = (*self.past, (seat, self.hash, action))
        self.hash = mix(self.hash, 100 + action)

    def is_terminal(self) -> bool:
        unknown = self.observer is not None and self.shape.secret_ends
        return self.over if unknown else self.ended(self.hash, self.ply)

    def is_chance(self) -> bool:
        if self.ply == 0 or self.ply >= self.shape.depth:
            return False
        return self.draw(3, 1000) < 1000 * self.shape.chance

    def chance_outcomes(self):
        weights = [1 + self.secret(20 + i, 4) for i in range(1 + self.secret(4, 3))]
        return [((i + self.secret(8, 3)), w / sum(weights)) for i, w in enumerate(weights)]

    def to_play(self) -> int:
        return self.draw(5, self.num_players)

    def moves(self, key: int, hand: int) -> list[int]:
        own = mix(key, 300 + hand)
        count, first = 1 + mix(own, 6) % self.shape.branching, mix(own, 7) % NUM_ACTIONS
        return [(first + 3 * i) % NUM_ACTIONS for i in range(min(count, NUM_ACTIONS))]

    def legal_actions(self) -> list[int]:
        if self.is_terminal() or self.is_chance():
            return []
        return self.moves(self.hash, self.hands[self.to_play()])

    def per_seat(self, what: int, steps: int) -> list[float]:
        values = [
            2 * self.secret(what + s, steps) / (steps - 1) - 1 for s in range(self.num_players)
        ]
        return [values[0], -values[0]] if self.zero_sum else values

    def returns(self) -> list[float]:
        return self.per_seat(30, 7)

    def observation(self) -> np.ndarray:
        return np.array([self.ply, self.hash % 1024, self.hands[self.to_play()]], np.float32)


class RewardingGame(HiddenGame):
    """The same with a payment on every step."""

    value_range = (-20.0, 20.0)

    def rewards(self) -> list[float]:
        return self.per_seat(40, 9)


def make(shape: Shape) -> HiddenGame:
    """A start position where a seat is to move, whatever the seed."""
    kind = RewardingGame if shape.rewards else HiddenGame
    game = kind(shape)
    while game.is_terminal() or game.is_chance():
        shape = replace(shape, seed=shape.seed + 1)
        game = kind(shape)
    return game


def permuted(game: HiddenGame, seat: int, rng: Rng) -> HiddenGame:
    """The same game with other hands that `seat` cannot tell from the true ones."""
    return game.observe(seat).sample(rng)


def evaluate(states: list[HiddenGame]) -> list[tuple[list[float], list[float]]]:
    """Logits fixed by what the mover sees, values by all hands; ties are common."""
    answers = []
    for state in states:
        own = mix(state.hash, 700 + state.hands[state.to_play()])
        logits = [mix(own, a) % 9 / 3 for a in state.legal_actions()]
        answers.append((logits, state.per_seat(70, 41)))
    return answers


def evaluate_leaves(leaves) -> tuple[np.ndarray, np.ndarray]:
    """The same for a native forest."""
    answers = evaluate(leaves.states)
    logits = np.array([x for row, _ in answers for x in row], np.float32)
    return logits, np.array([values for _, values in answers], np.float32)
