"""The answers of networks of the document `muzero-chess`.

In the document, `initial_inference(observation)` returns hidden state, policy logits and value;
`recurrent_inference(hidden, action)` returns hidden state and reward, and `prediction(hidden)`
policy logits and value. In published code both inferences return value, reward, policy logits and
hidden state. Both forms are accepted, for one position at a time, from PyTorch or NumPy; a hidden
state may be any object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError
from sylvan.planning.model_arrays import Array

__all__ = ["HiddenState", "LearnedNetwork", "NetworkOutput", "after", "at_first", "at_hidden"]


HiddenState: TypeAlias = Any
"""A hidden state: any object that the network accepts again."""


class LearnedNetwork(Protocol):
    """A network of the document; if its inferences give no policy, it has `prediction` too."""

    def initial_inference(self, observation: Array, /) -> Sequence[Any]:
        """Hidden state, policy logits and value; or value, reward, policy logits, hidden state."""

    def recurrent_inference(self, hidden: HiddenState, action: int, /) -> Sequence[Any]:
        """Hidden state and reward; or value, reward, policy logits, hidden state."""


class NetworkOutput(NamedTuple):
    """A network's answer for one position, in the order of the published pseudocode."""

    value: float
    """The expected return from here on, for the player to move."""
    reward: float
    """The reward of the step that led here, for the player who made it."""
    policy_logits: NDArray[np.float32]
    """`[actions]`"""
    hidden_state: HiddenState


def at_first(network: LearnedNetwork, observation: Array) -> NetworkOutput:
    """Ask `initial_inference` about an observation."""
    answer = _answer(network, "initial_inference", (3, 4), observation)
    if len(answer) == 4:
        return _output("initial_inference", answer[0], 0.0, answer[2], answer[3])
    hidden, policy, value = answer
    return _output("initial_inference", value, 0.0, policy, hidden)


def at_hidden(network: LearnedNetwork, hidden: HiddenState, reward: float = 0.0) -> NetworkOutput:
    """Ask `prediction` about a hidden state."""
    policy, value = _answer(network, "prediction", (2,), hidden)
    return _output("prediction", value, reward, policy, hidden)


def after(network: LearnedNetwork, hidden: HiddenState, action: int) -> NetworkOutput:
    """Ask `recurrent_inference` about a step, then `prediction` if it gave two answers."""
    answer = _answer(network, "recurrent_inference", (2, 4), hidden, action)
    if len(answer) == 4:
        return _output("recurrent_inference", *answer)
    following, reward = answer
    return at_hidden(network, following, _number("recurrent_inference", "reward", reward))


def numbers(array: Array) -> NDArray[np.float32]:
    """Convert an array of PyTorch or NumPy, or a number, to a float32 array."""
    if hasattr(array, "detach"):
        array = array.detach().cpu().float().numpy()
    try:
        return np.asarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"The network's answer cannot be read as numbers: {error}.") from None


def _answer(
    network: LearnedNetwork, method: str, sizes: tuple[int, ...], *asked: Any
) -> tuple[Any, ...]:
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


def _output(
    method: str, value: Array, reward: Array, policy: Array, hidden: HiddenState
) -> NetworkOutput:
    """Check an answer for one position; a batch of one is accepted."""
    logits = numbers(policy)
    if logits.ndim == 0 or logits.size != logits.shape[-1]:
        raise EvaluationError(
            f"{method}() gave a policy of shape {logits.shape}: give logits, one for each action."
        )
    if np.isnan(logits).any() or not np.isfinite(logits).any():
        raise EvaluationError(
            f"{method}() gave a policy with NaN or without a finite logit: give finite logits."
        )
    of_value, of_reward = _number(method, "value", value), _number(method, "reward", reward)
    return NetworkOutput(of_value, of_reward, logits.reshape(-1), hidden)


def _number(method: str, name: str, answer: Array) -> float:
    number = numbers(answer)
    if number.size != 1 or not np.isfinite(number).all():
        raise EvaluationError(f"{method}() gave a {name} of {number}: give one finite number.")
    return float(number.reshape(()))
