"""States of a learned model: `sylvan.LatentSearch` in plain Python.

A state is a path of actions from the root. A dictionary, shared by all states of a search, stores
the model's outputs for each path: hidden state, reward and actions. `evaluate` runs the model on
one leaf at a time and fills the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sylvan.games.game import Game, Observation
from sylvan.planning.model import LatentModel
from sylvan.planning.model_arrays import Array
from sylvan.reference import priors

__all__ = ["LatentGame", "evaluate"]


@dataclass
class Inference:
    """The model's outputs for one path."""

    hidden: Array
    reward: list[float]
    legal: list[int]


class LatentGame(Game):
    """A path of actions into a model; `memory` is `{path: Inference}`."""

    zero_sum = False

    def __init__(
        self,
        model: LatentModel,
        observation: Array,
        legal_actions: Sequence[int],
        *,
        num_actions: int,
        num_players: int = 1,
        seat: int = 0,
        top_k: int | None = None,
        policy_temperature: float = 1.0,
        prior_floor: float = 0.0,
        relative: bool = False,
        value_range: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        self.model, self.first, self.top_k = model, observation, top_k
        self.relative, self.shape = relative, (policy_temperature, prior_floor)
        self.num_actions, self.num_players, self.value_range = num_actions, num_players, value_range
        self.zero_sum = num_players == 2
        self.start = seat
        self.path: tuple[int, ...] = ()
        root = Inference(None, [0.0] * num_players, list(legal_actions))
        self.memory: dict[tuple[int, ...], Inference] = {(): root}

    def clone(self) -> LatentGame:
        copy = LatentGame.__new__(LatentGame)
        copy.__dict__.update(self.__dict__)
        return copy

    def apply(self, action: int) -> None:
        self.path = (*self.path, action)

    def to_play(self) -> int:
        return (self.start + len(self.path)) % self.num_players

    def legal_actions(self) -> Sequence[int]:
        return self.memory[self.path].legal

    def rewards(self) -> Sequence[float]:
        seen = self.memory.get(self.path)
        return seen.reward if seen else [0.0] * self.num_players

    def is_terminal(self) -> bool:
        return False

    def returns(self) -> Sequence[float]:
        return [0.0] * self.num_players

    def observation(self) -> Observation:
        return np.zeros(0, np.float32)

    def per_seat(self, number: Array, seat: int) -> list[float]:
        """Convert a number for `seat`, or one number per seat, to one number per seat."""
        numbers = np.asarray(number, np.float32).reshape(-1)
        if self.num_players == 2 and len(numbers) == 1:
            mine = numbers[0] if seat == 0 else -numbers[0]
            numbers = np.array([mine, -mine])
        elif self.relative:
            numbers = np.roll(numbers, seat)  # the first number belongs to `seat`
        return [float(x) for x in numbers]


def evaluate(states: list[LatentGame]) -> list[tuple[list[float], list[float]]]:
    """Evaluate leaves with the model: logits of the legal actions, values per seat."""
    return [_evaluated(state) for state in states]


def _evaluated(state: LatentGame) -> tuple[list[float], list[float]]:
    if not state.path:
        output = state.model.initial_inference(state.first[None])
        logits, legal = np.asarray(output[2][0], np.float32), state.memory[()].legal
        reward = state.memory[()].reward
    else:
        hidden, action = state.memory[state.path[:-1]].hidden, np.array(state.path[-1:])
        output = state.model.recurrent_inference(hidden, action)
        logits = np.asarray(output[2][0], np.float32)
        highest = np.argsort(-priors.shaped(logits, *state.shape), kind="stable")[: state.top_k]
        legal = sorted(int(a) for a in highest if np.isfinite(logits[a]))
        reward = state.per_seat(output[1][0], (state.to_play() - 1) % state.num_players)
    state.memory[state.path] = Inference(output[3], reward, legal)
    values = state.per_seat(output[0][0], state.to_play())
    return [float(logits[a]) for a in legal], values
