"""Checkpoints: the state of a run at the end of a step, in a folder that is written atomically.

    checkpoints/step-000123/
        network.safetensors, average.safetensors    networks, each with its header
        learner.safetensors, selfplay.safetensors   arrays of the parts of the run
        state.json                                  their JSON values, and a checksum of every file

A checkpoint is written under a temporary name, flushed to the disk and renamed; older ones are
deleted only after that. Reading verifies every checksum: a damaged checkpoint is renamed, and the
previous one is used.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import RunError
from sylvan.files import rename, sync_folder, write_new
from sylvan.networks.checkpoint import read_checkpoint, write_checkpoint
from sylvan.networks.header import NetworkHeader

__all__ = ["Checkpoint", "CheckpointFolder", "NetworkState", "State"]

State = Mapping[str, Any]
"""A part's state: arrays and JSON values (numbers, text, lists and dictionaries of them)."""

FORMAT = 1
"""Increased when earlier versions can no longer read a checkpoint."""

_NAME = re.compile(r"step-(\d{6,})")


@dataclass(frozen=True)
class NetworkState:
    """A network's header and weights, without its module."""

    header: NetworkHeader
    tensors: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose checksums were verified."""

    path: Path
    step: int
    elapsed: float
    """Seconds spent on the run so far, over all its sessions."""
    plain: Mapping[str, Mapping[str, Any]]

    def has(self, name: str) -> bool:
        """Whether it has arrays or a network of this name."""
        return (self.path / f"{name}.safetensors").exists()

    def network(self, name: str) -> NetworkState:
        """The network `name` (`network`, `average`)."""
        return NetworkState(*read_checkpoint(self.path / f"{name}.safetensors"))

    def part(self, name: str) -> dict[str, Any]:
        """The state of a part, as it was given to `save`."""
        from safetensors.numpy import load_file

        arrays = load_file(self.path / f"{name}.safetensors") if self.has(name) else {}
        return {**self.plain.get(name, {}), **arrays}


class CheckpointFolder:
    """All checkpoints of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int) -> Path:
        """The path of a step's checkpoint, which need not exist."""
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in ascending order."""
        names = (_NAME.fullmatch(path.name) for path in self.folder.glob("step-*"))
        return sorted(int(name[1]) for name in names if name)

    def save(
        self,
        step: int,
        elapsed: float,
        networks: Mapping[str, NetworkState],
        parts: Mapping[str, State],
    ) -> Path:
        """Write the checkpoint of a step; after this returns it survives a crash."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{self.path(step).name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            plain = _write_files(temporary, networks, parts)
            facts = {"format": FORMAT, "step": step, "elapsed": elapsed, "parts": plain}
            facts["files"] = {path.name: _checksum(path) for path in sorted(temporary.iterdir())}
            write_new(temporary / "state.json", _with_checksum(facts))
            sync_folder(temporary)
            rename(temporary, self.path(step))
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        return self.path(step)

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest valid checkpoint, and an error text for each damaged one after it.

        Damaged checkpoints are renamed, so that their steps can be repeated.

        :raises RunError: there are checkpoints, and all are damaged.
        """
        damage: list[str] = []
        for step in reversed(self.steps()):
            try:
                return self.read(step), damage
            except RunError as error:
                damage.append(str(error))
                renamed = self.path(step).with_suffix(".damaged")
                shutil.rmtree(renamed, ignore_errors=True)
                rename(self.path(step), renamed)
        if damage:
            raise RunError(
                f"Every checkpoint in {self.folder} is damaged ({damage[0].rstrip('.')}): restore "
                "the folder from a copy, or start another run with --from its networks."
            )
        return None, []

    def read(self, step: int) -> Checkpoint:
        """Read the checkpoint of a step and verify all its files.

        :raises RunError: it is missing or damaged.
        """
        path = self.path(step)
        try:
            facts = _verified((path / "state.json").read_bytes(), path)
            for name, checksum in facts["files"].items():
                if _checksum(path / name) != checksum:
                    raise RunError(f"The checkpoint {path} is damaged: {name} has changed.")
        except OSError as error:
            raise RunError(f"The checkpoint {path} is damaged: {error}.") from None
        return Checkpoint(path, facts["step"], facts["elapsed"], facts["parts"])

    def keep(self, steps: Collection[int]) -> None:
        """Remove all checkpoints except those of `steps`."""
        for step in self.steps():
            if step not in steps:
                old = self.folder / f".{self.path(step).name}.old"
                rename(self.path(step), old)  # a half-deleted one is never read
                shutil.rmtree(old, ignore_errors=True)

    def sweep(self) -> None:
        """Remove the half-written files of a killed process."""
        for leftover in self.folder.glob(".step-*"):
            shutil.rmtree(leftover, ignore_errors=True)


def _write_files(
    folder: Path, networks: Mapping[str, NetworkState], parts: Mapping[str, State]
) -> dict[str, dict[str, Any]]:
    """Write networks and arrays; return the JSON values of the parts."""
    from safetensors.numpy import save

    for name, network in networks.items():
        write_checkpoint(folder / f"{name}.safetensors", network.header, network.tensors)
    plain: dict[str, dict[str, Any]] = {}
    for name, state in parts.items():
        arrays = {key: v for key, v in state.items() if isinstance(v, np.ndarray)}
        plain[name] = {key: v for key, v in state.items() if key not in arrays}
        if arrays:
            contiguous = {key: np.asarray(array, order="C") for key, array in arrays.items()}
            write_new(folder / f"{name}.safetensors", save(contiguous))
    return plain


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _with_checksum(facts: dict[str, Any]) -> bytes:
    """JSON that contains its own checksum."""
    text = json.dumps(facts, indent=1)
    return json.dumps(facts | {"checksum": _digest(text)}, indent=1).encode()


def _verified(data: bytes, path: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(data)
        valid = facts.pop("checksum") == _digest(json.dumps(facts, indent=1))
    except (ValueError, KeyError, TypeError, AttributeError):
        valid = False
    if not valid:
        raise RunError(f"The checkpoint {path} is damaged: state.json has changed.")
    if facts["format"] > FORMAT:
        raise RunError(
            f"The checkpoint {path} has format {facts['format']}, and this version reads up to "
            f"{FORMAT}: update Sylvan."
        )
    return facts


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
