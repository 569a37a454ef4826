"""Arrays of a learned model, wherever it keeps them: NumPy's, or PyTorch's on any device.

PyTorch is never loaded to find out whether an array is one of its tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError

__all__ = ["beside", "highest", "is_elsewhere", "is_tensor", "numbers"]


def numbers(array: Any, name: str, method: str) -> NDArray[np.float32]:
    """An output of the model in memory, in single precision."""
    if is_tensor(array):
        array = array.detach().cpu().numpy()
    try:
        return np.ascontiguousarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"{method}() gave a {name} that cannot be read as an array: {error}."
        ) from None


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
