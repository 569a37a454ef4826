"""A network as a player of Blob: the action that its policy likes best, of those that are legal.

It sees what its seat sees, and nothing is searched. Asked about many hands at once it is far
quicker than one by one: matches play many rounds side by side (`sylvan.engines.blob_tables`).
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.evaluators import load_evaluator, shipped_network
from sylvan.games.blob import Blob

__all__ = ["NetworkPlayer"]


class NetworkPlayer:
    """The first choice of a network's policy; ties go to the lower action.

    :param network: a file, the folder of a run, or an evaluator; None: the one that comes with
        Sylvan.
    :raises ConfigError: none comes with Sylvan.
    :raises NetworkError: the file has no network of Blob.
    """

    def __init__(self, network: str | PathLike[str] | Any | None = None) -> None:
        source: Any = shipped_network(Blob()) if network is None else network
        if source is None:
            raise ConfigError("No network of Blob comes with Sylvan: give the file of one.")
        if isinstance(source, str | PathLike):
            source = load_evaluator(source, threads=1)
        self.evaluator = source
        self.evaluator.header.check(Blob())

    def choose(self, view: Blob, rng: _native.Rng) -> int:  # noqa: ARG002
        """A legal action of the seat that looks, whose turn it is."""
        legal = view.legal_actions()
        if len(legal) == 1:
            return int(legal[0])
        policy = self.evaluator.infer(view.observation()[None]).policy[0]
        return int(legal[int(policy[legal].argmax())])

    def choose_many(
        self, observations: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """An action `[n]` for each of what n seats see, `[n, 1338]`, and may do, `[n, 66]`."""
        policy = self.evaluator.infer(observations).policy
        best: NDArray[np.int64] = np.where(legal, policy, -np.inf).argmax(axis=1)
        return best

    def __str__(self) -> str:
        return f"network {self.evaluator.name}"
