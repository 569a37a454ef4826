"""Layers of bodies and heads: convolutions with normalisation, dense layers, activations.

Normalisation of a convolution, by name:

- `batch`: batch normalisation; the convolution has no bias of its own.
- `fixed`: none. The initial weights preserve unit variance, and a residual tower divides by the
  expected variance (KataGo's "fixed variance initialisation"). A position's output does not depend
  on the batch, in training too.
- `folded`: none, with a bias: the batch norm is multiplied into the weights, as for lc0's files.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import nn

from sylvan.networks.settings import Activation

__all__ = ["Norm", "activation_layer", "convolution", "dense"]

Norm: TypeAlias = Literal["batch", "fixed", "folded"]


def activation_layer(name: Activation) -> nn.Module:
    """The activation with this name."""
    return {"relu": nn.ReLU, "mish": nn.Mish}[name]()


def convolution(
    inputs: int, outputs: int, size: int, norm: Norm, *, activated: bool = True
) -> nn.Sequential:
    """A convolution that keeps the board's size, and its norm: `[B, inputs, H, W]` to
    `[B, outputs, H, W]`.

    The initial weights preserve the mean square of the inputs; `activated`: after a ReLU that
    follows.
    """
    conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=norm != "batch")
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu" if activated else "linear")
    if conv.bias is not None:
        nn.init.zeros_(conv.bias)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs)) if norm == "batch" else nn.Sequential(conv)


def dense(inputs: int, outputs: int, *, last: bool = False) -> nn.Linear:
    """A dense layer; the `last` of a head has small initial weights, so that a new network gives
    nearly equal logits and neutral values.
    """
    layer = nn.Linear(inputs, outputs)
    gain = 0.1 if last else 2.0**0.5
    with torch.no_grad():
        nn.init.normal_(layer.weight, std=gain / inputs**0.5)
        nn.init.zeros_(layer.bias)
    return layer
