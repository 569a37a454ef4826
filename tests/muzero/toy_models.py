"""Models in NumPy that know little: enough to plan with, quick enough for tests."""

from __future__ import annotations

import numpy as np


class Hashed:
    """Says of every state and step something of its own, by a fixed random projection.

    Values and rewards are small and per seat, the seat to move (or that moved) first.
    """

    def __init__(self, num_actions: int, seats: int = 1, width: int = 6, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.num_actions, self.seats, self.width = num_actions, seats, width
        self._turn = rng.normal(size=(width, width)).astype(np.float32)
        self._steps = rng.normal(size=(num_actions, width)).astype(np.float32)
        self._policy = rng.normal(size=(width, num_actions)).astype(np.float32)
        self._paid = rng.normal(size=(2, width, seats)).astype(np.float32)
        self._seed, self._eyes = seed, None
        self.calls = 0

    def initial_inference(self, observations):
        flat = _numbers(observations)
        if self._eyes is None or len(self._eyes) != flat.shape[1]:
            rng = np.random.default_rng(self._seed + 1)
            self._eyes = rng.normal(size=(flat.shape[1], self.width)).astype(np.float32)
        return self._said(np.tanh(flat @ self._eyes))

    def recurrent_inference(self, hidden, actions):
        return self._said(np.tanh(hidden @ self._turn + self._steps[actions]))

    def _said(self, hidden):
        self.calls += 1
        value, reward = (np.tanh(hidden @ weights) / 2 for weights in self._paid)
        if self.seats == 2:  # what one wins the other loses
            value, reward = (np.stack([x[:, 0], -x[:, 0]], axis=1) for x in (value, reward))
        return value, reward, hidden @ self._policy, hidden


def _numbers(observations):
    array = np.ascontiguousarray(observations)
    if array.dtype == np.uint64:  # packed planes
        array = np.unpackbits(array.view(np.uint8).reshape(len(array), -1), axis=1)
    return array.reshape(len(array), -1).astype(np.float32)
