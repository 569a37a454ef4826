"""Export a run's network to a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from sylvan.errors import NetworkError
from sylvan.files import write_bytes
from sylvan.networks.checkpoint import load_network, read_header
from sylvan.runs.run import Run

__all__ = ["export_network"]


def export_network(run: Run, path: str | PathLike[str], which: str = "best") -> str:
    """Write the `best` or the `last` network of a run; return a description of the file.

    Args:
        run: the run.
        path: ends in `.onnx`, to play without PyTorch, or `.safetensors`, to train further. For a
            learned model, which is three networks, a folder for their `.onnx` files.
        which: `best` or `last`.

    :raises NetworkError: the run has no network yet, or `path` has another suffix.
    """
    target = Path(path)
    source = run.network(which)
    if not source.is_file():
        raise NetworkError(
            f"The run {run.folder} has no network yet: continue it until its first rating, or its "
            "end."
        )
    header = read_header(source)
    if target.suffix == ".safetensors":
        write_bytes(target, source.read_bytes())
    elif run.config.run.algorithm == "muzero":
        size = _export_model(run, target, which)
        return f"{which} model of {run.folder}, {header.training_step:,} updates, {size:,} bytes"
    elif target.suffix == ".onnx":
        published = source.with_suffix(".onnx")
        if published.is_file():
            write_bytes(target, published.read_bytes())
        else:
            from sylvan.networks.export import export_onnx

            export_onnx(load_network(source), target)
    else:
        raise NetworkError(f"{target} has an unknown suffix: it must end in .onnx or .safetensors.")
    size = target.stat().st_size
    return f"{which} network of {run.folder}, {header.training_step:,} updates, {size:,} bytes"


def _export_model(run: Run, target: Path, which: str) -> int:
    """Write the networks of a learned model into a folder; return their total size in bytes."""
    if target.suffix:
        raise NetworkError(
            f"{target} is a file name, but the learned model of {run.folder} is three networks: "
            f"give a folder, such as {target.with_suffix('')}, or a .safetensors file."
        )
    files = sorted((run.networks / which).glob("*.onnx"))
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        write_bytes(target / file.name, file.read_bytes())
    return sum(file.stat().st_size for file in files)
