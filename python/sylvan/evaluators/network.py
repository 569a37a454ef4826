"""Evaluators that ask a network: observations in, logits of the legal actions and values out.

A network answers for whole observations, `[B, num_logits]` logits and a value in one of three
forms; a search wants the logits of legal actions and what the position is worth. What lies between
is here, once for every runtime: packed planes become numbers, `leaves.logit_indices` says which
logit belongs to which action, and win, draw and loss become one value.

A runtime is a subclass with one method, `forward`. It may replace `infer` or `__call__` too where
it can do their work better, on a device say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, LeavesForest
    from sylvan.games.encoding import Encoding
    from sylvan.networks.header import NetworkHeader

__all__ = ["Inference", "NetworkEvaluator", "legal_logits"]

Floats = NDArray[np.float32]


class Inference(NamedTuple):
    """What a network says of B observations."""

    policy: Floats
    """`[B, num_logits]` logits, of illegal actions too."""
    value: Floats
    """For the seat to move: `[B, 3]` probabilities to win, draw and lose (`wdl`), `[B, 1]` what it
    can expect (`scalar`), or `[B, num_players]` what it and those after it can (`seats`)."""
    moves_left: Floats | None
    """`[B, 1]` plies until the end of the game, where the network guesses them."""


class NetworkEvaluator(ABC):
    """An evaluator that asks a network, in batches.

    `policy_temperature` divides the logits: above 1 the search trusts the policy less.
    """

    def __init__(
        self, header: NetworkHeader, *, name: str = "network", policy_temperature: float = 1.0
    ) -> None:
        if not 0 < policy_temperature < float("inf"):
            raise ConfigError(
                f"policy_temperature is {policy_temperature}: give a positive number, 1 for the "
                "network's own policy."
            )
        self.header = header
        self.name = name
        self.policy_temperature = policy_temperature

    @property
    def encoding(self) -> Encoding | None:
        """How a game must show itself to this network; None where there is only one way."""
        return self.header.encoding

    @abstractmethod
    def forward(self, observations: Floats) -> Inference:
        """The network's answer to `[B, *header.observation_shape]`."""

    def infer(self, observations: NDArray[Any]) -> Inference:
        """The network's answer to observations as the game gives them, one per row."""
        return self.forward(self.expanded(observations))

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B]` or `[B, seats]`."""
        self.need_same_outputs(leaves)
        policy, value, _ = self.infer(leaves.observations)
        logits = legal_logits(policy, leaves.logit_indices, leaves.offsets)
        return self.tempered(logits), self.values(value, leaves.seats, leaves.forest)

    def tempered(self, logits: Floats) -> Floats:
        """Logits divided by the policy's temperature."""
        if self.policy_temperature == 1.0:
            return logits
        return logits / np.float32(self.policy_temperature)

    def need_same_outputs(self, leaves: Leaves) -> None:
        """Refuse leaves whose logits are numbered otherwise than this network's."""
        if leaves.num_logits != self.header.num_logits:
            raise EvaluationError(
                f"The network {self.name} has {self.header.num_logits} policy outputs, but the "
                f"searched positions number {leaves.num_logits}: search state.encoded("
                "evaluator.encoding)."
            )

    def expanded(self, observations: NDArray[Any]) -> Floats:
        """Observations as numbers, `[B, *header.observation_shape]`; bits of packed planes too."""
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
        """What the search backs up: `[B]` for the seat to move, or `[B, num_players]` by seat.

        `seats` `[B]` are the seats to move. A network may know more seats than the table has: those
        that follow the last one mean nothing.
        """
        if self.header.value == "wdl":
            expected: Floats = value[:, 0] - value[:, 2]
            return expected
        if self.header.value == "scalar":
            return value[:, 0]
        count = min(forest.num_players, value.shape[1])
        places = (np.arange(count) - seats[:, None]) % count  # of each seat, counted from the mover
        by_seat: Floats = np.take_along_axis(value, places, axis=1)
        return by_seat if forest.seat_values is None else forest.seat_values(by_seat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def legal_logits(policy: Floats, indices: NDArray[np.int64], offsets: NDArray[np.int64]) -> Floats:
    """The logits of legal actions, flat, of a policy `[B, num_logits]`.

    Row i has the indices `indices[offsets[i] - offsets[0] : offsets[i + 1] - offsets[0]]`.
    """
    rows = np.repeat(np.arange(len(policy)), np.diff(offsets))
    logits: Floats = policy[rows, indices]
    return logits
