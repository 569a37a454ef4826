"""Small games for self-play: special cases, and one whose targets are computed by hand."""

from __future__ import annotations

import numpy as np

import sylvan
from tests.planning.random_games import RandomGame, RewardingGame, Shape, make


class Base(sylvan.Game):
    """Stores the actions; subclasses define the rules."""

    num_players, num_actions = 2, 2

    def __init__(self, played=()):
        self.played = list(played)

    def legal_actions(self):
        return range(self.num_actions)

    def apply(self, action):
        self.played.append(action)

    def clone(self):
        return type(self)(self.played)

    def to_play(self):
        return len(self.played) % self.num_players

    def is_terminal(self):
        return len(self.played) >= 4

    def returns(self):
        return (0.0,) * self.num_players

    def observation(self):
        return np.array([len(self.played), sum(self.played)], np.float32)


class First(Base):
    """The seat that plays a 1 first wins; after four plies it is a draw."""

    def is_terminal(self):
        return 1 in self.played or len(self.played) >= 4

    def returns(self):
        if 1 not in self.played:
            return (0.0, 0.0)
        return (1.0, -1.0) if self.played.index(1) % 2 == 0 else (-1.0, 1.0)


class Endless(Base):
    """Never ends; the seat that played more ones is ahead."""

    def is_terminal(self):
        return False

    def estimate(self):
        ahead = 0.5 if sum(self.played[::2]) > sum(self.played[1::2]) else -0.5
        return (ahead, -ahead)


class Forced(Base):
    """One legal move in every state."""

    num_actions = 1


class Alone(Base):
    """One seat, with intermediate rewards and a return."""

    num_players, zero_sum, value_range = 1, False, (0.0, 8.0)

    def returns(self):
        return (float(sum(self.played)),)

    def rewards(self):
        return (float(self.played[-1]) if self.played else 0.0,)


class Four(Base):
    """Four seats; the one that plays the last 1 wins."""

    num_players, zero_sum = 4, False

    def is_terminal(self):
        return len(self.played) >= 8

    def returns(self):
        last = max((i for i, action in enumerate(self.played) if action), default=0) % 4
        return tuple(1.0 if seat == last else -1.0 for seat in range(4))


class Raises(Base):
    """Raises an exception in its third ply."""

    def apply(self, action):
        if len(self.played) == 2 and action == 1:
            raise ZeroDivisionError("the third ply")
        super().apply(action)


class Blind(Base):
    """Raises an exception in `observation` after the first ply."""

    def observation(self):
        if self.played:
            raise KeyError("eyes")
        return np.zeros(2, np.float32)


class Offering(Base):
    """Has an auxiliary target: the sum of the remaining actions, from the mover's side."""

    def auxiliary(self, end):
        return {"sum": [sum(end.played)], "mine": sum(end.played[self.to_play() :: 2])}


class Lost(Base):
    """A long game that an evaluator can call lost."""

    def is_terminal(self):
        return len(self.played) >= 12

    def returns(self):
        return (1.0, -1.0) if self.played[0] == 1 else (-1.0, 1.0)


class Dealt(Base):
    """Has chance nodes at the start and after the second move, without observations there."""

    num_actions = 5

    def is_chance(self):
        return len(self.played) in (0, 3)

    def chance_outcomes(self):
        return [(4, 0.25), (2, 0.75)]

    def legal_actions(self):
        assert not self.is_chance()
        return [0, 1]

    def to_play(self):
        assert not self.is_chance()
        return len(self.played) % 2

    def is_terminal(self):
        return len(self.played) >= 6

    def observation(self):
        assert not self.is_chance()
        return super().observation()


class Sometimes(Dealt):
    """Raises an exception if it was dealt a 4."""

    def apply(self, action):
        super().apply(action)
        if len(self.played) == 3 and self.played[0] == 4:
            raise OverflowError("dealt a 4")


class Growing(Base):
    """Gives observations of different shapes."""

    def observation(self):
        return np.zeros(2 + len(self.played), np.float32)


class Drawn(RandomGame):
    """A game whose rules are drawn from a seed; the parameters are those of `Shape`."""

    def __init__(self, *state, **shape):
        super().__init__(*(state or (make(Shape(**shape)).shape,)))


class DrawnRewarding(RewardingGame):
    """The same with a payment on every step."""

    def __init__(self, *state, **shape):
        super().__init__(*(state or (make(Shape(rewards=True, **shape)).shape,)))
