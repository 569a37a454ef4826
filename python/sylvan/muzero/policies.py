"""Sparse policy targets: of thousands of actions only a few have a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["PolicyEntries"]

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PolicyEntries:
    """E entries of N states, sorted by state.

    >>> entries = PolicyEntries(np.array([0, 0, 2]), np.array([1, 3, 2]), np.float32([0.5, 0.5, 1]))
    >>> entries.dense(3, 4).tolist()
    [[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    >>> actions, policy = entries.padded(3)
    >>> actions.tolist(), policy.tolist()
    ([[1, 3], [0, 0], [2, 0]], [[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]])
    """

    states: Indices
    """`[E]` state of each entry."""
    actions: Indices
    """`[E]` action of each entry."""
    probabilities: Floats
    """`[E]`"""

    @classmethod
    def of(cls, counts: Indices, actions: NDArray[np.integer], parts: NDArray[np.number]) -> Self:
        """Create entries from counts per state, with probabilities proportional to `parts`."""
        states = np.repeat(np.arange(len(counts)), counts)
        totals = np.bincount(states, parts, len(counts))
        probabilities = parts / totals[states]
        return cls(states, actions.astype(np.int64), probabilities.astype(np.float32))

    def picked(self, chosen: Indices, numbers: Indices) -> PolicyEntries:
        """The entries of some states, renumbered: state `chosen[i]` becomes `numbers[i]`.

        :param numbers: `[n]` ascending.
        """
        begins = np.searchsorted(self.states, chosen)
        counts = np.searchsorted(self.states, chosen, side="right") - begins
        ends = np.cumsum(counts)
        at = np.repeat(begins - (ends - counts), counts)
        at += np.arange(len(at))
        states = np.repeat(numbers, counts)
        return PolicyEntries(states, self.actions[at], self.probabilities[at])

    def replaced(self, before: int, others: PolicyEntries) -> PolicyEntries:
        """A copy with other entries for all states below `before`."""
        rest = int(np.searchsorted(self.states, before))
        return PolicyEntries(
            np.concatenate([others.states, self.states[rest:]]),
            np.concatenate([others.actions, self.actions[rest:]]),
            np.concatenate([others.probabilities, self.probabilities[rest:]]),
        )

    def dense(self, states: int, num_actions: int) -> Floats:
        """`[states, num_actions]`"""
        policy = np.zeros((states, num_actions), np.float32)
        policy[self.states, self.actions] = self.probabilities
        return policy

    def padded(self, states: int) -> tuple[Indices, Floats]:
        """Actions and probabilities `[states, W]`, padded with zeros to the longest state, W."""
        counts = np.bincount(self.states, minlength=states)
        columns = np.arange(len(self.states)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = max(int(counts.max(initial=1)), 1)
        actions = np.zeros((states, width), np.int64)
        policy = np.zeros((states, width), np.float32)
        actions[self.states, columns] = self.actions
        policy[self.states, columns] = self.probabilities
        return actions, policy
