"""An lc0 network as an ONNX model, without PyTorch.

Inputs, outputs and header are as in `export`. Input: `observations` `[batch, 112, 8, 8]`. Outputs:
`policy` `[batch, 1858]` logits, `value` `[batch, 3]` probabilities or `[batch, 1]`, and optionally
`moves_left` `[batch, 1]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.networks.header import HEADER_KEY
from sylvan.networks.lc0.file import INPUT_PLANES, Conv, ConvPolicy
from sylvan.networks.lc0.policy import POLICY_OUTPUTS, POLICY_PLANES, conv_gather
from sylvan.networks.lc0.tower import lc0_header
from sylvan.networks.onnx_graph import Graph

if TYPE_CHECKING:
    from sylvan.networks.lc0.file import Block, Dense, DensePolicy, Floats, Head, Lc0Network

__all__ = ["lc0_model"]


def lc0_model(network: Lc0Network, history_fill: str = "fen_only") -> bytes:
    """The bytes of an `.onnx` file."""
    header = lc0_header(network, history_fill)
    builder = _Builder(network.activation)
    x = builder.conv(builder.graph.input("observations", INPUT_PLANES, 8, 8), network.input)
    for block in network.blocks:
        x = builder.block(x, block)
    builder.policy(x, network.policy)
    builder.value(x, network.value)
    if network.moves_left is not None:
        plies = builder.head(x, network.moves_left)
        builder.graph.output("moves_left", builder.graph.node("Relu", plies), 1)
    return builder.graph.model({HEADER_KEY: header.to_json()}, "lc0")


class _Builder:
    """Writes the parts of an lc0 network as nodes of a graph; strings are names of tensors."""

    def __init__(self, activation: str) -> None:
        self.graph = Graph()
        self.mish = activation == "mish"

    def act(self, x: str) -> str:
        if not self.mish:
            return self.graph.node("Relu", x)
        return self.graph.node("Mul", x, self.graph.node("Tanh", self.graph.node("Softplus", x)))

    def conv(self, x: str, conv: Conv, act: bool = True) -> str:
        kernel = conv.weight.shape[2]
        y = self.graph.node(
            "Conv", x, conv.weight, conv.bias, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4
        )
        return self.act(y) if act else y

    def dense(self, x: str, dense: Dense) -> str:
        return self.graph.node("Gemm", x, dense.weight, dense.bias, transB=1)

    def pointwise(self, x: str, weight: Floats, bias: Floats) -> str:
        """A matrix product over channels, for tensors of one square."""
        return self.graph.node("Conv", x, weight[:, :, None, None], bias, kernel_shape=[1, 1])

    def block(self, x: str, block: Block) -> str:
        y = self.conv(self.conv(x, block.conv1), block.conv2, act=False)
        if block.squeeze is not None and block.excite is not None:
            # 1 × 1 convolutions keep the memory layout, and two products for the halves of the
            # excitation avoid a split.
            half = len(block.excite.bias) // 2
            mean = self.graph.node("GlobalAveragePool", y)
            small = self.act(self.pointwise(mean, block.squeeze.weight, block.squeeze.bias))
            weight, bias = block.excite.weight, block.excite.bias
            gate = self.graph.node("Sigmoid", self.pointwise(small, weight[:half], bias[:half]))
            shift = self.pointwise(small, weight[half:], bias[half:])
            y = self.graph.node("Add", self.graph.node("Mul", y, gate), shift)
        return self.act(self.graph.node("Add", y, x))

    def policy(self, x: str, policy: ConvPolicy | DensePolicy) -> None:
        if isinstance(policy, ConvPolicy):
            last = policy.conv2
            planes = Conv(last.weight[:POLICY_PLANES], last.bias[:POLICY_PLANES])
            y = self.conv(self.conv(x, policy.conv1), planes, act=False)
            logits = self.graph.node("Gather", self.flat(y), conv_gather(), axis=1)
        else:
            logits = self.dense(self.flat(self.conv(x, policy.conv)), policy.dense)
        self.graph.output("policy", logits, POLICY_OUTPUTS)

    def value(self, x: str, head: Head) -> None:
        y = self.head(x, head)
        outputs = len(head.dense2.bias)
        value = (
            self.graph.node("Softmax", y, axis=1) if outputs == 3 else self.graph.node("Tanh", y)
        )
        self.graph.output("value", value, outputs)

    def head(self, x: str, head: Head) -> str:
        hidden = self.act(self.dense(self.flat(self.conv(x, head.conv)), head.dense1))
        return self.dense(hidden, head.dense2)

    def flat(self, x: str) -> str:
        return self.graph.node("Flatten", x, axis=1)
