"""Our code against a library's: `python -m benchmarks.libraries [--quick] [--json] [NAME ...]`.

The measured reasons behind the section "Ours where a library exists" of `docs/dependencies.md`.

- *int8*: `sylvan.networks.quantize` against `onnxruntime.quantization`, on Maia-1500 and Maia-1900
  (from the folder that SYLVAN_NETS names): accuracy and speed against fp32.
- *shards*: a shard of games against the same columns as Arrow IPC (needs `pip install pyarrow`):
  bytes per position, time to write and to read.
- *uci_client*: `UciClient` against `chess.engine.SimpleEngine` with Stockfish: time to start,
  time per move of one node.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Measurement, rate, repeat, run_named
from benchmarks.replay import games
from sylvan.evaluators import OnnxEvaluator
from sylvan.games import Chess
from sylvan.games.naming import GameSpec
from sylvan.learning.positions import sample_positions
from sylvan.learning.quantization_loss import measure_loss
from sylvan.networks.lc0 import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.positions import Positions
from sylvan.networks.quantize import _expanded, _layers, quantized_model
from sylvan.players.uci_client import UciClient
from sylvan.replay.packing import Block, Layout
from sylvan.replay.shards import Shard, read_blocks

CALIBRATION = 800
"""Positions to calibrate on."""
TOGETHER = 64
"""Games per frame, or per Arrow record batch."""


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# int8 ---------------------------------------------------------------------------------------------


def int8(quick: bool) -> list[Measurement]:
    """Accuracy and speed of eight-bit models."""
    folder = os.environ.get("SYLVAN_NETS")
    if folder is None:
        sys.exit("error: set SYLVAN_NETS to the folder of maia-1500.pb.gz.")
    found = []
    for name in ("maia-1500", "maia-1900"):
        model = lc0_model(read_lc0(Path(folder) / f"{name}.pb.gz"))
        found += compare_int8(name, model, Chess(), quick)
    return found


def compare_int8(name: str, model: bytes, game: Any, quick: bool) -> list[Measurement]:
    """One network, quantised by us and by ONNX Runtime in three ways."""
    full = OnnxEvaluator(model, name=name)
    calibration = sample_positions(game, 200 if quick else CALIBRATION, seed=1, evaluator=full)
    others = sample_positions(game, 300 if quick else 2000, seed=2, evaluator=full)
    makers = {
        "ours": partial(quantized_model, model, calibration),
        "ORT all layers": partial(ort_model, model, calibration),
        "ORT our layers": partial(ort_model, model, calibration, same_layers=True),
        "ORT our layers, percentile": partial(
            ort_model, model, calibration, same_layers=True, method="Percentile"
        ),
    }
    found = []
    for label, make in makers.items():
        start = time.perf_counter()
        data = make()
        made = time.perf_counter() - start
        small = OnnxEvaluator(data, name=label)
        loss = measure_loss(full, small, others)
        ratios = [speed(small, others) / speed(full, others) for _ in range(3 if quick else 11)]
        gain, spread = repeat(partial(next, iter(ratios)), len(ratios))
        title = f"{name}, {label}"
        found += [
            Measurement(f"{title}: same best move", 100 * loss.top1, "%", 0.0),
            Measurement(f"{title}: policy KL", loss.policy_kl, "nats", 0.0),
            Measurement(f"{title}: value error", loss.value_error, "of -1 to 1", 0.0),
            Measurement(f"{title}: speed ÷ fp32", gain, "ratio", spread),
            Measurement(f"{title}: file", len(data) / 1e6, "MB", 0.0),
            Measurement(f"{title}: made in", made, "s", 0.0),
        ]
    return found


def speed(evaluator: OnnxEvaluator, positions: Positions, length: float = 0.3) -> float:
    """Evaluations per second in batches of 32."""
    rows, done, start = positions.observations, 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < length:
        begin = done % (len(rows) - 32)
        evaluator.infer(rows[begin : begin + 32])
        done += 32
    return done / passed


def ort_model(
    data: bytes, positions: Positions, *, same_layers: bool = False, method: str = "MinMax"
) -> bytes:
    """An eight-bit model by `quantize_static`: one scale per tensor, one per output plane."""
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    from sylvan.networks.calibration import OpenModel

    opened = OpenModel(data, "the model")
    rows = _expanded(opened, positions.observations)
    chosen = [layer.node.name for layer in _layers(opened)] if same_layers else None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.onnx", Path(folder) / "target.onnx"
        source.write_bytes(opened.to_bytes())
        if chosen is None:
            quant_pre_process(str(source), str(source))
        quantization.quantize_static(
            str(source),
            str(target),
            Reader(rows),
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,  # as ours: the fast kernels on x86
            weight_type=quantization.QuantType.QInt8,
            calibrate_method=quantization.CalibrationMethod[method],
            nodes_to_quantize=chosen,
            extra_options={"CalibPercentile": 99.99},
        )
        model = onnx.load(str(target))
    have = {item.key for item in model.metadata_props}
    for item in onnx.load_model_from_string(data).metadata_props:
        if item.key not in have:
            model.metadata_props.add(key=item.key, value=item.value)
    return bytes(model.SerializeToString())


class Reader:
    """Calibration positions in batches, as `quantize_static` asks for them."""

    def __init__(self, rows: Any) -> None:
        self._batches: Iterator[Any] = iter(np.array_split(rows, max(1, len(rows) // 50)))

    def get_next(self) -> dict[str, Any] | None:
        """A batch, or None after the last."""
        batch = next(self._batches, None)
        return None if batch is None else {"observations": batch}


# shards -------------------------------------------------------------------------------------------


def shards(quick: bool) -> list[Measurement]:
    """Games on disk: our frames against Arrow record batches, plain, with LZ4 and with zstd."""
    found = []
    for name, count in (("connect4", 500 if quick else 4000), ("chess", 64 if quick else 512)):
        records, layout = games(name, count), Layout.of(GameSpec(name))
        blocks = [Block.of(records[i : i + TOGETHER], layout) for i in range(0, count, TOGETHER)]
        positions = sum(map(len, records))
        with tempfile.TemporaryDirectory() as folder:
            writers: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
                "ours": (partial(write_shard, blocks, layout), partial(read_shard, layout)),
            }
            for codec in (None, "lz4", "zstd"):
                writers[f"Arrow {codec or 'plain'}"] = (
                    partial(write_arrow, blocks, codec),
                    read_arrow,
                )
            for label, (write, read) in writers.items():
                path = Path(folder) / label
                repeats = 3 if quick else 9
                out, out_spread = repeat(partial(rate, positions, partial(write, path)), repeats)
                back, back_spread = repeat(partial(rate, positions, partial(read, path)), repeats)
                size = path.stat().st_size / positions
                found += [
                    Measurement(f"{name}, {label}: size", size, "bytes/position", 0.0),
                    Measurement(f"{name}, {label}: written", out, "positions/s", out_spread),
                    Measurement(f"{name}, {label}: read", back, "positions/s", back_spread),
                ]
    return found


def write_shard(blocks: list[Block], layout: Layout, path: Path) -> None:
    """Packed columns as frames."""
    from sylvan.replay.shards import frame

    path.unlink(missing_ok=True)
    shard = Shard(path, layout)
    shard._write(b"".join(frame(block.to_bytes(layout), len(block)) for block in blocks))


def read_shard(layout: Layout, path: Path) -> list[Block]:
    """All columns of a shard, its checksums checked."""
    return list(read_blocks(path, layout))


def write_arrow(blocks: list[Block], codec: str | None, path: Path) -> None:
    """The same columns, one record batch per block and kind of row, in one IPC file each."""
    import pyarrow as pa

    with path.open("wb") as file:
        for tables in zip(*map(arrow_batches, blocks), strict=True):
            options = pa.ipc.IpcWriteOptions(compression=codec)
            buffer = io.BytesIO()
            with pa.ipc.new_file(buffer, tables[0].schema, options=options) as writer:
                for table in tables:
                    writer.write_batch(table)
            data = buffer.getvalue()
            file.write(len(data).to_bytes(8, "little") + data)


def arrow_batches(block: Block) -> list[Any]:
    """Rows per game, per ply, per searched ply and per policy entry: four record batches."""
    import pyarrow as pa

    seat = {"returns": block.returns[:, 0], "values": block.values[:, 0]}
    groups: list[dict[str, Any]] = [
        {
            "plies": block.plies.astype(np.uint32),
            "endings": block.endings,
            "steps": block.steps,
            "seeds": block.seeds,
            "starts": pa.array(block.starts),
            "returns": seat["returns"],
        },
        {"actions": block.actions, "seats": block.seats, "counts": block.counts},
        {
            "values": seat["values"],
            "policy_weights": block.policy_weights,
            "surprise": block.surprise,
        },
        {"targets": block.targets, "weights": block.weights},
    ]
    return [
        pa.record_batch({name: pa.array(column) for name, column in group.items()})
        for group in groups
    ]


def read_arrow(path: Path) -> list[Any]:
    """All columns as NumPy arrays; Arrow has no checksums to check."""
    import pyarrow as pa

    data, offset, found = path.read_bytes(), 0, []
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 8], "little")
        reader = pa.ipc.open_file(pa.BufferReader(data[offset + 8 : offset + 8 + size]))
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            found.append([column.to_numpy(zero_copy_only=False) for column in batch.columns])
        offset += 8 + size
    return found


# uci_client ---------------------------------------------------------------------------------------


def uci_client(quick: bool) -> list[Measurement]:
    """Two clients with Stockfish: start to ready, and moves of one node each."""
    import chess
    import chess.engine

    moves = 50 if quick else 400
    found = []

    def ours() -> tuple[float, float]:
        begun = time.perf_counter()
        client = UciClient(["stockfish"])
        ready = time.perf_counter() - begun
        took = seconds(lambda: [client.go("startpos", "nodes 1", 5.0) for _ in range(moves)])
        client.close()
        return ready, took / moves

    def theirs() -> tuple[float, float]:
        begun = time.perf_counter()
        client = chess.engine.SimpleEngine.popen_uci("stockfish")
        client.ping()
        ready = time.perf_counter() - begun
        board, limit = chess.Board(), chess.engine.Limit(nodes=1)
        took = seconds(
            lambda: [client.play(board, limit, info=chess.engine.INFO_SCORE) for _ in range(moves)]
        )
        client.quit()
        return ready, took / moves

    pairs = [(ours(), theirs()) for _ in range(3 if quick else 9)]
    for label, side in (("UciClient", 0), ("chess.engine", 1)):
        for what, unit, index in (("ready in", "ms", 0), ("move of one node", "ms", 1)):
            figures = iter([1000 * pair[side][index] for pair in pairs])
            value, spread = repeat(partial(next, figures), len(pairs))
            found.append(Measurement(f"{label}: {what}", value, unit, spread))
    return found


if __name__ == "__main__":
    run_named([int8, shards, uci_client], sys.argv[1:])
