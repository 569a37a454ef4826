"""Forward documented names of version 0.1 to their new modules, with a deprecation warning.

Old names work for one more release. Importing an old module gives the new one. The tables are data:
nothing in Sylvan uses an old name, so they do not count as imports of the named rooms.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MODULES", "NAMES", "forward_name", "install"]

MODULES = {
    "sylvan.training.config": "sylvan.runs.config",
    "sylvan.training.duel": "sylvan.ratings.duel",
    "sylvan.training.loop": "sylvan.runs.loop",
    "sylvan.training.losses": "sylvan.learning.losses",
    "sylvan.training.metrics": "sylvan.runs.metrics",
    "sylvan.training.mistakes": "sylvan.ratings.mistakes",
    "sylvan.training.plots": "sylvan.runs.plots",
    "sylvan.training.presets": "sylvan.runs.presets",
    "sylvan.training.pretrain": "sylvan.learning.pretrain",
    "sylvan.training.record": "sylvan.replay.record",
    "sylvan.training.replay": "sylvan.replay.buffer",
    "sylvan.training.replay_config": "sylvan.replay.config",
    "sylvan.training.run": "sylvan.runs.run",
    "sylvan.training.selfplay_config": "sylvan.selfplay.config",
    "sylvan.training.shards": "sylvan.replay.shards",
    "sylvan.training.targets": "sylvan.replay.targets",
    "sylvan.training.yardsticks": "sylvan.ratings.yardsticks",
    "sylvan.engines.analysis_schema": "sylvan.engines.analysis.schema",
    "sylvan.engines.annotate": "sylvan.engines.analysis.annotate",
    "sylvan.engines.arbiter": "sylvan.engines.match.arbiter",
    "sylvan.engines.batching": "sylvan.players.batching",
    "sylvan.engines.blob_advice": "sylvan.blob.advice",
    "sylvan.engines.blob_match": "sylvan.blob.match",
    "sylvan.engines.blob_players": "sylvan.blob.players",
    "sylvan.engines.blob_search": "sylvan.blob.search",
    "sylvan.engines.blob_sitting": "sylvan.blob.session",
    "sylvan.engines.clock": "sylvan.players.clock",
    "sylvan.engines.elo": "sylvan.players.elo",
    "sylvan.engines.pgn": "sylvan.games.pgn",
    "sylvan.engines.players": "sylvan.players.player",
    "sylvan.engines.report": "sylvan.engines.match.report",
    "sylvan.engines.score": "sylvan.players.score",
    "sylvan.engines.specs": "sylvan.players.specs",
    "sylvan.games.blob_deals": "sylvan.blob.deals",
    "sylvan.muzero.agent": "sylvan.runs.agent",
}
"""Old module -> new module."""

NAMES = {
    "sylvan.blob.session.BlobSitting": "sylvan.blob.session.BlobSession",
    "sylvan.evaluators.CardCounter": "sylvan.blob.card_counter.CardCounter",
    "sylvan.networks.measure_loss": "sylvan.learning.quantization_loss.measure_loss",
    "sylvan.networks.sample_positions": "sylvan.learning.positions.sample_positions",
}
"""Old name in a module -> new name."""


def install() -> None:
    """Make the old modules importable."""
    if not any(isinstance(finder, _Forwarder) for finder in sys.meta_path):
        sys.meta_path.append(_Forwarder())


def forward_name(module: str, name: str) -> Any:
    """Return the object that was `module.name`; called by the module's `__getattr__`.

    :raises AttributeError: the module never had this name.
    """
    old = f"{module}.{name}"
    if old not in NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _warn(old, NAMES[old], stacklevel=4)
    new_module, _, new_name = NAMES[old].rpartition(".")
    return getattr(import_module(new_module), new_name)


def _warn(old: str, new: str, stacklevel: int) -> None:
    warnings.warn(
        f"{old} is now {new}; version 0.3 will not have the old name.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


class _Forwarder(MetaPathFinder, Loader):
    """Finds old modules. Last in `sys.meta_path`, so Python tries every other finder first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if fullname in MODULES else None

    def create_module(self, spec: ModuleSpec) -> None:
        _warn(spec.name, MODULES[spec.name], stacklevel=2)

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns the entry that sys.modules has after this call.
        sys.modules[module.__name__] = import_module(MODULES[module.__name__])
