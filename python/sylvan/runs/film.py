"""An episode of an environment as pictures, while an agent acts in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, SylvanError
from sylvan.games.naming import GameSpec

__all__ = ["Scene", "film"]


@dataclass(frozen=True)
class Scene:
    """The environment after some steps."""

    state: Any
    """A `GymnasiumGame`; the next scene changes it."""
    steps: int
    picture: NDArray[np.uint8] | None
    """`[H, W, 3]` red, green, blue; None between two pictures."""


def film(
    spec: GameSpec, seed: int, act: Callable[[Any, int], int], most: int, every: int = 1
) -> Iterator[Scene]:
    """The first scene of an episode, and the one after each step.

    :param act: chooses an action from the state, after a number of steps.
    :param most: stop after this many steps.
    :param every: make a picture of every n-th scene, and of the last one.
    :raises ConfigError: the environment renders no pictures.
    :raises GameContractError: the environment raised an exception.
    """
    # Render off-screen: most environments' drawing library then needs no display.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    _need_pictures(spec)
    drawn = GameSpec(spec.name, {**spec.params, "render_mode": "rgb_array"})
    with _as_game_error(spec, seed):
        state: Any = drawn.episode(seed)
    try:
        with _as_game_error(spec, seed):
            picture = state.render()
        yield Scene(state, 0, picture)
        steps = 0
        while not state.is_terminal() and steps < most:
            action = act(state, steps)
            with _as_game_error(spec, seed):
                state.apply(action)
                steps += 1
                shows = steps % every == 0 or state.is_terminal()
                picture = state.render() if shows else None
            yield Scene(state, steps, picture)
    finally:
        state.close()


def _need_pictures(spec: GameSpec) -> None:
    """Check that an environment can be rendered.

    :raises ConfigError: it renders no pictures.
    """
    state: Any = spec.first()
    modes = state.environment.metadata.get("render_modes") or []
    state.close()
    if "rgb_array" not in modes:
        raise ConfigError(
            f"{spec.name} renders no pictures, its render_modes are {list(modes)}: implement the "
            "render_mode 'rgb_array', or act in it with sylvan.load(run) and print observations."
        )


@contextmanager
def _as_game_error(spec: GameSpec, seed: int) -> Iterator[None]:
    """Attribute exceptions of an environment's own code to it."""
    try:
        yield
    except SylvanError:
        raise
    except Exception as error:
        raise GameContractError(
            f"{spec.name} raised {type(error).__name__} ({error}) in the episode of seed {seed}: "
            "fix the environment, or watch another episode with --seed."
        ) from error
