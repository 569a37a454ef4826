"""What the networks of the document `muzero-chess` answer.

The document writes `initial_inference(observation)` with three answers (hidden state, policy
logits, value) and `recurrent_inference(hidden, action)` with two (hidden state, reward), followed
by `prediction(hidden)` (policy logits, value). Published code returns four from both: value,
reward, policy logits, hidden state. Both forms are accepted, one position at a time, from PyTorch
or NumPy; a hidden state may be anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError

__all__ = ["NetworkOutput", "after", "at_first", "at_hidden"]


class NetworkOutput(NamedTuple):
    """What a network says of one position, in the order of the published pseudocode."""

    value: float
    """What is still to come, for the player to move."""
    reward: float
    """What the step that led here paid the player who made it."""
    policy_logits: NDArray[np.float32]
    """`[actions]`"""
    hidden_state: Any


def at_first(network: Any, observation: Any) -> NetworkOutput:
    """What `initial_inference` says of an observation."""
    answer = _answer(network, "initial_inference", (3, 4), observation)
    if len(answer) == 4:
        return _output("initial_inference", answer[0], 0.0, answer[2], answer[3])
    hidden, policy, value = answer
    return _output("initial_inference", value, 0.0, policy, hidden)


def at_hidden(network: Any, hidden: Any, reward: Any = 0.0) -> NetworkOutput:
    """What `prediction` says of a hidden state."""
    policy, value = _answer(network, "prediction", (2,), hidden)
    return _output("prediction", value, reward, policy, hidden)


def after(network: Any, hidden: Any, action: int) -> NetworkOutput:
    """What `recurrent_inference`, and `prediction` if need be, say of a step."""
    answer = _answer(network, "recurrent_inference", (2, 4), hidden, action)
    if len(answer) == 4:
        return _output("recurrent_inference", *answer)
    following, reward = answer
    return at_hidden(network, following, _number("recurrent_inference", "reward", reward))


def numbers(array: Any) -> NDArray[np.float32]:
    """An array of PyTorch or NumPy, or a number, in memory and in single precision."""
    if hasattr(array, "detach"):
        array = array.detach().cpu().float().numpy()
    try:
        return np.asarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"The network's answer cannot be read as numbers: {error}.") from None


def _answer(network: Any, method: str, sizes: tuple[int, ...], *asked: Any) -> tuple[Any, ...]:
    ask = getattr(network, method, None)
    if not callable(ask):
        raise ConfigError(f"The network is a {type(network).__name__}, which has no {method}().")
    answer = ask(*asked)
    if not isinstance(answer, tuple | list) or len(answer) not in sizes:
        count = len(answer) if isinstance(answer, tuple | list) else f"a {type(answer).__name__}"
        raise EvaluationError(
            f"{method}() gave {count}: it must give {' or '.join(map(str, sizes))} values."
        )
    return tuple(answer)


def _output(method: str, value: Any, reward: Any, policy: Any, hidden: Any) -> NetworkOutput:
    """An answer for one position; a batch of one is one, too."""
    logits = numbers(policy)
    if logits.ndim == 0 or logits.size != logits.shape[-1]:
        raise EvaluationError(
            f"{method}() gave a policy of shape {logits.shape}: give logits, one for each action."
        )
    if np.isnan(logits).any() or not np.isfinite(logits).any():
        raise EvaluationError(
            f"{method}() gave a policy with NaN or without a finite logit: mend the network."
        )
    of_value, of_reward = _number(method, "value", value), _number(method, "reward", reward)
    return NetworkOutput(of_value, of_reward, logits.reshape(-1), hidden)


def _number(method: str, name: str, answer: Any) -> float:
    number = numbers(answer)
    if number.size != 1 or not np.isfinite(number).all():
        raise EvaluationError(f"{method}() gave a {name} of {number}: give one finite number.")
    return float(number.reshape(()))
