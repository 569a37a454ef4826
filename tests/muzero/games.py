"""Small games for the actor and the replay, valid and invalid."""

from __future__ import annotations

import numpy as np

import sylvan


class Ring(sylvan.Game):
    """Seats move in turn, `length` times; each action rewards its mover, the last all seats."""

    value_range = (-20.0, 20.0)

    def __init__(self, seats=3, length=7, actions=4):
        self.num_players, self.num_actions, self.length = seats, actions, length
        self.zero_sum = False
        self.played = []

    def legal_actions(self):
        """Half of the actions, every other ply."""
        return range(len(self.played) % 2, self.num_actions, 2) if self.num_actions > 2 else (0, 1)

    def apply(self, action):
        self.played.append(action)

    def clone(self):
        copy = type(self)(self.num_players, self.length, self.num_actions)
        copy.played = list(self.played)
        return copy

    def to_play(self):
        return len(self.played) % self.num_players

    def is_terminal(self):
        return len(self.played) >= self.length

    def returns(self):
        return tuple(float(seat - sum(self.played) % 3) for seat in range(self.num_players))

    def rewards(self):
        paid = [0.0] * self.num_players
        if self.played:
            paid[(len(self.played) - 1) % self.num_players] = float(self.played[-1])
        return paid

    def observation(self):
        return np.array([len(self.played), sum(self.played)], np.float32)


class Twice(Ring):
    """Every seat moves twice in a row."""

    def to_play(self):
        return len(self.played) // 2 % self.num_players


class Dice(Ring):
    """A die is rolled before every fourth move."""

    def is_chance(self):
        return len(self.played) % 4 == 3

    def chance_outcomes(self):
        return [(0, 0.5), (1, 0.5)]
