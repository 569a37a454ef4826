"""Outputs of a learned model for numbers of unknown range: values and rewards.

*Scalar*: the number itself, trained by squared error. If its range is known, tanh maps the output
to it.

*Categorical*: a distribution over the integers −n … n, the support, trained by cross-entropy. The
mean of the distribution is the number. A number between two integers is encoded *two-hot*: 3.7 is
0.3 of 3 and 0.7 of 4. Before that numbers are transformed by

    h(x)    = sign(x) (√(|x| + 1) − 1) + ε x,    ε = 0.001
    h⁻¹(y)  = sign(y) (u² − 1),    u = 2c / (1 + √(1 + 4 ε c)),    c = |y| + 1 + ε

so that a few dozen integers cover a large range, small differences still matter, and the loss does
not grow with the size of the rewards. (u = √(|x| + 1) solves ε u² + u = c; this form has no
cancellation near y = 0.)

*Win, draw, loss*: the same over −1, 0 and 1, without the transform.

Papers: Pohlen 2018 (h); Schrittwieser 2020, appendix F (the support).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn
from torch.nn import functional

__all__ = ["Categorical", "NumberKind", "Scalar", "number_form", "squeezed", "unsqueezed"]

NumberKind = Literal["scalar", "categorical", "wdl"]

EPSILON = 0.001
"""Slope of h for large numbers, so that its inverse is not steep."""


def squeezed(numbers: torch.Tensor) -> torch.Tensor:
    """h, elementwise."""
    roots = torch.sqrt(numbers.abs() + 1.0) - 1.0
    return torch.sign(numbers) * roots + EPSILON * numbers


def unsqueezed(numbers: torch.Tensor) -> torch.Tensor:
    """The inverse of `squeezed`."""
    c = numbers.abs() + (1.0 + EPSILON)
    u = 2.0 * c / (1.0 + torch.sqrt(1.0 + 4.0 * EPSILON * c))
    return torch.sign(numbers) * (u - 1.0) * (u + 1.0)


class Scalar(nn.Module):
    """A number as one output.

    :param bounds: its minimum and maximum, if known.
    """

    size = 1
    """Outputs per number."""

    def __init__(self, bounds: tuple[float, float] | None = None) -> None:
        super().__init__()
        self.bounds = bounds
        self.unit = 1.0 if bounds is None else (bounds[1] - bounds[0]) / 2.0
        """Unit of errors: half the range."""

    def decode(self, outputs: torch.Tensor) -> torch.Tensor:
        """Numbers `[..., S]` from outputs `[..., S]`."""
        if self.bounds is None:
            return outputs.float()
        middle = (self.bounds[0] + self.bounds[1]) / 2.0
        return middle + self.unit * torch.tanh(outputs.float())

    def error(self, outputs: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """`[...]` mean squared error to numbers `[..., S]`, in units of half the range."""
        return ((self.decode(outputs) - numbers) / self.unit).square().mean(dim=-1)


class Categorical(nn.Module):
    """A number as a distribution over −n … n.

    :param reach: n.
    :param squeeze: whether to transform numbers by h.

    >>> wdl = Categorical(1, squeeze=False)
    >>> wdl.encode(torch.tensor([[0.25]])).tolist()
    [[[0.0, 0.75, 0.25]]]
    """

    bins: torch.Tensor

    def __init__(self, reach: int, *, squeeze: bool = True) -> None:
        super().__init__()
        self.size, self.squeeze = 2 * reach + 1, squeeze
        bins = torch.arange(-reach, reach + 1, dtype=torch.float32)
        self.register_buffer("bins", bins, persistent=False)

    def decode(self, outputs: torch.Tensor) -> torch.Tensor:
        """Numbers `[..., S]` from logits `[..., S * size]`."""
        logits = self._split(outputs)
        # A product, not a sum: ONNX Runtime adds a row in an order that depends on its address.
        mean = torch.softmax(logits, dim=-1) @ self.bins.float()
        return unsqueezed(mean) if self.squeeze else mean

    def encode(self, numbers: torch.Tensor) -> torch.Tensor:
        """Two-hot distributions `[..., S, size]` of numbers `[..., S]`, clipped to the support."""
        transformed = squeezed(numbers) if self.squeeze else numbers
        reach = (self.size - 1) / 2
        distances = (transformed.clamp(-reach, reach).unsqueeze(-1) - self.bins).abs()
        return (1.0 - distances).clamp(min=0.0)

    def error(self, outputs: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """`[...]` mean cross-entropy to numbers `[..., S]`."""
        surprise = -functional.log_softmax(self._split(outputs), dim=-1)
        return (self.encode(numbers) * surprise).sum(dim=-1).mean(dim=-1)

    def _split(self, outputs: torch.Tensor) -> torch.Tensor:
        """Logits `[..., S * size]` as `[..., S, size]`."""
        return outputs.float().reshape(*outputs.shape[:-1], -1, self.size)


def number_form(
    kind: NumberKind, support: int, bounds: tuple[float, float] | None = None
) -> Scalar | Categorical:
    """The output for a kind; `support` is for `categorical`, `bounds` for `scalar`."""
    if kind == "scalar":
        return Scalar(bounds)
    return Categorical(1, squeeze=False) if kind == "wdl" else Categorical(support)
