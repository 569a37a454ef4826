"""Made-up sequences to learn from: a counter, as batches of the replay.

A state is a number from 0 to 5; action a adds a + 1, modulo 6. A step to 0 has reward 1, the value
is a tenth of the state, and action 0 is best in even states, 1 in odd ones. Sequences have random
lengths: past the end observations are zeros, actions random, values and rewards 0.
"""

import math

import numpy as np

from sylvan import Game
from sylvan.muzero.sequences import SequenceBatch

STATES, ACTIONS = 6, 2


class Counter(Game):
    """The counter as a game, which never ends; `shape` is that of an observation."""

    num_players, num_actions = 1, ACTIONS
    value_range = (-math.inf, math.inf)

    def __init__(self, state=0, shape=(STATES,), dtype=np.float32, players=1, actions=ACTIONS):
        self.state, self.shape, self.dtype = state, shape, dtype
        self.num_players, self.num_actions = players, actions
        self.zero_sum = players == 2
        if players > 1:
            self.value_range = (-1.0, 1.0)

    def legal_actions(self):
        return range(self.num_actions)

    def apply(self, action):
        self.state = (self.state + action + 1) % STATES

    def clone(self):
        return Counter(self.state, self.shape, self.dtype, self.num_players, self.num_actions)

    def to_play(self):
        return 0

    def is_terminal(self):
        return False

    def returns(self):
        return (0.0,) * self.num_players

    def observation(self):
        return seen(np.array([self.state]), self.shape, self.dtype)[0]


def seen(states, shape, dtype=np.float32):
    """Observations `[..., *shape]` of states: one of the first six numbers is 1."""
    flat = np.zeros((*states.shape, math.prod(shape)), dtype)
    np.put_along_axis(flat, states[..., None], 255 if dtype == np.uint8 else 1, axis=-1)
    return flat.reshape(*states.shape, *shape)


class CounterReplay:
    """A replay of counters; a batch depends only on the generator."""

    def __init__(self, game, unroll=3, following=True, length=(1, 8)):
        self.game, self.unroll, self.following, self.length = game, unroll, following, length

    def sample(self, count, rng):
        game, steps = self.game, self.unroll
        states = np.empty((count, steps + 1), np.int64)
        states[:, 0] = rng.integers(0, STATES, count)
        actions = rng.integers(0, game.num_actions, (count, steps))
        for step in range(steps):
            states[:, step + 1] = (states[:, step] + actions[:, step] + 1) % STATES
        alive = np.arange(steps + 1) < rng.integers(*self.length, count)[:, None]
        before = np.pad(alive, ((0, 0), (1, 0)), constant_values=True)[:, :-1]
        came = (states == 0) & before
        came[:, 0] = False
        policy = np.zeros((count, steps + 1, game.num_actions), np.float32)
        np.put_along_axis(policy, (states % 2)[..., None], 1, axis=-1)
        observations = seen(states, game.shape, game.dtype) * alive.reshape(
            *alive.shape, *[1] * len(game.shape)
        ).astype(game.dtype)
        return SequenceBatch(
            observations=observations[:, 0],
            actions=actions,
            value=_seats(states / 10 * alive, game.num_players),
            reward=_seats(came, game.num_players),
            policy=policy * alive[..., None],
            policy_weight=alive.astype(np.float32),
            alive=alive,
            known=np.ones_like(alive),
            following=observations[:, 1:] if self.following else None,
            weight=rng.uniform(0.5, 1.0, count).astype(np.float32),
            positions=np.arange(count),
        )


def _seats(first, players):
    """One number per seat: the first seat's, and its negative for the others."""
    signs = np.array([1.0] + [-1.0] * (players - 1), np.float32)
    return first.astype(np.float32)[..., None] * signs
