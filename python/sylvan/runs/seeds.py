"""Random generators by purpose: each is seeded by the run's seed, a purpose and a number.

No two parts share a generator, so a part of a run can be repeated or omitted without changing any
other.
"""

from __future__ import annotations

import zlib

import numpy as np

__all__ = ["random_numbers"]


def random_numbers(seed: int, purpose: str, number: int = 0) -> np.random.Generator:
    """The random generator of one purpose, for the step or the game `number`.

    >>> draw = random_numbers(1, "batches", 7).random()
    >>> draw == random_numbers(1, "batches", 7).random() != random_numbers(1, "batches", 8).random()
    True
    """
    words = [seed, zlib.crc32(purpose.encode()), number]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(words)))
