"""A run's network as a file of its own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from sylvan.errors import NetworkError
from sylvan.files import write_bytes
from sylvan.networks.checkpoint import load_network, read_header
from sylvan.runs.run import Run

__all__ = ["export_network"]


def export_network(run: Run, path: str | PathLike[str], which: str = "best") -> str:
    """Write the `best` or the `last` network of a run; what was written, in words.

    Args:
        run: the run.
        path: ends in `.onnx`, which plays without PyTorch, or `.safetensors`, to train further; of
            a learned model, which is three networks, a folder for their `.onnx` files.
        which: `best` or `last`.

    :raises NetworkError: the run has none yet, or the ending is another.
    """
    target = Path(path)
    source = run.network(which)
    if not source.is_file():
        raise NetworkError(
            f"The run {run.folder} has no network yet: let it go on until its first rating, or its "
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
        raise NetworkError(
            f"{target} has no ending that says what to write: .onnx or .safetensors."
        )
    size = target.stat().st_size
    return f"{which} network of {run.folder}, {header.training_step:,} updates, {size:,} bytes"


def _export_model(run: Run, target: Path, which: str) -> int:
    """Write the networks of a learned model into a folder; their bytes in all."""
    if target.suffix:
        raise NetworkError(
            f"{run.folder} has learned a model, which is three networks: give a folder for them, "
            f"such as {target.with_suffix('')}, or a file .safetensors."
        )
    files = sorted((run.networks / which).glob("*.onnx"))
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        write_bytes(target / file.name, file.read_bytes())
    return sum(file.stat().st_size for file in files)
