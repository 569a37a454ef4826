"""Gymnasium's spaces: action counts, and observations as arrays of one shape and dtype.

| space of the environment | array |
|---|---|
| a box of numbers | float32 |
| an image, `[H, W]` or `[H, W, C]` of bytes | planes `[C, H, W]` of bytes |
| integers (`Discrete`, `MultiDiscrete`) | one-hot vectors, concatenated |
| bits | float32 |
| `Dict`, `Tuple` | all parts, flattened and joined to one vector of float32, integers one-hot |
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError

__all__ = ["ObservationEncoder", "discrete_actions"]

SUPPORTED = (
    "environments with one set of discrete actions and observations that are numbers, vectors, "
    "images, or dictionaries and tuples of them"
)


def discrete_actions(gym: ModuleType, space: Any, name: str) -> tuple[int, int]:
    """Return the environment's number of the first action, and the number of actions."""
    if isinstance(space, gym.spaces.Discrete):
        return int(space.start), int(space.n)
    kind = "continuous actions" if isinstance(space, gym.spaces.Box) else "actions"
    raise ConfigError(
        f"{name} has {kind}, {_shown(space)}: Sylvan takes {SUPPORTED}; wrap it so that every "
        "action is an integer."
    )


class ObservationEncoder:
    """Converts an environment's observations to arrays of one shape and dtype."""

    def __init__(self, gym: ModuleType, space: Any, name: str, *, gray: bool, shrink: int) -> None:
        spaces = gym.spaces
        self._convert: Callable[[Any], NDArray[Any]]
        shape: tuple[int, ...] = getattr(space, "shape", None) or ()
        image = isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(shape) in (2, 3)
        if (gray or shrink != 1) and not image:
            raise ConfigError(
                f"gray and shrink are for images, but {name} shows {_shown(space)}: leave them out."
            )
        if image:
            self._convert = _planes(shape, name, gray=gray, shrink=shrink)
        elif isinstance(space, spaces.Box | spaces.MultiBinary):
            self._convert = lambda seen: np.array(seen, np.float32, ndmin=1)
        elif isinstance(space, spaces.Discrete):
            self._convert = _one_hot(np.array([space.n]), np.array([space.start]))
        elif isinstance(space, spaces.MultiDiscrete):
            starts = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
            self._convert = _one_hot(space.nvec.reshape(-1), starts.reshape(-1))
        elif isinstance(space, spaces.Dict | spaces.Tuple) and space.is_np_flattenable:
            self._convert = _joined(spaces, space, name)
        else:
            raise ConfigError(
                f"{name} shows {_shown(space)}, which has no fixed size: Sylvan takes {SUPPORTED}; "
                "wrap it so that it shows arrays of one shape (--wrapper)."
            )
        self._name, self._shape = name, shape
        self._has_parts = isinstance(space, spaces.Dict | spaces.Tuple)

    def __call__(self, seen: Any) -> NDArray[Any]:
        if not self._has_parts and np.shape(seen) != self._shape:
            raise GameContractError(
                f"The environment {self._name} shows an array of shape {np.shape(seen)}, but its "
                f"observation_space says {self._shape}: make them agree."
            )
        return self._convert(seen)


def _planes(
    shape: tuple[int, ...], name: str, *, gray: bool, shrink: int
) -> Callable[[Any], NDArray[np.uint8]]:
    """Convert images `[H, W]` or `[H, W, C]` to planes `[C, H, W]`."""
    height, width = shape[0] // max(shrink, 1), shape[1] // max(shrink, 1)
    if shrink < 1 or not height * width:
        raise ConfigError(
            f"shrink is {shrink}: give a whole number from 1 to the size of {name}'s images, "
            f"which are {shape[0]} by {shape[1]}."
        )

    def convert(seen: Any) -> NDArray[np.uint8]:
        image = np.asarray(seen, np.uint8).reshape(shape[0], shape[1], -1)
        if gray and image.shape[2] == 3:  # perceived brightness (ITU-R BT.601)
            weighted = image @ np.array([0.299, 0.587, 0.114], np.float32)
            image = weighted.round().astype(np.uint8)[:, :, None]
        if shrink > 1:
            cut = image[: height * shrink, : width * shrink].astype(np.float32)
            squares = cut.reshape(height, shrink, width, shrink, -1)
            image = squares.mean(axis=(1, 3)).round().astype(np.uint8)
        return np.ascontiguousarray(image.transpose(2, 0, 1))

    return convert


def _one_hot(
    sizes: NDArray[np.int64], starts: NDArray[np.int64]
) -> Callable[[Any], NDArray[np.float32]]:
    """Convert integers, one below each of `sizes`, to concatenated one-hot vectors."""
    firsts = np.cumsum(sizes) - sizes - starts

    def convert(seen: Any) -> NDArray[np.float32]:
        vector = np.zeros(int(sizes.sum()), np.float32)
        vector[firsts + np.asarray(seen, np.int64).reshape(-1)] = 1
        return vector

    return convert


def _joined(spaces: ModuleType, space: Any, name: str) -> Callable[[Any], NDArray[np.float32]]:
    """Flatten observations in several parts to one vector."""

    def convert(seen: Any) -> NDArray[np.float32]:
        try:
            vector = np.asarray(spaces.flatten(space, seen), np.float32)
        except Exception as error:
            raise GameContractError(
                f"The environment {name} shows {seen!r}, which does not fit its observation_space "
                f"({type(error).__name__}: {error}): make them agree."
            ) from error
        if vector.shape != (size,):
            raise GameContractError(
                f"The environment {name} shows {len(vector)} numbers, but its observation_space "
                f"has {size}: make them agree."
            )
        return vector

    size = spaces.flatdim(space)
    return convert


def _shown(space: Any) -> str:
    return f"{type(space).__name__}{getattr(space, 'shape', None) or ''}"
