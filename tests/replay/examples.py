"""Made-up training examples, in the format of the replay's batches."""

from dataclasses import dataclass, field

import numpy as np

from sylvan.networks.header import NetworkHeader


@dataclass(frozen=True)
class MadeUpBatch:
    """The arrays that the learner reads."""

    observations: np.ndarray
    policy: np.ndarray
    legal: np.ndarray
    policy_weight: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    moves_left: np.ndarray | None = None
    positions: np.ndarray | None = None
    auxiliary: dict[str, np.ndarray] = field(default_factory=dict)
    from_file: np.ndarray | None = None


class MadeUp:
    """Random observations with targets that a network can learn.

    The first number of an observation determines the winner and the best action.
    """

    def __init__(
        self,
        header: NetworkHeader,
        auxiliary: dict[str, int] | None = None,
        files: float | None = None,
    ) -> None:
        """:param files: fraction of positions from files."""
        self.header, self.files = header, files
        self.auxiliary = auxiliary or {}
        self.drawn = 0

    def sample(self, count: int, rng: np.random.Generator) -> MadeUpBatch:
        self.drawn += 1
        header = self.header
        seen = rng.integers(0, 2, (count, *header.observation_shape)).astype(np.float32)
        good = seen.reshape(count, -1)[:, 0].astype(int)
        legal = rng.random((count, header.num_logits)) < 0.7
        legal[:, :2] = True
        policy = np.zeros((count, header.num_logits), np.float32)
        policy[np.arange(count), good] = 1.0
        observations = seen
        if header.encoding is not None:
            observations = rng.integers(0, 2**63, (count, header.observation_shape[0])).astype(
                np.uint64
            )
        return MadeUpBatch(
            observations=observations,
            policy=policy,
            legal=legal,
            policy_weight=(rng.random(count) < 0.8).astype(np.float32),
            value=self._values(good),
            weight=rng.uniform(0.5, 1.5, count).astype(np.float32),
            moves_left=rng.integers(1, 30, (count, 1)).astype(np.float32)
            if header.moves_left
            else None,
            positions=np.stack([np.full(count, self.drawn), np.arange(count)], axis=1),
            auxiliary={
                name: np.repeat(good[:, None], width, axis=1).astype(np.float32)
                for name, width in self.auxiliary.items()
            },
            from_file=None if self.files is None else np.arange(count) >= count * (1 - self.files),
        )

    def _values(self, good: np.ndarray) -> np.ndarray:
        if self.header.value == "wdl":
            return np.stack([good, 0 * good, 1 - good], axis=1).astype(np.float32)
        value = (2 * good - 1).astype(np.float32)
        if self.header.value == "scalar":
            return value[:, None]
        seats = np.repeat(-value[:, None], self.header.num_players, axis=1)
        seats[:, 0] = value
        return seats
