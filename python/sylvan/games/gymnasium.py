"""Gymnasium environments with discrete actions as games of one seat.

    from_gymnasium("CartPole-v1", seed=7)

How Gymnasium's terms become ours:

- An *episode* is a game; its seed determines all randomness, so the same seed and the
  same actions give the same episode (if the environment keeps Gymnasium's promise).
- `rewards` pays a step's reward; `returns` is zero. `score` sums the environment's own
  rewards, before they are clipped or scaled for learning.
- *Terminated* and *truncated* episodes are over; `truncated` marks episodes cut off by a time
  limit: their future value is unknown, not zero.
- An *observation* is an array of one shape and dtype (`gymnasium_spaces.py`); `frame_stack`
  concatenates the last ones along the first axis, oldest first.
- *Legal actions* are all actions, unless the environment masks some: by `action_mask` in the info
  of `reset` and `step`, or by a method `action_masks()`; an entry per action.

Refused, with the reason: continuous actions, observations of varying size.

`clone` copies the environment, for planning without a model. The first copy of each kind of
environment is tested: two copies must behave alike.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, GameOver, IllegalAction
from sylvan.games.game import Game, Observation
from sylvan.games.gymnasium_making import gymnasium_module, made_environment
from sylvan.games.gymnasium_spaces import ObservationEncoder, discrete_actions

__all__ = ["GymnasiumGame", "RewardForm", "from_gymnasium", "repeats"]

RewardForm = Literal["raw", "clip", "sign"]
"""Transform of rewards for learning: none, clip to -1 and 1, or the sign."""

PROBE_STEPS = 8
"""Steps over which two copies are compared."""


def from_gymnasium(
    environment: Any,
    seed: int = 0,
    *,
    frame_stack: int = 1,
    reward: RewardForm = "raw",
    reward_scale: float = 1.0,
    gray: bool = False,
    shrink: int = 1,
    wrappers: Sequence[str] = (),
    **settings: Any,
) -> GymnasiumGame:
    """Start an episode.

    :param environment: a name that `gymnasium.make` knows, a class or function that makes an
        environment, a `gymnasium.Env`, or a vector environment of one copy.
    :param seed: of the episode.
    :param frame_stack: how many of the last observations are stacked.
    :param reward: transform of the rewards; `score` sums the raw ones.
    :param reward_scale: factor applied after the transform.
    :param gray: convert images to one plane of brightness.
    :param shrink: divide the size of images by this factor, averaging squares of that size.
    :param wrappers: names of wrappers to put around the environment, the innermost first:
        `module:Class` or `path.py:Class(size=3)`.
    :param settings: keyword arguments of `gymnasium.make`: `render_mode`, ...
    :raises MissingExtra: Gymnasium is not installed.
    :raises ConfigError: the environment does not exist, does not take these settings, or is
        not supported.
    """
    gym = gymnasium_module()
    if reward not in get_args(RewardForm):
        raise ConfigError(f"reward is {reward!r}: give one of {', '.join(get_args(RewardForm))}.")
    if type(frame_stack) is not int or frame_stack < 1:
        raise ConfigError(f"frame_stack is {frame_stack!r}: give a whole number from 1.")
    if not (math.isfinite(reward_scale) and reward_scale > 0):
        raise ConfigError(f"reward_scale is {reward_scale!r}: give a positive number.")
    made, name = made_environment(environment, settings, wrappers)
    actions = discrete_actions(gym, made.action_space, name)
    encode = ObservationEncoder(gym, made.observation_space, name, gray=gray, shrink=shrink)
    game = GymnasiumGame(name, made, actions, encode, frame_stack, (reward, float(reward_scale)))
    game.restart(seed)
    return game


def repeats(one: Game, other: Game, steps: int = 16) -> bool:
    """Return whether two episodes with the same seed give the same observations and rewards.

    Plays both on. An environment that raises an error counts as repeating.
    """
    try:
        for step in range(steps):
            if one.is_terminal() or other.is_terminal():
                break
            if not np.array_equal(one.observation(), other.observation()):
                return False
            legal, others = one.legal_actions(), other.legal_actions()
            if list(legal) != list(others):
                return False
            for game in (one, other):
                game.apply(legal[step % len(legal)])
            if one.rewards() != other.rewards():
                return False
    except Exception:
        return True
    return one.is_terminal() == other.is_terminal()


class GymnasiumGame(Game):
    """A state of an episode; `environment` is its `gymnasium.Env`."""

    num_players = 1
    zero_sum = False
    value_range = (-math.inf, math.inf)

    def __init__(
        self,
        name: str,
        environment: Any,
        actions: tuple[int, int],
        encode: ObservationEncoder,
        frame_stack: int,
        payment: tuple[RewardForm, float],
    ) -> None:
        self.name, self.environment = name, environment
        self.first_action, self.num_actions = actions
        """`first_action` is the environment's number of our action 0: the space's `start`."""
        spec = getattr(environment, "spec", None)
        self.max_length: int | None = getattr(spec, "max_episode_steps", None)
        self.score = 0.0
        """Sum of the environment's own rewards."""
        self.truncated = False
        """Whether the episode was cut off, not terminated."""
        self._terminated = False
        self._legal: Sequence[int] = range(self.num_actions)
        self._has_masks = environment.has_wrapper_attr("action_masks")
        self._reward = 0.0
        self._encode, self._payment = encode, payment
        self._frames: deque[Observation] = deque(maxlen=frame_stack)

    def restart(self, seed: int) -> None:
        """Start another episode in the same environment."""
        seen, info = self.environment.reset(seed=seed % 2**31)
        frame = self._frame(seen)
        self._frames.extend([frame] * (self._frames.maxlen or 1))
        self.score = self._reward = 0.0
        self.truncated = self._terminated = False
        self._legal = self._allowed(info)

    def legal_actions(self) -> Sequence[int]:
        """Return the actions that the environment allows, or nothing once the episode is over."""
        return () if self.is_terminal() else self._legal

    def apply(self, action: int) -> None:
        """Take a step.

        :raises IllegalAction: the action does not exist, or is masked.
        :raises GameOver: the episode has ended.
        :raises GameContractError: the environment gave a NaN or an infinite number.
        """
        if self._terminated or self.truncated:
            raise GameOver(f"The episode of {self.name} has ended: call restart(seed).")
        if not 0 <= action < self.num_actions:
            raise IllegalAction(
                f"{self.name} has no action {action}: give one from 0 to {self.num_actions - 1}."
            )
        if action not in self._legal:
            raise IllegalAction(
                f"{self.name} does not allow action {action} here: its mask allows "
                f"{', '.join(map(str, self._legal))}."
            )
        step = self.environment.step(int(action) + self.first_action)
        seen, reward, terminated, truncated, info = step
        reward = float(reward)
        if not math.isfinite(reward):
            raise GameContractError(
                f"The environment {self.name} paid {reward}: fix the environment, rewards must be "
                "finite."
            )
        self._frames.append(self._frame(seen))
        self._terminated = bool(terminated)
        self.truncated = bool(truncated) and not self._terminated
        self.score += reward
        self._reward = self._paid(reward)
        self._legal = () if self.is_terminal() else self._allowed(info)

    def _allowed(self, info: Mapping[str, Any]) -> Sequence[int]:
        """The actions that the environment allows now.

        :param info: of its last reset or step.
        :raises GameContractError: the mask has another shape, or allows nothing.
        """
        mask, source = info.get("action_mask"), 'info["action_mask"]'
        if mask is None and self._has_masks:
            mask, source = self.environment.get_wrapper_attr("action_masks")(), "action_masks()"
        if mask is None:
            return range(self.num_actions)
        flags = np.asarray(mask).astype(bool)
        if flags.shape != (self.num_actions,) or not flags.any():
            raise GameContractError(
                f"{source} of the environment {self.name} is {np.asarray(mask).tolist()}: give "
                f"{self.num_actions} entries, one per action, of which at least one is true."
            )
        return range(self.num_actions) if flags.all() else np.flatnonzero(flags).tolist()

    def see(self, shown: Any) -> Observation:
        """Encode the environment's observation as one frame."""
        return self._encode(shown)

    def _frame(self, seen: Any) -> Observation:
        frame = self._encode(seen)
        if frame.dtype != np.uint8 and not np.isfinite(frame).all():
            raise GameContractError(
                f"The environment {self.name} gives observations that are not finite: fix it."
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
        """Return an independent copy, environment included.

        :raises GameContractError: the environment cannot be copied.
        """
        other = copy.copy(self)
        other.environment = _copied(self)
        other._frames = self._frames.copy()
        return other

    def to_play(self) -> int:
        """Return the only seat."""
        return 0

    def is_terminal(self) -> bool:
        """Return whether the episode is over, terminated or truncated."""
        return self._terminated or self.truncated

    def returns(self) -> Sequence[float]:
        """Return zero: rewards pay everything."""
        return (0.0,)

    def rewards(self) -> Sequence[float]:
        """Return the reward of the last step, after clipping and scaling."""
        return (self._reward,)

    def observation(self) -> Observation:
        """Return the last frames, concatenated along the first axis."""
        frames = self._frames
        return frames[0].copy() if len(frames) == 1 else np.concatenate(list(frames))

    def action_to_string(self, action: int) -> str:
        """Return the environment's name of an action, or its number there."""
        meanings = getattr(self.environment.unwrapped, "get_action_meanings", None)
        return str(meanings()[action]) if meanings is not None else str(action + self.first_action)

    def render(self) -> Any:
        """Render the environment: `[H, W, 3]` with render_mode="rgb_array"."""
        return self.environment.render()

    def close(self) -> None:
        """Close the environment's windows and free its memory."""
        self.environment.close()

    def __repr__(self) -> str:
        return f"<{self.name}, score {self.score:g}{', over' if self.is_terminal() else ''}>"


def _copied(game: GymnasiumGame) -> Any:
    """Copy a game's environment; test the first of each kind by comparing two copies."""
    name, environment = game.name, game.environment
    kind = (name, type(environment.unwrapped))
    try:
        made = copy.deepcopy(environment)
        if kind not in _copyable:
            one, other = (_probe(game, copy.deepcopy(environment)) for _ in "ab")
            _copyable[kind] = len(one) == len(other) and all(
                np.array_equal(a, b) for a, b in zip(one, other, strict=True)
            )
    except Exception as error:
        raise GameContractError(
            f"The environment {name} cannot be copied ({type(error).__name__}: {error}), which "
            "planning without a model needs: train a model of it with sylvan train gym:NAME."
        ) from error
    if not _copyable[kind]:
        raise GameContractError(
            f"Two copies of the environment {name} behave differently, so it cannot be planned "
            "without a model: train a model of it with sylvan train gym:NAME."
        )
    return made


_copyable: dict[tuple[str, type], bool] = {}
"""Whether copies of an environment behave alike, by name and class."""


def _probe(game: GymnasiumGame, environment: Any) -> list[NDArray[Any]]:
    """Take some steps in a copy of a game's environment; return what it shows and pays."""
    probed = copy.copy(game)
    probed.environment, probed._frames = environment, game._frames.copy()
    found: list[NDArray[Any]] = []
    for number in range(PROBE_STEPS):
        if probed.is_terminal():
            break
        legal = probed.legal_actions()
        probed.apply(legal[number % len(legal)])
        found += [probed.observation(), np.array([probed.rewards()[0], probed.is_terminal()])]
    return found
