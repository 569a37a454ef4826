"""AdamW, or stochastic gradient descent with momentum, and their state as plain arrays.

Weight decay pulls weights to zero, for the sake of smoothness; it leaves biases and the scales of
norms alone, whose size says nothing about that. AdamW's is decoupled: each update multiplies by
1 − rate · decay. Of SGD it is the gradient of ½ · decay · |w|², and goes through the momentum.

Papers: Loshchilov and Hutter 2019 (AdamW); Sutskever 2013 (Nesterov's momentum).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.errors import TrainingError
from sylvan.learning.config import OptimizerName

__all__ = ["make_optimizer", "optimizer_arrays", "restore_optimizer"]


def make_optimizer(
    network: nn.Module,
    name: OptimizerName,
    *,
    momentum: float,
    second_momentum: float,
    nesterov: bool,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """An optimizer of all parameters that learn; its rate is set before each update."""
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for parameter_name, parameter in _learning(network):
        is_weight = parameter.dim() > 1 and not parameter_name.endswith("bias")
        (decayed if is_weight else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    # Fused: one pass over each tensor, which on a processor saves most of the step's time.
    if name == "adamw":
        return torch.optim.AdamW(groups, lr=0.0, betas=(momentum, second_momentum), fused=True)
    return torch.optim.SGD(
        groups, lr=0.0, momentum=momentum, nesterov=nesterov and momentum > 0, fused=True
    )


def optimizer_arrays(
    optimizer: torch.optim.Optimizer, network: nn.Module
) -> dict[str, NDArray[Any]]:
    """What the optimizer remembers: `<parameter>/<quantity>` to a copy of it."""
    arrays = {}
    for name, parameter in _learning(network):
        for quantity, value in optimizer.state.get(parameter, {}).items():
            if value is not None:
                numbers = torch.as_tensor(value).cpu().numpy()
                arrays[f"{name}/{quantity}"] = np.array(numbers, order="C")
    return arrays


def restore_optimizer(
    optimizer: torch.optim.Optimizer, network: nn.Module, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Let an optimizer remember what another one did.

    :raises TrainingError: it was the optimizer of another network; nothing is changed then.
    """
    parameters = dict(_learning(network))
    state: dict[torch.Tensor, dict[str, torch.Tensor]] = {}
    for key, array in arrays.items():
        name, _, quantity = key.rpartition("/")
        parameter = parameters.get(name)
        if parameter is None or array.shape not in ((), tuple(parameter.shape)):
            raise TrainingError(
                f"The learner's state has {key!r} of shape {array.shape}, which does not fit "
                f"{type(network).__name__}: it is the state of another network."
            )
        state.setdefault(parameter, {})[quantity] = _like(parameter, array)
    optimizer.state.clear()
    optimizer.state.update(state)


def _like(parameter: nn.Parameter, array: NDArray[Any]) -> torch.Tensor:
    """An array as PyTorch keeps it beside a parameter: same device, same layout in memory."""
    tensor = torch.from_numpy(np.array(array))
    if tensor.dim() == 0 and parameter.dim() > 0:
        return tensor.to(parameter.device)
    return torch.empty_like(parameter, requires_grad=False).copy_(tensor)


def _learning(network: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, each) for name, each in network.named_parameters() if each.requires_grad)
