"""Evaluators that run a network: observations in, logits of the legal actions and values out.

A network computes `[B, num_logits]` logits for whole observations, and a value in one of three
forms; a search needs the logits of legal actions and a value per seat. The conversion is written
here, once for all runtimes: packed planes are expanded, `leaves.logit_indices` selects the logits,
and win, draw and loss become one value.

A runtime is a subclass with one method, `forward`. It may also override `infer` or `__call__` to do
their work faster, for example on a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, LeavesForest
    from sylvan.games.encoding import Encoding
    from sylvan.networks.header import NetworkHeader

__all__ = ["Inference", "NetworkEvaluator", "legal_logits"]

Floats = NDArray[np.float32]


class Inference(NamedTuple):
    """A network's output for B observations."""

    policy: Floats
    """`[B, num_logits]` logits, including illegal actions."""
    value: Floats
    """By `NetworkHeader.value`:

    - `wdl`: `[B, 3]` probabilities of win, draw and loss for the seat to move
    - `scalar`: `[B, 1]` the expected result of the seat to move
    - `seats`: `[B, num_players]` expected payments, the seat to move first, then in seat order
    """
    moves_left: Floats | None
    """`[B, 1]` plies until the end of the game; None without this head."""


class NetworkEvaluator(ABC):
    """An evaluator that runs a network."""

    def __init__(self, header: NetworkHeader, *, name: str = "network") -> None:
        self.header = header
        self.name = name

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of states that the network needs; None if the game has only one."""
        return self.header.encoding

    @abstractmethod
    def forward(self, observations: Floats) -> Inference:
        """Run the network on `[B, *header.observation_shape]`."""

    def infer(self, observations: NDArray[Any]) -> Inference:
        """Run the network on observations as the game gives them, one per row."""
        return self.forward(self.expanded(observations))

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B]` or `[B, S]`."""
        self.need_same_outputs(leaves)
        policy, value, _ = self.infer(leaves.observations)
        logits = legal_logits(policy, leaves.logit_indices, leaves.offsets)
        return logits, self.values(value, leaves.seats, leaves.forest)

    def need_same_outputs(self, leaves: Leaves) -> None:
        """Check that the leaves' logits are numbered as the network's.

        :raises EvaluationError: they are not.
        """
        if leaves.num_logits != self.header.num_logits:
            raise EvaluationError(
                f"The network {self.name} has {self.header.num_logits} policy outputs, but the "
                f"searched positions have {leaves.num_logits}: search "
                "state.encoded(evaluator.encoding)."
            )

    def expanded(self, observations: NDArray[Any]) -> Floats:
        """Expand packed planes; return float32 `[B, *header.observation_shape]`.

        :raises EvaluationError: the network takes another shape.
        """
        if observations.dtype == np.uint64 and self.encoding is not None:
            from sylvan.games.chess import expand_planes

            observations = expand_planes(observations, self.encoding.encoder)
        shape = (len(observations), *self.header.observation_shape)
        if observations.shape != shape:
            raise EvaluationError(
                f"The observations have shape {observations.shape}: the network {self.name} takes "
                f"{shape}."
            )
        return np.ascontiguousarray(observations, np.float32)

    def values(self, value: Floats, seats: NDArray[np.int64], forest: LeavesForest) -> Floats:
        """Convert a network's values to those that a search backs up.

        Returns `[B]` for the seat to move, or `[B, num_players]` by seat. `seats` `[B]` are the
        seats to move. A network may have more seats than the game: the surplus is ignored.
        """
        if self.header.value == "wdl":
            expected: Floats = value[:, 0] - value[:, 2]
            return expected
        if self.header.value == "scalar":
            return value[:, 0]
        count = min(forest.num_players, value.shape[1])
        columns = (np.arange(count) - seats[:, None]) % count  # of each seat in `value`
        by_seat: Floats = np.take_along_axis(value, columns, axis=1)
        return by_seat if forest.seat_values is None else forest.seat_values(by_seat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def legal_logits(policy: Floats, indices: NDArray[np.int64], offsets: NDArray[np.int64]) -> Floats:
    """Gather the logits of legal actions, concatenated, from a policy `[B, num_logits]`.

    Row i has the indices `indices[offsets[i] - offsets[0] : offsets[i + 1] - offsets[0]]`.
    """
    rows = np.repeat(np.arange(len(policy)), np.diff(offsets))
    logits: Floats = policy[rows, indices]
    return logits
