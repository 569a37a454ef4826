"""A vector environment of one copy as a `gymnasium.Env`; needs Gymnasium when it is imported.

A vector environment steps many copies at once and adds a first axis to all arrays. A game is one
episode, so it uses a vector environment with one copy.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import iterate

from sylvan.errors import ConfigError

__all__ = ["OnlyCopy"]


class OnlyCopy(gymnasium.Env[Any, Any]):
    """The copy in a vector environment of one.

    :raises ConfigError: there are several copies.
    """

    def __init__(self, vector: Any, name: str) -> None:
        if vector.num_envs != 1:
            raise ConfigError(
                f"{name} is a vector environment of {vector.num_envs} copies, but a game is one "
                "episode: make it with num_envs=1; selfplay.games says how many run at once."
            )
        self.vector = vector
        self.metadata, self.spec = vector.metadata, vector.spec
        self.action_space = vector.single_action_space
        self.observation_space = vector.single_observation_space
        self.render_mode = vector.render_mode
        if hasattr(vector, "action_masks"):
            self.action_masks = lambda: vector.action_masks()[0]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        seen, info = self.vector.reset(seed=seed, options=options)
        return self._only(seen), _first(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        seen, rewards, terminated, truncated, info = self.vector.step(np.array([action]))
        ends = bool(terminated[0]), bool(truncated[0])
        return self._only(seen), float(rewards[0]), *ends, _first(info)

    def _only(self, seen: Any) -> Any:
        """The only observation of a batch, which may be a dictionary or a tuple of arrays."""
        return next(iter(iterate(self.vector.observation_space, seen)))

    def render(self) -> Any:
        """Render the only copy."""
        shown = self.vector.render()
        return None if shown is None else shown[0]

    def close(self) -> None:
        """Close the vector environment."""
        self.vector.close()


def _first(info: dict[str, Any]) -> dict[str, Any]:
    """The info of the only copy: arrays without their first axis, `_name` says who has it."""
    return {
        name: _first(value) if isinstance(value, dict) else value[0]
        for name, value in info.items()
        if not name.startswith("_")
    }
