"""Environments for the actor, valid and broken, registered under `test/`."""

from __future__ import annotations

import itertools
import os
import sys
import time
from typing import ClassVar

import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    """A random walk that ends at a distance given by its seed; step n has reward n."""

    observation_space = gym.spaces.Box(-99, 99, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, nap=0.0):
        self.nap = nap

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0.0, 0
        self.goal = int(self.np_random.integers(2, 6))
        return self.seen(), {}

    def seen(self):
        return np.array([self.place, self.steps, self.goal], np.float32)

    def step(self, action):
        time.sleep(self.nap * (self.steps % 3))
        self.place += 2 * action - 1 + 0.1 * self.np_random.normal()
        self.steps += 1
        return self.seen(), float(self.steps), abs(self.place) >= self.goal, False, {}


class Fickle(Walk):
    """Raises an exception in the middle of about every third episode."""

    def step(self, action):
        if self.goal == 3 and self.steps == 4:
            raise RuntimeError("the wheel came off")
        return super().step(action)


class Broken(Walk):
    """Raises an exception in every episode."""

    def step(self, action):
        if self.steps == 1:
            raise RuntimeError("the wheel came off")
        return super().step(action)


class Exiting(Walk):
    """Ends its process in the middle of an episode, unless it is the process of the tests."""

    def step(self, action):
        if self.steps == 3 and "pytest" not in sys.modules:
            os._exit(3)
        return super().step(action)


class Unready(Walk):
    """Does not start with some seeds."""

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        if self.goal == 4:
            raise OSError("no coin")
        return found


class Dead(Walk):
    """Never starts."""

    def reset(self, *, seed=None, options=None):
        raise OSError("no coin")


class Moody(Walk):
    """Does not depend on its seed alone."""

    moods = itertools.count()

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=next(self.moods))


class Shifted(Walk):
    """Numbers its actions 1 and 2, and refuses others."""

    action_space = gym.spaces.Discrete(2, start=1)

    def step(self, action):
        if action not in (1, 2):
            raise ValueError(f"there is no action {action}")
        return super().step(action - 1)


class Masked(Walk):
    """Four actions, two of which are allowed; refuses the others. The mask depends on the step."""

    action_space = gym.spaces.Discrete(4)

    def mask(self):
        return np.roll([True, False, True, False], self.steps * (self.steps + 1) // 2)

    def reset(self, *, seed=None, options=None):
        seen, _ = super().reset(seed=seed)
        return seen, {"action_mask": self.mask()}

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError(f"action {action} is masked")
        seen, reward, ended, cut, _ = super().step(action // 2)
        return seen, reward, ended, cut, {"action_mask": self.mask()}


class Parted(Walk):
    """Shows its place and its step in two parts."""

    observation_space = gym.spaces.Dict(
        place=gym.spaces.Box(-99, 99, (1,), np.float32), step=gym.spaces.Discrete(100)
    )

    def seen(self):
        return {"place": np.array([self.place], np.float32), "step": min(self.steps, 99)}


class Endless(Walk):
    """Never ends."""

    def step(self, action):
        seen, reward, _, _, info = super().step(action)
        return seen, reward, False, False, info


class Picture(Walk):
    """Shows a bar on a small screen."""

    observation_space = gym.spaces.Box(0, 255, (4, 5, 1), np.uint8)

    def seen(self):
        screen = np.zeros((4, 5, 1), np.uint8)
        screen[:, self.steps % 5] = int(30 * abs(self.place)) % 256
        return screen


class Filmed(Walk):
    """Renders pictures, observes four numbers; fails at reset with seed 4 and in every episode."""

    observation_space = gym.spaces.Box(-99, 99, (4,), np.float32)
    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        if seed == 4:
            raise OSError("no coin")
        return super().reset(seed=seed)

    def seen(self):
        return np.append(super().seen(), 0).astype(np.float32)

    def step(self, action):
        if self.steps == 1:
            raise RuntimeError("the wheel came off")
        return super().step(action)

    def render(self):
        return np.zeros((4, 5, 3), np.uint8)


KINDS = (Filmed, Picture, Walk, Fickle, Exiting, Broken, Unready, Dead, Moody, Endless, Shifted)
for kind in (*KINDS, Masked, Parted):
    gym.register(f"test/{kind.__name__}-v0", kind)
