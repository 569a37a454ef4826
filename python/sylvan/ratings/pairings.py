"""Pairings: the games that rate a network, as records that any machine can play.

A pairing is all that determines its games besides the networks, and a game depends only on the
pairing and the game's number. So a pairing can be cut into parts, which a cluster's workers play
(`sylvan.cluster.ratings`), and the joined parts are the pairing as played on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairing", "PlayedPairing", "PlaysPairings", "RatingWatch", "joined"]

RatingWatch = Callable[[str, int, int], None]
"""Called with an opponent's name, the number of finished games and the total."""


@dataclass(frozen=True)
class Pairing:
    """Games of a network against one opponent, or episodes of it alone."""

    opponent: str
    """A yardstick's text or a network's name; empty: none."""
    games: int
    seed: int
    network: int | None = None
    """The step of the opponent's network; None: it has none."""


@dataclass(frozen=True)
class PlayedPairing:
    """The results of consecutive games of a pairing."""

    columns: dict[str, NDArray[Any]]
    """One number per game: `score`, or `score`, `length` and `dropped` of an episode."""
    error: str = ""
    """The error of the first dropped game."""


def joined(parts: Sequence[PlayedPairing]) -> PlayedPairing:
    """The games of several parts, one after another."""
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    return PlayedPairing(columns, next((part.error for part in parts if part.error), ""))


NetworkT = TypeVar("NetworkT", contravariant=True)


@runtime_checkable
class PlaysPairings(Protocol[NetworkT]):
    """Plays pairings on other machines."""

    def play_pairings(
        self,
        settings: Mapping[str, Any],
        step: int,
        network: NetworkT,
        pairings: Mapping[Pairing, Callable[[], NetworkT] | None],
        watch: RatingWatch | None,
        /,
    ) -> dict[Pairing, PlayedPairing]:
        """Play what can be played elsewhere; this machine plays the rest.

        :param settings: the arena's, as JSON values.
        :param step: of the rated network.
        :param pairings: with the loader of the opponent's network, if it has one.
        """
