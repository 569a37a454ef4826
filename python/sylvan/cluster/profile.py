"""Which workers may play: versions, evaluation profile, and answers to fixed positions.

The games of a lease depend on every bit of the network's answers. So a worker evaluates some fixed
positions before it gets a lease. In exact mode its profile (versions, kind of device) must be the
learner's and its answers must be bit-equal; in fast mode they may differ by rounding, and a
larger difference shows a broken card or another network.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np

from sylvan._native import __version__ as native_version
from sylvan.cluster.lease import PROTOCOL
from sylvan.evaluators import AsyncEvaluator
from sylvan.evaluators.profile import profile_changes
from sylvan.games.game import Game
from sylvan.planning import Forest
from sylvan.selfplay.lease_player import AnyEvaluator
from sylvan.selfplay.roots import some_roots

__all__ = ["Probe", "WorkerFacts", "answers"]

POSITIONS = 64
"""Positions of a probe."""

TOLERANCE = 0.05
"""Maximum difference of a logit or value in fast mode: half precision differs by about 0.01."""


@dataclass(frozen=True)
class WorkerFacts:
    """A worker's facts about itself."""

    name: str
    """A new one for each start of a process."""
    node: str
    pid: int
    version: str
    """Of Sylvan: of the package and of the native module."""
    profile: dict[str, str]
    protocol: int = PROTOCOL

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Probe:
    """Fixed positions of a network, and the learner's answers to them."""

    recipe: str
    """Hash of the recipe, which says how to evaluate."""
    network: str
    """Hash of the network's file."""
    libraries: list[str]
    """Packages whose versions decide the last bits."""
    device: str
    """`cpu` or `cuda`."""
    seed: int
    """Draws the positions."""
    answers: bytes
    """Logits and values, float32."""
    version: str
    profile: dict[str, str]
    protocol: int = PROTOCOL

    def refusal(self, facts: WorkerFacts, *, exact: bool) -> str:
        """Why a worker's versions do not fit; empty: they do."""
        if facts.protocol != self.protocol:
            return (
                f"it speaks protocol {facts.protocol} and this run {self.protocol}: install the "
                f"learner's version of Sylvan, {self.version}."
            )
        if facts.version != self.version:
            return (
                f"it has Sylvan {facts.version} and the learner {self.version}: install the same "
                "version."
            )
        other = profile_changes(self.profile, facts.profile)
        if not (exact and other):
            return ""
        return (
            f"it evaluates differently from the learner ({other}): use equal machines, "
            "or --cluster-mode fast."
        )

    def difference(self, found: bytes, *, exact: bool) -> str:
        """Why a worker's answers do not fit; empty: they do."""
        if found == self.answers:
            return ""
        if len(found) != len(self.answers):
            return "it evaluates other positions: its game is not the learner's."
        mine, other = (np.frombuffer(data, np.float32) for data in (self.answers, found))
        largest = float(np.max(np.abs(mine.astype(np.float64) - other)))
        if exact:
            return (
                f"its answers to {POSITIONS} fixed positions are not the learner's (they differ by "
                f"up to {largest:.2g}): use equal machines, or --cluster-mode fast."
            )
        if np.isfinite(other).all() and largest <= TOLERANCE:
            return ""
        return (
            f"its answers to {POSITIONS} fixed positions differ from the learner's by up to "
            f"{largest:.2g}, more than {TOLERANCE}: its card or its version is broken."
        )


def version() -> str:
    """The version of the package and of the native module.

    >>> version().count("/")
    1
    """
    return f"{metadata.version('sylvan')}/{native_version}"


def answers(evaluator: AnyEvaluator, first: Game, seed: int) -> bytes:
    """An evaluator's answers to fixed positions: logits of legal actions, then values."""
    roots = some_roots(first, POSITIONS, seed)
    leaves = Forest(roots, simulations=1, noise=False).select()
    if leaves is None:
        return b""
    if isinstance(evaluator, AsyncEvaluator):
        logits, values = evaluator.collect(evaluator.submit(leaves))
    else:
        assert callable(evaluator)
        logits, values = evaluator(leaves)
    return b"".join(np.asarray(each, np.float32).tobytes() for each in (logits, values))
