"""Read the networks of lc0 and Maia: `.pb` and `.pb.gz` files.

A file is a protobuf message `Net`; its layers are arrays in one of four encodings. `read_lc0`
returns them as an `Lc0Network`: arrays in the layout of convolutions and matrix products, with
batch norm folded into the weights and every size checked. Only this file knows the format; `graph`
makes a model of the arrays.

It reads residual towers, with or without squeeze-excitation, with a convolutional or a dense policy
head, a value as win, draw and loss or as one number, and moves left. The error for other networks
names the feature.

Source: lc0's `proto/net.proto`, `src/neural/loader.cc` and `src/neural/network_legacy.cc`.
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.networks import protobuf
from sylvan.networks.lc0.policy import POLICY_OUTPUTS, POLICY_PLANES
from sylvan.networks.protobuf import Malformed, Message

__all__ = ["Block", "Conv", "ConvPolicy", "Dense", "DensePolicy", "Head", "Lc0Network", "read_lc0"]

Floats = NDArray[np.float32]

MAGIC = 0x1C0
INPUT_PLANES = 112
LARGEST = 2**31
"""Maximum bytes of a decompressed file, against zip bombs."""


@dataclass(frozen=True)
class Conv:
    """A convolution with padding that keeps the board's size; batch norm is folded in."""

    weight: Floats
    """`[out, in, k, k]`"""
    bias: Floats
    """`[out]`"""


@dataclass(frozen=True)
class Dense:
    """A matrix product."""

    weight: Floats
    """`[out, in]`"""
    bias: Floats
    """`[out]`"""


@dataclass(frozen=True)
class Block:
    """Two convolutions and a skip connection.

    out = act(scale · conv2(act(conv1(x))) + shift + x). Squeeze-excitation gives scale and shift:
    the mean of each channel of conv2's output, `squeeze` (C → S) + act, `excite` (S → 2C); a
    sigmoid of the first half is the scale, the second half is the shift.
    """

    conv1: Conv
    conv2: Conv
    squeeze: Dense | None
    excite: Dense | None


@dataclass(frozen=True)
class ConvPolicy:
    """Two convolutions with act between; `policy.conv_gather` selects the logits."""

    conv1: Conv
    conv2: Conv


@dataclass(frozen=True)
class DensePolicy:
    """A 1×1 convolution + act, flattened, and a matrix product to the 1858 outputs."""

    conv: Conv
    dense: Dense


@dataclass(frozen=True)
class Head:
    """A 1×1 convolution + act, flattened, a matrix product + act, a matrix product."""

    conv: Conv
    dense1: Dense
    dense2: Dense


@dataclass(frozen=True)
class Lc0Network:
    """A residual tower: 112 planes to 1858 logits, a value and optionally moves left."""

    input: Conv
    blocks: tuple[Block, ...]
    policy: ConvPolicy | DensePolicy
    value: Head
    """Three outputs are logits of win, draw and loss; tanh of one output is the value."""
    moves_left: Head | None
    """One output, plies, with a ReLU."""
    activation: str
    """`relu` or `mish`: act above."""
    training_step: int

    @property
    def channels(self) -> int:
        """Filters of the tower."""
        return len(self.input.bias)

    @property
    def wdl(self) -> bool:
        """Whether the value is win, draw and loss."""
        return len(self.value.dense2.bias) == 3


def read_lc0(path: str | PathLike[str]) -> Lc0Network:
    """Read the network in a `.pb` or `.pb.gz` file.

    :raises NetworkError: the file is not a network of lc0, is damaged, or is not supported.
    :raises OSError: the file cannot be opened.
    """
    source = Path(path)
    data = _unzipped(source.read_bytes(), source)
    if data[:2] in (b"1\n", b"2\n"):
        raise NetworkError(
            f"{source} is a network of lc0's old text format: convert it to .pb with lc0's tools."
        )
    try:
        net = protobuf.read(data)
        if net.integer(1) != MAGIC:
            raise NetworkError(
                f"{source} is not a network of lc0: its magic number is missing; give a .pb or "
                ".pb.gz file."
            )
        return _network(net, source)
    except Malformed as error:
        raise NetworkError(
            f"{source} is not a complete network of lc0 ({error}): download it again."
        ) from None


def _unzipped(data: bytes, source: Path) -> bytes:
    """Decompress gzip, also if it was applied twice, as some downloads are."""
    while data[:2] == b"\x1f\x8b":
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(LARGEST + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise NetworkError(
                f"{source} cannot be unzipped ({str(error).lower()}): download it again."
            ) from None
        if len(data) > LARGEST:
            raise NetworkError(f"{source} unzips to over {LARGEST} bytes: it is not a network.")
    return data


def _network(net: Message, source: Path) -> Lc0Network:
    formats = net.message(4).message(2)
    weights = net.message(10)
    _need_known(net, formats, weights, source)
    # Old files imply the classical heads.
    old = formats.integer(3) < 3
    layers = _Layers(source)
    tower = layers.conv(weights.message(1), INPUT_PLANES, 3, "input")
    channels = len(tower.bias)
    blocks = tuple(
        _block(layers, block, channels, f"block {i + 1}")
        for i, block in enumerate(weights.messages(2))
    )
    convolutional = not old and (formats.integer(4) or (2 if weights[11] else 1)) == 2
    value = layers.head(weights, (6, 7, 8, 9, 10), channels, "value")
    outputs = len(value.dense2.bias)
    kind = 1 if old else formats.integer(5) or (2 if outputs == 3 else 1)
    if outputs != {1: 1, 2: 3}[kind]:
        raise NetworkError(
            f"{source} declares its value as {('one number', 'win, draw and loss')[kind - 1]}, but "
            f"has {outputs} outputs for it: it is damaged."
        )
    moves_left = None
    if formats.integer(6):
        moves_left = layers.head(weights, (12, 13, 14, 15, 16), channels, "moves left")
        if len(moves_left.dense2.bias) != 1:
            raise NetworkError(f"{source} has more than one output for moves left: it is damaged.")
    return Lc0Network(
        input=tower,
        blocks=blocks,
        policy=_policy(layers, weights, channels, convolutional),
        value=value,
        moves_left=moves_left,
        activation="mish" if formats.integer(7) else "relu",
        training_step=net.message(5).integer(1),
    )


def _need_known(net: Message, formats: Message, weights: Message, source: Path) -> None:
    """Raise an error that names an unsupported feature."""
    structure, policy, value = (formats.integer(field) for field in (3, 4, 5))
    features = (
        (structure in (6, 7, 134) or bool(weights[27]), "an attention body (a transformer)"),
        (structure == 5 or bool(net[11]), "an ONNX model inside"),
        (policy == 3 or bool(weights[17]), "an attention policy head"),
        (policy not in (0, 1, 2, 3), f"the policy head format {policy}"),
        (value not in (0, 1, 2), f"the value head format {value}"),
        (structure not in (0, 1, 2, 3, 4, 5, 6, 7, 134), f"the structure {structure}"),
        (formats.integer(1, 1) not in (0, 1), f"the input format {formats.integer(1)}"),
        (formats.integer(6) not in (0, 1), f"the moves-left format {formats.integer(6)}"),
        (formats.integer(7) not in (0, 1), f"the activation {formats.integer(7)}"),
    )
    for present, feature in features:
        if present:
            raise NetworkError(
                f"{source} has {feature}, which is not supported: give a residual tower of input "
                "format 1 with a convolutional or dense policy head, such as Maia's."
            )
    if not weights:
        raise NetworkError(f"{source} has no weights: download it again.")


def _block(layers: _Layers, block: Message, channels: int, name: str) -> Block:
    conv1 = layers.conv(block.message(1), channels, 3, f"{name}, first convolution", channels)
    conv2 = layers.conv(block.message(2), channels, 3, f"{name}, second convolution", channels)
    if not block[3]:
        return Block(conv1, conv2, None, None)
    unit = block.message(3)
    squeeze = layers.dense(unit, 1, 2, channels, f"{name}, squeeze")
    excite = layers.dense(unit, 3, 4, len(squeeze.bias), f"{name}, excitation", 2 * channels)
    return Block(conv1, conv2, squeeze, excite)


def _policy(
    layers: _Layers, weights: Message, channels: int, convolutional: bool
) -> ConvPolicy | DensePolicy:
    if convolutional:
        conv1 = layers.conv(weights.message(11), channels, 3, "policy, first convolution")
        conv2 = layers.conv(weights.message(3), len(conv1.bias), 3, "policy, second convolution")
        if len(conv2.bias) < POLICY_PLANES:
            raise NetworkError(
                f"{layers.source} has {len(conv2.bias)} policy planes: {POLICY_PLANES} are needed."
            )
        return ConvPolicy(conv1, conv2)
    conv = layers.conv(weights.message(3), channels, 1, "policy, convolution")
    dense = layers.dense(weights, 4, 5, 64 * len(conv.bias), "policy, dense", POLICY_OUTPUTS)
    return DensePolicy(conv, dense)


class _Layers:
    """Reads layers as arrays of the right shape; errors name the layer."""

    def __init__(self, source: Path) -> None:
        self.source = source

    def head(
        self, weights: Message, fields: tuple[int, int, int, int, int], channels: int, name: str
    ) -> Head:
        """A head of a convolution and two matrix products, from its field numbers."""
        convolution, w1, b1, w2, b2 = fields
        conv = self.conv(weights.message(convolution), channels, 1, f"{name}, convolution")
        dense1 = self.dense(weights, w1, b1, 64 * len(conv.bias), f"{name}, first dense layer")
        dense2 = self.dense(weights, w2, b2, len(dense1.bias), f"{name}, second dense layer")
        return Head(conv, dense1, dense2)

    def dense(
        self, message: Message, weight: int, bias: int, inputs: int, name: str, outputs: int = 0
    ) -> Dense:
        """A matrix product from `inputs` numbers to as many as its bias has."""
        b = self.numbers(message.message(bias), name)
        w = self.numbers(message.message(weight), name)
        self.need(w.size == len(b) * inputs > 0, w, f"{name}: {inputs} inputs", len(b))
        self.need(outputs in (0, len(b)), b, f"{name}: {outputs} outputs", len(b))
        return Dense(w.reshape(len(b), inputs), b)

    def conv(self, block: Message, inputs: int, kernel: int, name: str, outputs: int = 0) -> Conv:
        """A convolution with its batch norm: w · g and beta − g · (mean − bias) per output."""
        weight, bias, mean, variance, gamma, beta = (
            self.numbers(block.message(field), name) for field in range(1, 7)
        )
        count = weight.size // (inputs * kernel * kernel)
        fits = weight.size == count * inputs * kernel * kernel > 0 and outputs in (0, count)
        self.need(fits, weight, f"{name}: {inputs} inputs, {kernel}×{kernel}", outputs or count)
        for part in (bias, mean, variance, gamma, beta):
            self.need(part.size in (0, count), part, f"{name}: a number per output", count)
        # The scale is 1 without batch norm. (The field `bn_stddivs` holds variances.)
        scale = (gamma if gamma.size else 1.0) / np.sqrt(variance + 1e-5, dtype=np.float64)
        scale = scale if variance.size else np.ones(count)
        zeros = np.zeros(count, np.float32)
        bias, mean, beta = (part if part.size else zeros for part in (bias, mean, beta))
        folded = weight.reshape(count, -1) * scale[:, None]
        shape = (count, inputs, kernel, kernel)
        return Conv(
            folded.reshape(shape).astype(np.float32),
            (beta - scale * (mean - bias)).astype(np.float32),
        )

    def need(self, fits: bool, found: Floats, what: str, outputs: int) -> None:
        if not fits:
            raise NetworkError(
                f"{self.source} has {found.size} numbers that do not fit in {what} and {outputs} "
                "outputs: it is damaged, or not supported."
            )

    def numbers(self, layer: Message, name: str) -> Floats:
        """The numbers of a layer; empty if it is absent."""
        data, encoding = layer.data(3), layer.integer(4, 1) or 1
        if encoding not in (1, 2, 3, 4):
            raise NetworkError(
                f"{self.source} has the unknown encoding {encoding} in {name}: update Sylvan, or "
                "convert the network with lc0's tools."
            )
        if len(data) % (4 if encoding == 4 else 2):
            raise NetworkError(f"{self.source} is damaged: {name} has a number cut in two.")
        numbers = _decoded(data, encoding, layer.floating(1), layer.floating(2))
        if not np.isfinite(numbers).all():
            raise NetworkError(f"{self.source} is damaged: {name} has numbers that are not finite.")
        return numbers


def _decoded(data: memoryview, encoding: int, low: float, high: float) -> Floats:
    """Numbers from LINEAR16 (16 bits between `low` and `high`), fp16, bf16 or fp32."""
    if encoding == 4:
        return np.frombuffer(data, "<f4").astype(np.float32)
    if encoding == 2:
        return np.frombuffer(data, "<f2").astype(np.float32)
    words = np.frombuffer(data, "<u2")
    if encoding == 3:
        return (words.astype("<u4") << 16).view(np.float32)
    share = words.astype(np.float32) / np.float32(65535)
    return (np.float32(low) * (1 - share) + np.float32(high) * share).astype(np.float32)
