"""Arrays of a learned model, wherever it keeps them: NumPy's, or PyTorch's on any device.

PyTorch is never loaded to find out whether an array is one of its tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError

__all__ = [
    "batched",
    "beside",
    "highest",
    "is_elsewhere",
    "is_tensor",
    "numbers",
    "rows_of",
    "states",
]


def batched(observation: Any) -> Any:
    """An observation as a batch of one.

    :raises ConfigError: it is no array, nor can one be made of it.
    """
    if hasattr(observation, "shape"):
        return observation[None]
    array = _array(observation)
    if array is None:
        raise ConfigError(
            f"The observation is a {type(observation).__name__} that no array can be made of: give "
            "an array, or what the model takes, as a batch, to run_many."
        )
    return array[None]


def rows_of(observations: Any) -> int | None:
    """How many positions observations are of; None where only the model knows."""
    if isinstance(observations, list):
        return len(observations)
    shape = getattr(observations, "shape", None)
    return int(shape[0]) if shape else None


def numbers(array: Any, name: str, method: str) -> NDArray[np.float32]:
    """An output of the model in memory, in single precision."""
    if is_tensor(array):
        array = array.detach().float().cpu().numpy()  # NumPy has no bfloat16
    try:
        return np.ascontiguousarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"{method}() gave a {name} that cannot be read as an array: {error}."
        ) from None


def states(hidden: Any, count: int, method: str) -> Any:
    """Hidden states `[B, ...]` as the model gave them, but for what they were computed from."""
    if is_tensor(hidden):
        hidden = hidden.detach()  # or every search would be kept for a gradient
    elif not hasattr(hidden, "shape"):
        given, hidden = hidden, _array(hidden)
        if hidden is None:
            raise EvaluationError(
                f"{method}() gave a hidden state that is a {type(given).__name__} and no array: "
                f"give one with a row for each of {count} positions."
            )
    shape = tuple(hidden.shape)
    if not shape or shape[0] != count:
        raise EvaluationError(
            f"The hidden state has shape {shape}: give one for each of {count} positions."
        )
    return hidden


def _array(given: Any) -> NDArray[Any] | None:
    """Numbers in lists as an array; None where that is not what they are."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        return None
    return None if array.dtype == object else array


def is_tensor(array: Any) -> bool:
    """Whether an array is PyTorch's."""
    return type(array).__module__.partition(".")[0] == "torch"


def is_elsewhere(array: Any) -> bool:
    """Whether an array has to be fetched from a device."""
    return is_tensor(array) and array.device.type != "cpu"


def highest(policy: Any, k: int) -> tuple[Any, Any]:
    """The k highest of a tensor's logits `[B, A]` and their actions, by rising action, found where
    they are: ties go to the lower action, which `torch.topk` does not promise.

    So the numbers that it compares are all different: a logit's bits as a whole number of the same
    order (of equal zeros one), then how far its action is from the last.
    """
    import torch

    actions = policy.shape[1]
    bits = (policy.float() + 0.0).view(torch.int32)
    order = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
    order[policy.isnan()] = torch.iinfo(torch.int32).max  # to be found out
    places = torch.arange(actions - 1, -1, -1, device=policy.device)
    found = torch.topk((order << 32) | places, k, dim=1, sorted=False).values
    codes = (actions - 1 - (found & 0xFFFFFFFF)).sort(dim=1).values
    return policy.gather(1, codes), codes


def beside(indices: NDArray[np.int64], array: Any) -> Any:
    """Indices where an array can use them: several rows of them are sent at once."""
    if not is_tensor(array):
        return indices
    import torch

    return torch.from_numpy(indices).to(array.device)
