"""Export a learned model to ONNX, which runs without PyTorch.

Files, in one folder, each with the network's header in its metadata; any batch size:

| file | inputs | outputs |
|---|---|---|
| `representation.onnx` | `observations` | `next_hidden` |
| `dynamics.onnx` | `hidden`, `actions` (int64) | `next_hidden`, `reward` |
| `prediction.onnx` | `hidden` | `policy` (logits), `value` |

Values and rewards are decoded numbers: `[B]`, or `[B, S]` with the seat to move (or that made the
step) first. `initial` and `recurrent` combine two of the networks, so that a search makes one call
instead of two; they are not written to files.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.errors import NetworkError
from sylvan.networks.export import TOLERANCE, folded, graph_bytes
from sylvan.networks.muzero import MuZeroNetwork
from sylvan.networks.onnx_file import write_model

__all__ = ["FILES", "PARTS", "export_muzero", "part_bytes", "part_difference"]

PARTS: dict[str, tuple[list[str], list[str]]] = {
    "representation": (["observations"], ["next_hidden"]),
    "dynamics": (["hidden", "actions"], ["next_hidden", "reward"]),
    "prediction": (["hidden"], ["policy", "value"]),
    "initial": (["observations"], ["value", "policy", "next_hidden"]),
    "recurrent": (["hidden", "actions"], ["value", "reward", "policy", "next_hidden"]),
}
"""Inputs and outputs of each model."""

FILES = ("representation", "dynamics", "prediction")


def export_muzero(network: MuZeroNetwork, folder: str | PathLike[str]) -> float:
    """Write the three networks, and return their largest difference to PyTorch.

    :param folder: the output folder, created if missing.
    :raises NetworkError: a model's outputs differ from the module's; nothing is written.
    """
    models, differences = {}, {}
    for part in FILES:
        models[part], differences[part] = _compared(network, part)
    worst = max(differences, key=lambda part: differences[part])
    if not differences[worst] <= TOLERANCE:
        raise NetworkError(
            f"The exported {worst} differs from the module's by {differences[worst]:.2g}, more "
            f"than {TOLERANCE:g}: nothing is written to {folder}."
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for part, model in models.items():
        write_model(target / f"{part}.onnx", model)
    return differences[worst]


def _compared(network: MuZeroNetwork, part: str) -> tuple[bytes, float]:
    """A model and its difference to the network; traced, which is faster, if it is exact."""
    for traced in (True, False):
        model = part_bytes(network, part, traced=traced)
        difference = part_difference(network, part, model)
        if difference <= TOLERANCE:
            break
    return model, difference


def part_bytes(network: nn.Module, part: str, *, traced: bool = False) -> bytes:
    """The bytes of an `.onnx` file, not compared with the network; `traced` as in `export`."""
    module = folded(network)
    assert isinstance(module, MuZeroNetwork)
    inputs = {name: torch.from_numpy(array) for name, array in _examples(module, part, 2).items()}
    return graph_bytes(_Part(module, part), inputs, PARTS[part][1], module.header, traced=traced)


def part_difference(network: nn.Module, part: str, model: bytes) -> float:
    """The maximum difference between a network and the model of a part, over all outputs.

    Relative to the largest absolute value of an output, or to 1 if that is larger.
    """
    import onnxruntime

    assert isinstance(network, MuZeroNetwork)
    examples = _examples(network, part, 16)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = session.run(PARTS[part][1], examples)
    copied = folded(network).cpu().float()
    assert isinstance(copied, MuZeroNetwork)
    with torch.no_grad():
        wanted = _Part(copied, part)(*(torch.from_numpy(each) for each in examples.values()))
    return max(
        float(np.abs(output - tensor.numpy()).max() / max(1.0, float(tensor.abs().max())))
        for output, tensor in zip(found, wanted, strict=True)
    )


def _examples(network: MuZeroNetwork, part: str, count: int) -> dict[str, NDArray[Any]]:
    """Inputs of a part by name: bits, hidden states between 0 and 1, actions."""
    rng, header = np.random.default_rng(0), network.header
    every: dict[str, NDArray[Any]] = {
        "observations": rng.integers(0, 2, (count, *header.observation_shape)).astype(np.float32),
        "hidden": rng.random((count, *network.hidden_shape), np.float32),
        "actions": rng.integers(0, header.num_logits, count),
    }
    return {name: every[name] for name in PARTS[part][0]}


class _Part(nn.Module):
    """One of `PARTS` as a module."""

    def __init__(self, network: MuZeroNetwork, part: str) -> None:
        super().__init__()
        self.network, self.part = network, part

    def forward(
        self, first: torch.Tensor, actions: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        network = self.network
        if self.part == "representation":
            return (network.representation(first),)
        if self.part == "prediction":
            policy, value = network.prediction(first)
            return policy, network.numbers(network.value.decode(value))
        if self.part == "initial":
            value, _, policy, hidden = network.initial_inference(first)
            return value, policy, hidden
        assert actions is not None
        if self.part == "dynamics":
            hidden, reward = network.dynamics(first, actions)
            return hidden, network.numbers(network.reward.decode(reward))
        return tuple(network.recurrent_inference(first, actions))
