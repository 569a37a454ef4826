"""A network as a player of Blob: plays the legal action with the highest policy.

It sees the view of its seat and does not search. Evaluating many hands in one batch is much faster
than one by one, so matches play many rounds in lock-step (`sylvan.blob.tables`).

In a search (`network_search`) its policy is mixed into the root's priors; the card counter still
plays leaves out. As the evaluator of every leaf (`SearchPlayer(evaluate=...)`) the network makes a
simulation ten times slower, without a gain so far (`benchmarks/blob.md`): the result of a round is
hard to predict from one hand, and easy to play out.
"""

from __future__ import annotations

from functools import cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.blob.search import SearchPlayer
from sylvan.errors import ConfigError
from sylvan.evaluators import Evaluator, load_evaluator, shipped_network
from sylvan.evaluators.cached import network_of
from sylvan.evaluators.loading import network_file
from sylvan.evaluators.protocol import name_of
from sylvan.games import Game
from sylvan.games.blob import Blob
from sylvan.planning import SearchConfig

__all__ = ["SIMULATIONS", "NetworkPlayer", "network_named", "network_search", "shipped"]

SIMULATIONS = 1000
"""Default number of simulations of a search with a network."""


def shipped(game: Game) -> str | None:
    """Return the file in `sylvan/nets` for a game of Blob; None for other scoring rules."""
    scoring = game.rule_names()[2] if isinstance(game, _native.Blob) else None
    return "blob.onnx" if scoring == "exact_10_plus_bid" else None


class NetworkPlayer:
    """Plays the highest policy of a network; ties go to the lower action.

    :param network: a file, the folder of a run, or an evaluator; None: the one that comes with
        Sylvan.
    :raises ConfigError: Sylvan was installed without a network.
    :raises NetworkError: the file has no network of Blob.
    """

    def __init__(self, network: str | PathLike[str] | Evaluator | None = None) -> None:
        source = shipped_network(Blob()) if network is None else network
        if source is None:
            raise ConfigError("No network of Blob comes with Sylvan: give the file of one.")
        if isinstance(source, str | PathLike):
            in_onnx = network_file(source).suffix == ".onnx"
            own: dict[str, Any] = {"threads": 1} if in_onnx else {}
            source = load_evaluator(source, **own)
        evaluator = network_of(source)
        if evaluator is None:
            raise ConfigError(f"{name_of(source)} runs no network: give one of Blob.")
        self.evaluator = evaluator
        self.evaluator.header.check(Blob())

    @property
    def name(self) -> str:
        """The name shown at the table."""
        return f"network {self.evaluator.name}"

    def choose(self, view: Blob, rng: _native.Rng) -> int:  # noqa: ARG002
        """Return a legal action; it must be the observer's turn."""
        legal = view.legal_actions()
        if len(legal) == 1:
            return int(legal[0])
        return int(legal[int(self._logits(view).argmax())])

    def likes(self, view: Blob) -> list[float]:
        """Return the policy's probability of each legal action."""
        logits = self._logits(view)
        weights = np.exp(logits - logits.max())
        probabilities: list[float] = (weights / weights.sum()).tolist()
        return probabilities

    def _logits(self, view: Blob) -> NDArray[np.float64]:
        policy = self.evaluator.infer(view.observation()[None]).policy[0]
        logits: NDArray[np.float64] = policy[view.legal_actions()].astype(np.float64)
        return logits

    def choose_many(
        self, observations: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return actions `[n]` for observations `[n, 1338]` and legal actions `[n, 66]`."""
        policy = self.evaluator.infer(observations).policy
        best: NDArray[np.int64] = np.where(legal, policy, -np.inf).argmax(axis=1)
        return best

    def __str__(self) -> str:
        return self.name


def network_search(
    network: str | PathLike[str] | Evaluator | None = None, simulations: int = SIMULATIONS
) -> SearchPlayer:
    """Return an information-set search with a network's policy mixed into the root's priors."""
    return SearchPlayer(SearchConfig(simulations=simulations), opinion=NetworkPlayer(network).likes)


@cache
def network_named(text: str) -> NetworkPlayer | SearchPlayer:
    """Return the player `network` or `network_search:1000`, with the network that Sylvan has.

    :raises ConfigError: there is no such player.
    """
    name, _, count = text.partition(":")
    if name == "network" and not count:
        return NetworkPlayer()
    if name == "network_search" and (not count or (count.isdecimal() and 0 < len(count) < 8)):
        return network_search(simulations=int(count) if count else SIMULATIONS)
    raise ConfigError(
        f"{text!r} is no player of Blob: write network, network_search or network_search:1000."
    )
