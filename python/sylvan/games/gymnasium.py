"""Gymnasium's environments as games of one seat: any with discrete actions.

    from_gymnasium("CartPole-v1", seed=7)

How Gymnasium's terms become ours:

- An *episode* is a game; all that is random in it follows from its seed, so the same seed and the
  same actions give the same episode (in environments that keep that promise of Gymnasium's).
- A step's reward is paid by `rewards`; `returns` is zero. `score` adds up the environment's own
  rewards, before they are clipped or scaled for learning.
- *Terminated* and *truncated* episodes are over; `truncated` tells those that were only cut off (by
  a time limit): what would have come after is not nothing, but unknown.
- An *observation* is an array of one shape and dtype (`gymnasium_spaces.py`); `frame_stack` puts
  the last ones together along the first axis, the oldest first.

Refused, with the reason: continuous actions, observations in several parts (Dict, Tuple) or of
varying size.

`clone` copies the environment, for those who plan without a model. Whether a copy behaves like the
original, and leaves it alone, is tried out with the first copy of each kind of environment.
"""

from __future__ import annotations

import copy
import difflib
import importlib
import math
import warnings
from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, GameOver, IllegalAction, MissingExtra
from sylvan.games.game import Game, Observation
from sylvan.games.gymnasium_spaces import Eyes, discrete

__all__ = ["GymnasiumGame", "RewardForm", "from_gymnasium", "repeats"]

RewardForm = Literal["raw", "clip", "sign"]
"""What is learned of a reward: all, within -1 and 1, or its sign alone."""

TRIED = 8
"""Steps by which a copy is compared with another."""


def from_gymnasium(
    environment: Any,
    seed: int = 0,
    *,
    frame_stack: int = 1,
    reward: RewardForm = "raw",
    reward_scale: float = 1.0,
    gray: bool = False,
    shrink: int = 1,
    **settings: Any,
) -> GymnasiumGame:
    """The first state of an episode.

    :param environment: a name that `gymnasium.make` knows, a class or function that makes an
        environment, or a `gymnasium.Env`.
    :param seed: of the episode.
    :param frame_stack: observations, the last ones, that are shown together.
    :param reward: what of a reward is paid; `score` has all of it.
    :param reward_scale: by what it is multiplied after that.
    :param gray: one plane of brightness in place of an image's colours.
    :param shrink: images become so many times smaller, by the mean of squares of that size.
    :param settings: of the environment, as `gymnasium.make` takes them: `render_mode`, ...
    :raises MissingExtra: Gymnasium is not installed.
    :raises ConfigError: there is no such environment, it does not take these settings, or it is
        one of those refused.
    """
    gym = _gymnasium()
    if reward not in get_args(RewardForm):
        raise ConfigError(f"reward is {reward!r}: give one of {', '.join(get_args(RewardForm))}.")
    if type(frame_stack) is not int or frame_stack < 1:
        raise ConfigError(f"frame_stack is {frame_stack!r}: give a whole number from 1.")
    if not (math.isfinite(reward_scale) and reward_scale > 0):
        raise ConfigError(f"reward_scale is {reward_scale!r}: give a positive number.")
    if isinstance(environment, str):
        made, name = _made(gym, environment, settings), environment
    elif callable(environment):
        made, name = _built(gym, environment, **settings), environment.__name__
    elif isinstance(environment, gym.Env):
        made, name = environment, _name(environment)
    else:
        raise ConfigError(
            f"The environment is a {type(environment).__name__}: give the name of one, a class or "
            "function that makes one, or a gymnasium.Env."
        )
    actions = discrete(gym, made.action_space, name)
    see = Eyes(gym, made.observation_space, name, gray=gray, shrink=shrink)
    game = GymnasiumGame(name, made, actions, see, frame_stack, (reward, float(reward_scale)))
    game.restart(seed)
    return game


def repeats(one: Game, other: Game, steps: int = 16) -> bool:
    """Whether two episodes that began with the same seed show and pay the same, step by step.

    Both are played on. An environment that raises an error has shown nothing else until then.
    """
    try:
        for step in range(steps):
            if one.is_terminal() or other.is_terminal():
                break
            if not np.array_equal(one.observation(), other.observation()):
                return False
            for game in (one, other):
                game.apply(step % game.num_actions)
            if one.rewards() != other.rewards():
                return False
    except Exception:
        return True
    return one.is_terminal() == other.is_terminal()


class GymnasiumGame(Game):
    """A state of an episode; `environment` is the `gymnasium.Env` that it lives in."""

    num_players = 1
    zero_sum = False
    value_range = (-math.inf, math.inf)

    def __init__(
        self,
        name: str,
        environment: Any,
        actions: tuple[int, int],
        see: Eyes,
        frame_stack: int,
        payment: tuple[RewardForm, float],
    ) -> None:
        self.name, self.environment = name, environment
        self._first_action, self.num_actions = actions
        spec = getattr(environment, "spec", None)
        self.max_length: int | None = getattr(spec, "max_episode_steps", None)
        self.score = 0.0
        """What the environment's own rewards have added up to."""
        self.truncated = False
        """Whether the episode was cut off rather than ended."""
        self._terminated = False
        self._reward = 0.0
        self._see, self._payment = see, payment
        self._frames: deque[Observation] = deque(maxlen=frame_stack)

    def restart(self, seed: int) -> None:
        """Begin another episode in the same environment."""
        seen, _ = self.environment.reset(seed=seed % 2**31)
        frame = self._frame(seen)
        self._frames.extend([frame] * (self._frames.maxlen or 1))
        self.score = self._reward = 0.0
        self.truncated = self._terminated = False

    def legal_actions(self) -> Sequence[int]:
        """All actions, or nothing once the episode is over."""
        return () if self.is_terminal() else range(self.num_actions)

    def apply(self, action: int) -> None:
        """Make a step.

        :raises IllegalAction: there is no such action.
        :raises GameOver: the episode has ended.
        :raises GameContractError: the environment gave numbers that are none.
        """
        if self._terminated or self.truncated:
            raise GameOver(f"The episode of {self.name} has ended: begin another.")
        if not 0 <= action < self.num_actions:
            raise IllegalAction(
                f"{self.name} has no action {action}: give one from 0 to {self.num_actions - 1}."
            )
        step = self.environment.step(int(action) + self._first_action)
        seen, reward, terminated, truncated, _ = step
        reward = float(reward)
        if not math.isfinite(reward):
            raise GameContractError(
                f"The environment {self.name} paid {reward}: mend it, rewards are finite numbers."
            )
        self._frames.append(self._frame(seen))
        self._terminated = bool(terminated)
        self.truncated = bool(truncated) and not self._terminated
        self.score += reward
        self._reward = self._paid(reward)

    def see(self, shown: Any) -> Observation:
        """What the environment shows, as one frame of an observation."""
        return self._see(shown)

    def _frame(self, seen: Any) -> Observation:
        frame = self._see(seen)
        if frame.dtype != np.uint8 and not np.isfinite(frame).all():
            raise GameContractError(
                f"The environment {self.name} shows numbers that are not finite: mend it."
            )
        return frame

    def _paid(self, reward: float) -> float:
        form, scale = self._payment
        if form == "clip":
            reward = min(max(reward, -1.0), 1.0)
        elif form == "sign":
            reward = float((reward > 0) - (reward < 0))
        return reward * scale

    def clone(self) -> Self:
        """An independent copy, environment and all.

        :raises GameContractError: the environment cannot be copied.
        """
        other = copy.copy(self)
        other.environment = _copied(self.name, self.environment, self._first_action)
        other._frames = self._frames.copy()
        return other

    def to_play(self) -> int:
        """The one seat."""
        return 0

    def is_terminal(self) -> bool:
        """Whether the episode is over, ended or cut off."""
        return self._terminated or self.truncated

    def returns(self) -> Sequence[float]:
        """Zero: all is paid on the way."""
        return (0.0,)

    def rewards(self) -> Sequence[float]:
        """What the last step paid, as it is learned."""
        return (self._reward,)

    def observation(self) -> Observation:
        """The last frames, `frame_stack` times the first axis of one."""
        frames = self._frames
        return frames[0].copy() if len(frames) == 1 else np.concatenate(list(frames))

    def action_to_string(self, action: int) -> str:
        """The environment's name of an action, where it has names."""
        meanings = getattr(self.environment.unwrapped, "get_action_meanings", None)
        return str(meanings()[action]) if meanings is not None else str(action)

    def render(self) -> Any:
        """The environment's picture, `[H, W, 3]` if it was made with render_mode="rgb_array"."""
        return self.environment.render()

    def close(self) -> None:
        """Let go of windows and memory of the environment."""
        self.environment.close()

    def __repr__(self) -> str:
        return f"<{self.name}, score {self.score:g}{', over' if self.is_terminal() else ''}>"


def _copied(name: str, environment: Any, first_action: int) -> Any:
    """A copy of an environment; the first of its kind only after two copies were compared."""
    kind = (name, type(environment.unwrapped))
    try:
        made = copy.deepcopy(environment)
        if kind not in _copyable:
            one, other = (_tried(copy.deepcopy(environment), first_action) for _ in "ab")
            _copyable[kind] = len(one) == len(other) and all(
                np.array_equal(a, b) for a, b in zip(one, other, strict=True)
            )
    except Exception as error:
        raise GameContractError(
            f"The environment {name} cannot be copied ({type(error).__name__}: {error}), which "
            "planning without a model needs: train a model of it, sylvan train gym:NAME."
        ) from error
    if not _copyable[kind]:
        raise GameContractError(
            f"Two copies of the environment {name} do not do the same, so planning without a model "
            "would be about something else: train a model of it, sylvan train gym:NAME."
        )
    return made


_copyable: dict[tuple[str, type], bool] = {}
"""Whether copies of an environment do what it does."""


def _tried(environment: Any, first_action: int) -> list[NDArray[Any]]:
    """What some steps show and pay."""
    found: list[NDArray[Any]] = []
    for number in range(TRIED):
        action = first_action + number % environment.action_space.n
        seen, reward, terminated, truncated, _ = environment.step(action)
        found += [np.asarray(seen), np.array([reward, terminated, truncated])]
        if terminated or truncated:
            break
    return found


def _gymnasium() -> ModuleType:
    try:
        return importlib.import_module("gymnasium")
    except ModuleNotFoundError:
        raise MissingExtra(
            "Gymnasium's environments need it installed: pip install 'sylvan[gym]'."
        ) from None


def _made(gym: ModuleType, name: str, settings: dict[str, Any]) -> Any:
    """The environment of a name."""
    try:
        with warnings.catch_warnings():  # libraries that environments load have their own
            warnings.simplefilter("ignore", DeprecationWarning)
            return gym.make(name, disable_env_checker=True, **settings)
    except gym.error.DependencyNotInstalled as error:
        raise MissingExtra(
            f"The environment {name} needs more: {error}; pip install 'sylvan[gym]' has what most "
            "do."
        ) from None
    except gym.error.Error:
        close = difflib.get_close_matches(name.rpartition(":")[2], gym.registry, 1, 0.5)
        hint = f"did you mean {close[0]!r}?" if close else "gymnasium.pprint_registry() lists them."
        raise ConfigError(f"Gymnasium has no environment {name!r}: {hint}") from None
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The environment {name} cannot be loaded ({error}): install its module, or name a "
            "file and a class in it, gym:path.py:Class."
        ) from None
    except (TypeError, ValueError, AssertionError) as error:
        raise ConfigError(
            f"The environment {name} cannot be made with {settings}: {error}."
        ) from None


def _built(
    gym: ModuleType, make: Any, max_episode_steps: int | None = None, **settings: Any
) -> Any:
    """What a class or a function makes, cut off after so many steps."""
    try:
        made = make(**settings)
    except TypeError as error:
        raise ConfigError(
            f"The environment {make.__name__} does not take {settings}: {error}."
        ) from None
    if not isinstance(made, gym.Env):
        raise ConfigError(
            f"{make.__name__} makes a {type(made).__name__}, which is no gymnasium.Env: give a "
            "class or a function that makes one."
        )
    return made if max_episode_steps is None else gym.wrappers.TimeLimit(made, max_episode_steps)


def _name(environment: Any) -> str:
    spec = getattr(environment, "spec", None)
    return str(spec.id) if spec is not None else type(environment.unwrapped).__name__
