"""A run's network as a file of its own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from sylvan.errors import NetworkError
from sylvan.networks.checkpoint import load_network, read_header, write_bytes
from sylvan.training.run import Run

__all__ = ["export_network"]


def export_network(run: Run, path: str | PathLike[str], which: str = "best") -> str:
    """Write the `best` or the `last` network of a run; what was written, in words.

    Args:
        run: the run.
        path: ends in `.onnx`, which plays without PyTorch, or `.safetensors`, to train further.
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
