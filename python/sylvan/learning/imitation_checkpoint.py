"""Checkpoints of an imitation: a folder with `state.json` and `part-*.safetensors`.

Parts are below 16 MB each. The tensors are those of `Imitation.state`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sylvan.errors import TrainingError
from sylvan.files import rename, write_bytes
from sylvan.learning.imitation import Imitation
from sylvan.networks.checkpoint import read_checkpoint, write_checkpoint

__all__ = ["load_checkpoint", "save_checkpoint"]

PART_BYTES = 15_000_000
"""Maximum bytes of one file of a checkpoint."""


def save_checkpoint(training: Imitation, folder: Path) -> None:
    """Replace the checkpoint; at any time either the old or the new one is complete."""
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    parts = _split(training.state())
    for number, part in enumerate(parts):
        write_checkpoint(new / f"part-{number}.safetensors", training.header, part)
    state = {
        "updates": training.updates,
        "total_samples": training.total_samples,
        "batch": training.batch,
        "train_rows": len(training.table.train_rows),
        "parts": len(parts),
        "settings": training.config.model_dump(mode="json"),
    }
    write_bytes(new / "state.json", json.dumps(state, indent=2).encode())
    shutil.rmtree(folder, ignore_errors=True)
    rename(new, folder)


def load_checkpoint(training: Imitation, folder: Path) -> bool:
    """Resume from a checkpoint; return False if there is none.

    :raises TrainingError: it has other positions, another network, batch or seed.
    """
    new = folder.with_name(folder.name + ".new")
    if not (folder / "state.json").exists():
        if not (new / "state.json").exists():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        rename(new, folder)  # the run was killed between removal and rename
    state = json.loads((folder / "state.json").read_text())
    now = training.config.model_dump(mode="json")["imitation"]
    for name in ("network", "policy_channels", "seed", "mirror"):
        before = state["settings"]["imitation"][name]
        if before != now[name]:
            raise TrainingError(
                f"{folder} was trained with {name} {before!r}, not {now[name]!r}: give the "
                "same value, or another folder with --out."
            )
    for name, found in (("batch", training.batch), ("train_rows", len(training.table.train_rows))):
        if state[name] != found:
            raise TrainingError(
                f"{folder} was trained with {name} {state[name]:,}, not {found:,}: give the "
                "same files and settings, or another folder with --out."
            )
    arrays: dict[str, NDArray[Any]] = {}
    for number in range(state["parts"]):
        arrays |= read_checkpoint(folder / f"part-{number}.safetensors")[1]
    training.restore(state["updates"], arrays)
    return True


def _split(arrays: dict[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """Group arrays into parts of at most `PART_BYTES`; a larger array has a part of its own."""
    parts: list[dict[str, NDArray[Any]]] = [{}]
    size = 0
    for name, array in arrays.items():
        if parts[-1] and size + array.nbytes > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = array
        size += array.nbytes
    return parts
