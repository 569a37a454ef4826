"""Save a batch to a file for debugging: `numpy.load(path)` gives its arrays by name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.files import write_bytes
from sylvan.learning.feed import AnyBatch

__all__ = ["save_batch"]

NAMES = (
    *("observations", "policy", "legal", "policy_weight", "value", "weight", "moves_left"),
    *("actions", "reward", "alive", "known", "following", "positions", "policy_actions"),
)
"""Arrays of batches of positions and of sequences; missing ones are not saved."""


def save_batch(batch: AnyBatch, path: Path) -> list[str]:
    """Write a batch to an `.npz` file; return the names of arrays that are not all finite."""
    arrays = _arrays(batch)
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_bytes(path, packed.getvalue())
    return [
        name
        for name, array in arrays.items()
        if array.dtype.kind == "f" and not np.isfinite(array).all()
    ]


def _arrays(batch: AnyBatch) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(batch, name, None) for name in NAMES}
    auxiliary = getattr(batch, "auxiliary", None) or {}
    arrays |= {f"auxiliary.{name}": array for name, array in auxiliary.items()}
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}
