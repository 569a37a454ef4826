"""A batch as a file, to look at later: `numpy.load(path)` gives its arrays by name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.networks.checkpoint import write_bytes

if TYPE_CHECKING:
    from sylvan.training.feed import TrainingBatch

__all__ = ["save_batch"]

NAMES = ("observations", "policy", "legal", "policy_weight", "value", "weight", "moves_left")


def save_batch(batch: TrainingBatch, path: Path) -> list[str]:
    """Write a batch to an `.npz` file, and name those of its arrays that are not all finite."""
    arrays = _arrays(batch)
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_bytes(path, packed.getvalue())
    return [
        name
        for name, array in arrays.items()
        if array.dtype.kind == "f" and not np.isfinite(array).all()
    ]


def _arrays(batch: TrainingBatch) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(batch, name) for name in (*NAMES, "places")}
    arrays |= {f"auxiliary.{name}": array for name, array in (batch.auxiliary or {}).items()}
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}
