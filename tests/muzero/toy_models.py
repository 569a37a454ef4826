"""Small NumPy models, fast enough for tests."""

from __future__ import annotations

import numpy as np


class Hashed:
    """Gives every state and step its own outputs, by a fixed random projection.

    Values and rewards are small and per seat, the seat to move (or that moved) first. A row's
    outputs do not depend on the other rows.
    """

    def __init__(self, num_actions: int, seats: int = 1, width: int = 6, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.num_actions, self.seats, self.width = num_actions, seats, width
        self._turn = rng.normal(size=(width, width)).astype(np.float32)
        self._steps = rng.normal(size=(num_actions, width)).astype(np.float32)
        self._policy = rng.normal(size=(width, num_actions)).astype(np.float32)
        self._paid = rng.normal(size=(2, width, seats)).astype(np.float32)
        self._seed, self._projection = seed, None
        self.calls = 0

    def initial_inference(self, observations):
        flat = _numbers(observations)
        if self._projection is None or len(self._projection) != flat.shape[1]:
            rng = np.random.default_rng(self._seed + 1)
            self._projection = rng.normal(size=(flat.shape[1], self.width)).astype(np.float32)
        return self._outputs(np.tanh(_product(flat, self._projection)))

    def recurrent_inference(self, hidden, actions):
        return self._outputs(np.tanh(_product(hidden, self._turn) + self._steps[actions]))

    def _outputs(self, hidden):
        self.calls += 1
        value, reward = (np.tanh(_product(hidden, weights)) / 2 for weights in self._paid)
        if self.seats == 2:  # zero-sum
            value, reward = (np.stack([x[:, 0], -x[:, 0]], axis=1) for x in (value, reward))
        return value, reward, _product(hidden, self._policy), hidden


def _numbers(observations):
    array = np.ascontiguousarray(observations)
    if array.dtype == np.uint64:  # packed planes
        array = np.unpackbits(array.view(np.uint8).reshape(len(array), -1), axis=1)
    return array.reshape(len(array), -1).astype(np.float32)


def _product(rows, matrix):
    """`rows @ matrix`, with the same bits for a row in any batch, which BLAS does not promise."""
    found = np.zeros((len(rows), matrix.shape[1]), np.float32)
    for column, weights in zip(rows.T, matrix, strict=True):
        found += column[:, None] * weights
    return found
