"""AdamW, or stochastic gradient descent with momentum, and their state as plain arrays.

Weight decay applies to weights, not to biases and scales of norms. AdamW's is decoupled: each
update multiplies by 1 − rate · decay. SGD's is the gradient of ½ · decay · |w|², and enters the
momentum.

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
    """An optimizer of all trainable parameters; set its rate before each update."""
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for parameter_name, parameter in _trainable(network):
        is_weight = parameter.dim() > 1 and not parameter_name.endswith("bias")
        (decayed if is_weight else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    # Fused: one pass over each tensor saves most of the step's time on a CPU.
    if name == "adamw":
        return torch.optim.AdamW(groups, lr=0.0, betas=(momentum, second_momentum), fused=True)
    return torch.optim.SGD(
        groups, lr=0.0, momentum=momentum, nesterov=nesterov and momentum > 0, fused=True
    )


def optimizer_arrays(
    optimizer: torch.optim.Optimizer, network: nn.Module
) -> dict[str, NDArray[Any]]:
    """Copies of the optimizer's state, by `<parameter>/<quantity>`."""
    arrays = {}
    for name, parameter in _trainable(network):
        for quantity, value in optimizer.state.get(parameter, {}).items():
            if value is not None:
                numbers = torch.as_tensor(value).cpu().numpy()
                arrays[f"{name}/{quantity}"] = np.array(numbers, order="C")
    return arrays


def restore_optimizer(
    optimizer: torch.optim.Optimizer, network: nn.Module, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Load the state of another optimizer.

    :raises TrainingError: the state is for another network; nothing is changed.
    """
    parameters = dict(_trainable(network))
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
    """An array as a tensor with a parameter's device and memory layout."""
    tensor = torch.from_numpy(np.array(array))
    if tensor.dim() == 0 and parameter.dim() > 0:
        return tensor.to(parameter.device)
    return torch.empty_like(parameter, requires_grad=False).copy_(tensor)


def _trainable(network: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, each) for name, each in network.named_parameters() if each.requires_grad)
