"""Arrays of a learned model: NumPy arrays, or PyTorch tensors on any device.

PyTorch is imported only if the model returns tensors.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError

__all__ = [
    "Array",
    "batched",
    "checked_hidden",
    "highest",
    "is_on_device",
    "is_tensor",
    "num_rows",
    "on_device_of",
    "to_numpy",
]

Array: TypeAlias = Any
"""A NumPy array or a PyTorch tensor; of a user's model also lists of numbers.

Not a union: a model that declares one of them must fit `LatentModel`.
"""


def batched(observation: Array) -> Array:
    """An observation as a batch of one.

    :raises ConfigError: it cannot be converted to an array.
    """
    if hasattr(observation, "shape"):
        return observation[None]
    array = _array(observation)
    if array is None:
        raise ConfigError(
            f"The observation is a {type(observation).__name__}, which cannot be converted to an "
            "array: give an array, or a batch in the model's own format to run_many."
        )
    return array[None]


def num_rows(observations: Array) -> int | None:
    """The number of observations; None if only the model knows."""
    if isinstance(observations, list):
        return len(observations)
    shape = getattr(observations, "shape", None)
    return int(shape[0]) if shape else None


def to_numpy(array: Array, name: str, method: str) -> NDArray[np.float32]:
    """An output of the model as a NumPy array in single precision."""
    if is_tensor(array):
        array = array.detach().float().cpu().numpy()  # NumPy has no bfloat16
    try:
        return np.ascontiguousarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"{method}() gave a {name} that cannot be read as an array: {error}."
        ) from None


def checked_hidden(hidden: Array, count: int, method: str) -> Array:
    """Hidden states `[B, ...]`, on their device, without gradient.

    :raises EvaluationError: they do not have a row per position.
    """
    if is_tensor(hidden):
        hidden = hidden.detach()  # else autograd would keep every search in memory
    elif not hasattr(hidden, "shape"):
        given, hidden = hidden, _array(hidden)
        if hidden is None:
            raise EvaluationError(
                f"{method}() gave a hidden state that is a {type(given).__name__}, not an array: "
                f"give one with a row for each of {count} positions."
            )
    shape = tuple(hidden.shape)
    if not shape or shape[0] != count:
        raise EvaluationError(
            f"The hidden state has shape {shape}: give one for each of {count} positions."
        )
    return hidden


def _array(given: object) -> NDArray[Any] | None:
    """Nested lists of numbers as an array; None if they are something else."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        return None
    return None if array.dtype == object else array


def is_tensor(array: object) -> bool:
    """Whether an array is a PyTorch tensor."""
    return type(array).__module__.partition(".")[0] == "torch"


def is_on_device(array: Array) -> bool:
    """Whether an array is a tensor outside the CPU's memory."""
    return is_tensor(array) and array.device.type != "cpu"


def highest(policy: Array, k: int) -> tuple[Array, Array]:
    """The k highest logits of a tensor `[B, A]` and their actions, by rising action.

    Works on the tensor's device. Ties go to the lower action. `torch.topk` does not promise that,
    so it compares keys that are all different: the logit's bits as an integer of the same order (-0
    counts as 0), then the distance of the action from the last one.
    """
    import torch

    actions = policy.shape[1]
    bits = (policy.float() + 0.0).view(torch.int32)
    order = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
    # NaN counts as the highest logit, so that it is kept and reported.
    order[policy.isnan()] = torch.iinfo(torch.int32).max
    ranks = torch.arange(actions - 1, -1, -1, device=policy.device)
    found = torch.topk((order << 32) | ranks, k, dim=1, sorted=False).values
    codes = (actions - 1 - (found & 0xFFFFFFFF)).sort(dim=1).values
    return policy.gather(1, codes), codes


def on_device_of(array: Array, indices: NDArray[np.int64]) -> Array:
    """Indices on the device of an array."""
    if not is_tensor(array):
        return indices
    import torch

    return torch.from_numpy(indices).to(array.device)
