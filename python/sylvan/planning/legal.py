"""Check the legal actions that a user gives for the roots of a search over a learned model.

For each root a list of action codes or a mask `[A]`, true where an action is legal; or one mask
`[B, A]` for all roots. A mask must be an array, because True and False in a list could also be the
actions 1 and 0.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.planning.model_arrays import is_tensor

__all__ = ["Legal", "checked_actions", "checked_legal"]

Legal = Sequence[Sequence[int] | NDArray[Any]] | NDArray[Any]
"""Legal actions of B roots: a list or a mask for each, or `[B, A]` true where one is legal."""


def checked_legal(
    legal: Any, count: int, num_actions: int
) -> NDArray[np.bool_] | list[list[int]] | None:
    """A mask `[B, A]` or a list of codes per root.

    :raises ConfigError: it is neither, or a root has no action, an unknown one, or one twice.
    """
    if legal is None:
        return None
    if is_tensor(legal):
        legal = legal.cpu().numpy()
    if isinstance(legal, np.ndarray) and legal.dtype == bool:
        if legal.shape != (count, num_actions):
            raise ConfigError(
                f"The mask of legal actions has shape {legal.shape}: it must be "
                f"{(count, num_actions)}, one row per root."
            )
        empty = ~legal.any(axis=1)
        if empty.any():
            raise ConfigError(_no_action(f"root {int(empty.argmax())}"))
        return np.ascontiguousarray(legal)
    if isinstance(legal, str) or not isinstance(legal, Sequence | np.ndarray):
        raise ConfigError(
            f"The legal actions are {reprlib.repr(legal)}: give a list of action codes per root, "
            f"or a NumPy mask {(count, num_actions)}."
        )
    if len(legal) != count:
        raise ConfigError(
            f"There are {count} observations and {len(legal)} lists of legal actions: give one of "
            "each per root."
        )
    return [checked_actions(row, num_actions, f"root {root}") for root, row in enumerate(legal)]


def checked_actions(given: Any, num_actions: int, whose: str) -> list[int]:
    """Codes of one root's legal actions, from a list of codes or a mask.

    :param whose: the root's name in errors, for example "root 3".
    """
    actions = _array(given)
    if actions is not None and not isinstance(given, list | tuple) and actions.dtype == bool:
        if actions.shape != (num_actions,):
            raise ConfigError(
                f"The mask of legal actions of {whose} has shape {actions.shape}: it must be "
                f"{(num_actions,)}."
            )
        actions = np.flatnonzero(actions)
    if actions is not None and actions.shape == (0,):
        raise ConfigError(_no_action(whose))
    if actions is None or actions.ndim != 1 or actions.dtype.kind not in "iu":
        raise ConfigError(
            f"The legal actions of {whose} are {reprlib.repr(given)}: give a list of action codes, "
            f"which are whole numbers, or a NumPy mask of {num_actions} booleans."
        )
    if actions.min() < 0 or actions.max() >= num_actions:
        raise ConfigError(
            f"The legal actions of {whose} go from {actions.min()} to {actions.max()}, but the "
            f"model knows {num_actions}: give codes from 0 to {num_actions - 1}."
        )
    codes: list[int] = actions.tolist()
    if len(set(codes)) < len(codes):
        twice = next(code for code in codes if codes.count(code) > 1)
        raise ConfigError(
            f"The legal actions of {whose} name {twice} more than once: give each action once."
        )
    return codes


def _array(given: Any) -> NDArray[Any] | None:
    """The legal actions of one root as an array; None if they are something else."""
    if is_tensor(given):
        given = given.cpu().numpy()
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        return None
    try:
        return np.asarray(list(given))
    except ValueError:  # rows of different lengths
        return None


def _no_action(whose: str) -> str:
    return f"{whose[:1].upper()}{whose[1:]} has no legal action: give at least one."
