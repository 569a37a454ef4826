"""`sylvan convert`: convert a network to another file format or to int8."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError, NetworkError

if TYPE_CHECKING:
    from sylvan.evaluators import NetworkEvaluator
    from sylvan.games import Game
    from sylvan.learning.quantization_loss import QuantizationLoss
    from sylvan.networks import NetworkHeader

__all__ = ["convert"]

LC0 = (".pb", ".pb.gz")
READ = (*LC0, ".safetensors", ".onnx")
WRITTEN = (".onnx", ".safetensors")

CALIBRATION = 800
"""Positions for calibration."""
MEASURED = 1000
"""Other positions, for measuring the loss."""


def convert(
    source: Annotated[Path, typer.Argument(help="A network: .pb, .pb.gz, .safetensors, .onnx.")],
    target: Annotated[Path, typer.Argument(help="The file to write: .onnx or .safetensors.")],
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantize to int8: faster, slightly less accurate.")
    ] = False,
    half: Annotated[
        bool, typer.Option("--half", help="Store weights as fp16: half the size, same accuracy.")
    ] = False,
    history_fill: Annotated[
        str,
        typer.Option(help="History fill for lc0 networks: no, fen_only or always."),
    ] = "fen_only",
    origin: Annotated[
        str | None,
        typer.Option(help="A note for the header: how, when and from what it was made."),
    ] = None,
) -> None:
    """Convert a network's file to ONNX, or to safetensors for PyTorch.

    lc0's files are converted without PyTorch; from safetensors to ONNX it is required.

    Examples:

    - `sylvan convert maia-1500.pb.gz maia-1500.onnx` for ONNX Runtime
    - `sylvan convert maia-1500.pb.gz maia-1500.safetensors` to train it further
    - `sylvan convert maia-1500.pb.gz fast.onnx --int8` in int8; prints the loss of accuracy
    - `sylvan convert runs/blob/networks/best.onnx blob.onnx --half` for a small file
    """
    _check(source, target, int8, half, origin)
    with Bar("converting") as bar:
        if target.suffix == ".safetensors":
            header, loss = _to_safetensors(source, target, history_fill), None
        else:
            header, loss = _to_onnx(source, target, int8, half, history_fill, origin, bar)
    size, shape = target.stat().st_size / 1e6, " × ".join(map(str, header.observation_shape))
    print(
        f"{target} ({size:.1f} MB): {header.game}, {shape} in, {header.num_logits} logits and "
        f"{header.value} out."
    )
    if loss is not None:
        print(f"Against fp32: {loss}.")


def _check(source: Path, target: Path, int8: bool, half: bool, origin: str | None) -> None:
    """Reject unreadable sources and unwritable targets before the conversion."""
    if not source.name.endswith(READ):
        raise NetworkError(
            f"{source} is not a network by its file name: it must end in {', '.join(READ)}."
        )
    if not source.is_file():
        raise NetworkError(f"There is no file {source}: give the path of a network.")
    if target.suffix not in WRITTEN:
        raise ConfigError(f"{target} cannot be written: end its name in {' or '.join(WRITTEN)}.")
    if int8 and half:
        raise ConfigError("--int8 already stores the other weights as fp16: omit --half.")
    if target.suffix == ".safetensors" and (int8 or half or source.suffix == ".onnx"):
        given = "--int8" if int8 else "--half"
        reason = f"{given} writes" if int8 or half else f"{source} can become"
        raise ConfigError(f"{reason} only .onnx: change the suffix of {target}.")
    if origin is not None and target.suffix != ".onnx":
        raise ConfigError(f"--origin is for .onnx files, not {target}: omit it.")
    if source.suffix == target.suffix and not (int8 or half or origin is not None):
        raise ConfigError(f"{source} is {source.suffix} already: there is nothing to convert.")
    if not target.parent.is_dir():
        raise ConfigError(f"{target}: there is no folder {target.parent}; create it first.")


def _to_safetensors(source: Path, target: Path, history_fill: str) -> NetworkHeader:
    """Write the arrays under the tower's parameter names."""
    from sylvan.networks.checkpoint import write_checkpoint
    from sylvan.networks.lc0.file import read_lc0
    from sylvan.networks.lc0.tower import lc0_arrays, lc0_header

    network = read_lc0(source)
    header = lc0_header(network, history_fill)
    write_checkpoint(target, header, lc0_arrays(network))
    return header


def _to_onnx(
    source: Path,
    target: Path,
    int8: bool,
    half: bool,
    history_fill: str,
    origin: str | None,
    bar: Bar,
) -> tuple[NetworkHeader, QuantizationLoss | None]:
    """Write an ONNX file; return the header and the loss of quantization."""
    from sylvan.evaluators import OnnxEvaluator
    from sylvan.networks.onnx_file import relabelled_model, write_model

    model = _fp32(source, history_fill)
    loss: QuantizationLoss | None = None
    evaluator = OnnxEvaluator(model, name=source.name)
    if int8:
        model, loss = _int8(model, evaluator, bar)
    if half:
        from sylvan.networks.half import halved_model

        model = halved_model(model)
    if origin is not None:
        model = relabelled_model(model, evaluator.header.replace(origin=origin))
    write_model(target, model)
    return evaluator.header, loss


def _fp32(source: Path, history_fill: str) -> bytes:
    """Convert a network to the bytes of an ONNX model."""
    from sylvan.networks.onnx_file import read_model

    if source.suffix == ".onnx":
        return read_model(source)
    if source.name.endswith(LC0):
        from sylvan.networks.lc0.file import read_lc0
        from sylvan.networks.lc0.graph import lc0_model

        return lc0_model(read_lc0(source), history_fill)
    from sylvan.networks import export_onnx, load_network

    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "network.onnx"
        export_onnx(load_network(source), exported)
        return read_model(exported)


def _int8(model: bytes, evaluator: NetworkEvaluator, bar: Bar) -> tuple[bytes, QuantizationLoss]:
    """Quantize a model; return it and its loss on other positions."""
    from sylvan.learning.positions import sample_positions
    from sylvan.learning.quantization_loss import measure_loss
    from sylvan.networks.half import halved_model
    from sylvan.networks.quantize import quantized_model

    game = _game(evaluator)
    calibration = sample_positions(game, CALIBRATION, seed=1, evaluator=evaluator)
    small = quantized_model(model, calibration, progress=bar.show, name=evaluator.name)
    small = halved_model(small)  # the weights that are not quantized
    others = sample_positions(game, MEASURED, seed=2, evaluator=evaluator)
    return small, measure_loss(evaluator, small, others)


def _game(evaluator: NetworkEvaluator) -> Game:
    """Return the first state of the game that a network plays."""
    from sylvan.games import Chess, ConnectFour, TicTacToe
    from sylvan.networks.header import game_name

    for kind in (Chess, ConnectFour, TicTacToe):
        game: Game = kind()
        if game_name(game) == evaluator.header.game:
            return game.encoded(evaluator.encoding)
    raise ConfigError(
        f"--int8 needs positions for calibration, but has none of {evaluator.header.game}, the "
        f"game of {evaluator.name}: use sylvan.networks.quantize_onnx with your own positions."
    )
