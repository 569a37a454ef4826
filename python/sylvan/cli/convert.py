"""`sylvan convert`: a network's file in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError, NetworkError

if TYPE_CHECKING:
    from sylvan.networks import NetworkHeader

__all__ = ["convert"]

LC0 = (".pb", ".pb.gz")
READ = (*LC0, ".safetensors")
WRITTEN = (".onnx", ".safetensors")


def convert(
    source: Annotated[Path, typer.Argument(help="A network: .pb, .pb.gz or .safetensors.")],
    target: Annotated[Path, typer.Argument(help="What to write: .onnx or .safetensors.")],
    history_fill: Annotated[
        str,
        typer.Option(help="Boards before the first, for lc0's networks: no, fen_only or always."),
    ] = "fen_only",
) -> None:
    """Convert a network's file to ONNX, or to safetensors for PyTorch.

    lc0's files become either one without PyTorch; from safetensors to ONNX it is needed.

    Examples:

    - `sylvan convert maia-1500.pb.gz maia-1500.onnx` for ONNX Runtime
    - `sylvan convert maia-1500.pb.gz maia-1500.safetensors` to train it further
    """
    _check(source, target)
    with Bar("converting"):
        if source.name.endswith(LC0):
            header = _lc0(source, target, history_fill)
        else:
            header = _checkpoint(source, target)
    size, shape = target.stat().st_size / 1e6, " × ".join(map(str, header.observation_shape))
    print(
        f"{target} ({size:.1f} MB): {header.game}, {shape} in, {header.num_logits} logits and "
        f"{header.value} out."
    )


def _check(source: Path, target: Path) -> None:
    """Refuse now what could not be read or written later."""
    if not source.name.endswith(READ):
        raise NetworkError(f"{source} is no network by its name: give one of {', '.join(READ)}.")
    if not source.is_file():
        raise NetworkError(f"There is no file {source}: give the path of a network.")
    if target.suffix not in WRITTEN:
        raise ConfigError(f"{target} cannot be written: end its name in {' or '.join(WRITTEN)}.")
    if source.suffix == target.suffix:
        raise ConfigError(f"{source} is {source.suffix} already: there is nothing to convert.")
    if not target.parent.is_dir():
        raise ConfigError(f"{target}: there is no folder {target.parent}; make it first.")


def _lc0(source: Path, target: Path, history_fill: str) -> NetworkHeader:
    from sylvan.networks.checkpoint import write_bytes, write_checkpoint
    from sylvan.networks.lc0 import read_lc0
    from sylvan.networks.lc0_graph import lc0_model
    from sylvan.networks.lc0_tower import lc0_arrays, lc0_header

    network = read_lc0(source)
    header = lc0_header(network, history_fill)
    if target.suffix == ".onnx":
        write_bytes(target, lc0_model(network, history_fill))
    else:
        write_checkpoint(target, header, lc0_arrays(network))
    return header


def _checkpoint(source: Path, target: Path) -> NetworkHeader:
    from sylvan.networks import export_onnx, load_network

    module: Any = load_network(source)
    export_onnx(module, target)
    header: NetworkHeader = module.header
    return header
