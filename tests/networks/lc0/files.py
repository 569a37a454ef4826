"""lc0 networks, independent of the reader: small random ones, and real ones from files.

Files are written and read by google.protobuf from a description of lc0's messages. The outputs are
computed in plain NumPy without folding batch norm: loops over kernel offsets, no convolution
library.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

F = descriptor_pb2.FieldDescriptorProto

# Message -> field -> (number, type); a message's name, a list of one for a repeated field.
MESSAGES: dict[str, dict[str, tuple[int, Any]]] = {
    "Layer": {
        "min_val": (1, F.TYPE_FLOAT),
        "max_val": (2, F.TYPE_FLOAT),
        "params": (3, F.TYPE_BYTES),
        "encoding": (4, F.TYPE_UINT32),
        "dims": (5, [F.TYPE_UINT32]),
    },
    "ConvBlock": {
        name: (number, "Layer")
        for number, name in enumerate(
            ("weights", "biases", "bn_means", "bn_stddivs", "bn_gammas", "bn_betas"), 1
        )
    },
    "SEunit": {name: (number, "Layer") for number, name in enumerate(("w1", "b1", "w2", "b2"), 1)},
    "Residual": {"conv1": (1, "ConvBlock"), "conv2": (2, "ConvBlock"), "se": (3, "SEunit")},
    "Encoder": {"ln1_gammas": (2, "Layer")},
    "Weights": {
        "input": (1, "ConvBlock"),
        "residual": (2, ["Residual"]),
        "policy": (3, "ConvBlock"),
        "ip_pol_w": (4, "Layer"),
        "ip_pol_b": (5, "Layer"),
        "value": (6, "ConvBlock"),
        "ip1_val_w": (7, "Layer"),
        "ip1_val_b": (8, "Layer"),
        "ip2_val_w": (9, "Layer"),
        "ip2_val_b": (10, "Layer"),
        "policy1": (11, "ConvBlock"),
        "moves_left": (12, "ConvBlock"),
        "ip1_mov_w": (13, "Layer"),
        "ip1_mov_b": (14, "Layer"),
        "ip2_mov_w": (15, "Layer"),
        "ip2_mov_b": (16, "Layer"),
        "encoder": (27, ["Encoder"]),
    },
    "Training": {"training_steps": (1, F.TYPE_UINT32)},
    "NetworkFormat": {
        name: (number, F.TYPE_UINT32)
        for number, name in enumerate(
            ("input", "output", "network", "policy", "value", "moves_left", "default_activation"), 1
        )
    },
    "Format": {"weights_encoding": (1, F.TYPE_UINT32), "network_format": (2, "NetworkFormat")},
    "Net": {
        "magic": (1, F.TYPE_FIXED32),
        "license": (2, F.TYPE_STRING),
        "format": (4, "Format"),
        "training_params": (5, "Training"),
        "weights": (10, "Weights"),
    },
}


@cache
def net_class() -> Any:
    """The message class `Net`, made from the table above."""
    file = descriptor_pb2.FileDescriptorProto(name="net.proto", package="lc0", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            repeated = isinstance(kind, list)
            kind = kind[0] if repeated else kind
            entry = message.field.add(
                name=field,
                number=number,
                label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL,
            )
            if isinstance(kind, str):
                entry.type, entry.type_name = F.TYPE_MESSAGE, f".lc0.{kind}"
            else:
                entry.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lc0.Net"))


@dataclass(frozen=True)
class Shape:
    """Architecture and format of a small network."""

    blocks: int = 2
    channels: int = 5
    squeeze: int = 3  # 0: no squeeze-excitation
    conv_policy: bool = True
    wdl: bool = True
    moves_left: bool = False
    mish: bool = False
    encoding: int = 1  # LINEAR16, fp16, bf16, fp32
    batch_norm: bool = True
    gammas: bool = True
    say_format: bool = True  # old files have no formats
    seed: int = 0


class NumpyNet:
    """A network as arrays in float64, and its outputs.

    A convolution is (weight, bias, mean, variance or None, gamma, beta), a dense layer (weight,
    bias), a block two convolutions and a squeeze-excitation (w1, b1, w2, b2) or None.
    """

    mish: bool
    input: Any
    blocks: list[Any]
    policy1: Any = None  # only for a convolutional policy
    policy: Any
    dense_policy: Any = None
    value: Any
    moves: Any = None

    def act(self, x: Any) -> Any:
        return x * np.tanh(np.log1p(np.exp(x))) if self.mish else np.maximum(x, 0)

    def answer(self, planes: Any) -> tuple[Any, Any, Any]:
        """Policy, value and moves left of planes `[B, 112, 8, 8]`.

        The policy is `[B, 1858]` from a dense head, `[B, planes * 64]` from a convolutional one.
        """
        x = self.act(convolved(planes.astype(np.float64), self.input))
        for conv1, conv2, unit in self.blocks:
            y = convolved(self.act(convolved(x, conv1)), conv2)
            if unit is not None:
                w1, b1, w2, b2 = unit
                both = self.act(y.mean(axis=(2, 3)) @ w1.T + b1) @ w2.T + b2
                scale, shift = np.split(both, 2, axis=1)
                y = y / (1 + np.exp(-scale))[:, :, None, None] + shift[:, :, None, None]
            x = self.act(x + y)
        moves = np.maximum(self._headed(x, self.moves), 0) if self.moves is not None else None
        return self._policy(x), self._value(x), moves

    def _policy(self, x: Any) -> Any:
        if self.policy1 is not None:
            y = convolved(self.act(convolved(x, self.policy1)), self.policy)
            return y.reshape(len(x), -1)
        weight, bias = self.dense_policy
        return self.act(convolved(x, self.policy)).reshape(len(x), -1) @ weight.T + bias

    def _value(self, x: Any) -> Any:
        y = self._headed(x, self.value)
        if len(self.value[2][1]) == 1:
            return np.tanh(y)
        exponents = np.exp(y - y.max(axis=1, keepdims=True))
        return exponents / exponents.sum(axis=1, keepdims=True)

    def _headed(self, x: Any, head: Any) -> Any:
        conv, (w1, b1), (w2, b2) = head
        y = self.act(convolved(x, conv)).reshape(len(x), -1)
        return self.act(y @ w1.T + b1) @ w2.T + b2


class SmallNet(NumpyNet):
    """A network of some shape, with random numbers that its file stores exactly."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.mish = shape, shape.mish
        self.rng = np.random.default_rng(shape.seed)
        self.net = net_class()(magic=0x1C0, license="test")
        self.net.training_params.training_steps = 1234
        if shape.say_format:
            self._formats()
        weights, c = self.net.weights, shape.channels
        self.input = self._conv(weights.input, c, 112, 3)
        self.blocks = []
        for _ in range(shape.blocks):
            block = weights.residual.add()
            convs = self._conv(block.conv1, c, c, 3), self._conv(block.conv2, c, c, 3)
            unit = None
            if shape.squeeze:
                unit = (
                    *self._dense(block.se.w1, block.se.b1, shape.squeeze, c),
                    *self._dense(block.se.w2, block.se.b2, 2 * c, shape.squeeze),
                )
            self.blocks.append((*convs, unit))
        if shape.conv_policy:
            self.policy1 = self._conv(weights.policy1, c, c, 3)
            self.policy = self._conv(weights.policy, 80, c, 3, batch_norm=False)
        else:
            self.policy = self._conv(weights.policy, 4, c, 1)
            self.dense_policy = self._dense(weights.ip_pol_w, weights.ip_pol_b, 1858, 4 * 64)
        outputs = 3 if shape.wdl else 1
        self.value = (
            self._conv(weights.value, 2, c, 1),
            self._dense(weights.ip1_val_w, weights.ip1_val_b, 6, 128),
            self._dense(weights.ip2_val_w, weights.ip2_val_b, outputs, 6),
        )
        if shape.moves_left:
            self.moves = (
                self._conv(weights.moves_left, 2, c, 1),
                self._dense(weights.ip1_mov_w, weights.ip1_mov_b, 4, 128),
                self._dense(weights.ip2_mov_w, weights.ip2_mov_b, 1, 4),
            )

    def _formats(self) -> None:
        shape, formats = self.shape, self.net.format.network_format
        self.net.format.weights_encoding = 1
        formats.input, formats.output = 1, 2 if shape.wdl else 1
        formats.network = 4 if shape.squeeze else 3
        formats.policy = 2 if shape.conv_policy else 1
        formats.value = 2 if shape.wdl else 1
        formats.moves_left = int(shape.moves_left)
        formats.default_activation = int(shape.mish)

    def to_bytes(self) -> bytes:
        return bytes(self.net.SerializeToString())

    def _layer(self, layer: Any, *size: int, low: float = -0.5, high: float = 0.5) -> Any:
        """Write random numbers into a layer; return them as stored in the file."""
        encoding, count = self.shape.encoding, int(np.prod(size))
        if self.shape.encoding != 1:
            layer.encoding = encoding
        numbers = self.rng.uniform(low, high, count)
        if encoding == 1:
            layer.min_val, layer.max_val = low, high
            words = self.rng.integers(0, 65536, count, dtype=np.uint16)
            layer.params = words.astype("<u2").tobytes()
            return (low + (high - low) * words / 65535.0).reshape(size)
        if encoding == 2:
            layer.params = numbers.astype("<f2").tobytes()
            return numbers.astype(np.float16).astype(np.float64).reshape(size)
        if encoding == 3:
            words = numbers.astype("<f4").view("<u4") >> 16
            layer.params = words.astype("<u2").tobytes()
            return (words << 16).view(np.float32).astype(np.float64).reshape(size)
        layer.params = numbers.astype("<f4").tobytes()
        return numbers.astype(np.float32).astype(np.float64).reshape(size)

    def _dense(self, weight: Any, bias: Any, outputs: int, inputs: int) -> Any:
        return self._layer(weight, outputs, inputs), self._layer(bias, outputs)

    def _conv(
        self, block: Any, outputs: int, inputs: int, kernel: int, batch_norm: bool = True
    ) -> Any:
        weight = self._layer(block.weights, outputs, inputs, kernel, kernel)
        bias = self._layer(block.biases, outputs)
        mean, variance, gamma, beta = np.zeros(outputs), None, np.ones(outputs), np.zeros(outputs)
        if batch_norm and self.shape.batch_norm:
            mean = self._layer(block.bn_means, outputs)
            variance = self._layer(block.bn_stddivs, outputs, low=0.2, high=3.0)
            if self.shape.gammas:
                gamma = self._layer(block.bn_gammas, outputs, low=0.5, high=1.5)
                beta = self._layer(block.bn_betas, outputs)
        return weight, bias, mean, variance, gamma, beta


class FileNet(NumpyNet):
    """A Maia network, read from its file by google.protobuf: LINEAR16, squeeze-excitation,
    convolutional policy, win, draw and loss.
    """

    def __init__(self, path: Any) -> None:
        weights = net_class().FromString(gzip.decompress(path.read_bytes())).weights
        self.mish = False
        self.input = self._conv(weights.input, 112, 3)
        channels = len(self.input[0])
        self.blocks = [
            (
                self._conv(block.conv1, channels, 3),
                self._conv(block.conv2, channels, 3),
                (
                    *self._dense(block.se.w1, block.se.b1),
                    *self._dense(block.se.w2, block.se.b2),
                ),
            )
            for block in weights.residual
        ]
        self.policy1 = self._conv(weights.policy1, channels, 3)
        self.policy = self._conv(weights.policy, channels, 3)
        self.value = (
            self._conv(weights.value, channels, 1),
            self._dense(weights.ip1_val_w, weights.ip1_val_b),
            self._dense(weights.ip2_val_w, weights.ip2_val_b),
        )

    def _numbers(self, layer: Any) -> Any:
        words = np.frombuffer(layer.params, "<u2") / 65535.0
        return layer.min_val * (1 - words) + layer.max_val * words

    def _dense(self, weight: Any, bias: Any) -> Any:
        b = self._numbers(bias)
        return self._numbers(weight).reshape(len(b), -1), b

    def _conv(self, block: Any, inputs: int, kernel: int) -> Any:
        weight = self._numbers(block.weights).reshape(-1, inputs, kernel, kernel)
        if not block.HasField("bn_stddivs"):
            return weight, self._numbers(block.biases), None, None, None, None
        means, variances, gammas, betas = (
            self._numbers(getattr(block, f"bn_{name}"))
            for name in ("means", "stddivs", "gammas", "betas")
        )
        return weight, np.zeros(len(weight)), means, variances, gammas, betas


def policy_index(move: str) -> int:
    """The index of a move's logit in a convolutional head, from the mover's side."""
    files, ranks = "abcdefgh", "12345678"
    x, y = files.index(move[0]), ranks.index(move[1])
    dx, dy = files.index(move[2]) - x, ranks.index(move[3]) - y
    if move[4:] in ("q", "r", "b"):
        plane = 64 + 3 * (dx + 1) + ["r", "b", "q"].index(move[4:])
    elif abs(dx * dy) == 2:
        jumps = {(1, 2): 0, (2, 1): 1, (2, -1): 2, (1, -2): 3}
        jumps |= {(-1, -2): 4, (-2, -1): 5, (-2, 1): 6, (-1, 2): 7}
        plane = 56 + jumps[dx, dy]
    else:
        compass = {(0, 1): 0, (1, 1): 1, (1, 0): 2, (1, -1): 3}
        compass |= {(0, -1): 4, (-1, -1): 5, (-1, 0): 6, (-1, 1): 7}
        sign = (dx > 0) - (dx < 0), (dy > 0) - (dy < 0)
        plane = 7 * compass[sign] + max(abs(dx), abs(dy)) - 1
    return 64 * plane + 8 * y + x


def convolved(x: Any, layer: Any) -> Any:
    """A convolution with zeros around the board, then batch norm: `[B, in, 8, 8]` in float64."""
    weight, bias, mean, variance, gamma, beta = layer
    kernel = weight.shape[2]
    padded = np.pad(x, [(0, 0), (0, 0), (kernel // 2,) * 2, (kernel // 2,) * 2])
    y = np.zeros((len(x), len(weight), 8, 8))
    for i in range(kernel):
        for j in range(kernel):
            y += np.einsum("bchw,oc->bohw", padded[:, :, i : i + 8, j : j + 8], weight[:, :, i, j])
    y += bias[:, None, None]
    if variance is None:
        return y
    normal = (y - mean[:, None, None]) / np.sqrt(variance + 1e-5)[:, None, None]
    return normal * gamma[:, None, None] + beta[:, None, None]
