"""Quality of a learned model: the error of its predictions some steps ahead, on real games.

The model gets a position of an episode that it has not learned from, and then only the actions that
were taken. After k steps, its predictions are compared:

- the *reward* of the k-th step, with the real reward;
- the *value* of the state, with its target: the rest of the episode's rewards, or n steps of them
  and then the search's value. At k = 0 no step is predicted, so this is the error of the value
  head; the increase with k is the error of the model;
- in games, the *policy*: the share on legal moves. Below the root the model does not get the legal
  moves.

Errors are mean absolute errors, in the units of rewards and returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.naming import GameSpec
from sylvan.muzero.evaluation import in_memory
from sylvan.planning import LatentModel
from sylvan.planning.model_arrays import on_device_of
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig, outcomes

__all__ = ["AHEAD", "Foresight", "Quality", "foreseen", "model_quality"]

AHEAD = (0, 1, 2, 3, 5, 10)
"""Steps ahead to compare."""
POSITIONS = 128
"""Maximum number of positions to predict from."""
RECORDS = 32
"""Maximum number of records to take them from, because native games must be replayed."""


@dataclass(frozen=True)
class Quality:
    """Means over positions, by steps ahead."""

    reward: dict[int, float]
    """Absolute error of the reward of step k."""
    value: dict[int, float]
    """Absolute error of the value after k steps."""
    legal: dict[int, float]
    """Share of the policy after k steps that is on legal moves; empty for environments."""
    positions: int

    def numbers(self) -> dict[str, float]:
        """The figures by their names in the metrics: `model.reward.1`, `model.legal.2`, ..."""
        return {
            f"model.{what}.{k}": number
            for what in ("reward", "value", "legal")
            for k, number in getattr(self, what).items()
        }


@dataclass(frozen=True)
class _Segment:
    """A position of a record and up to K steps after it."""

    observation: NDArray[Any]
    actions: list[int]
    rewards: list[float]
    """Of the seat that made each step."""
    values: list[float]
    """Of the seat to move, in this state and the following ones; shorter if the game ends."""
    legal: list[list[int]]
    """Legal actions of the same states."""


def model_quality(
    model: LatentModel,
    spec: GameSpec,
    records: Sequence[GameRecord],
    targets: TargetConfig,
    rng: np.random.Generator,
    positions: int = POSITIONS,
) -> Quality:
    """Compare a model's predictions with the records.

    :param rng: samples the records and the positions, more of them from longer records.
    """
    count, game = max(AHEAD), spec.first()
    segments = _segments(spec, records, targets, rng, positions, count)
    if not segments:
        return Quality({}, {}, {}, 0)
    actions = rng.integers(0, game.num_actions, (len(segments), count))
    for row, segment in enumerate(segments):
        actions[row, : len(segment.actions)] = segment.actions
    reward: dict[int, float] = {}
    value: dict[int, float] = {}
    legal: dict[int, float] = {}
    output = model.initial_inference(np.stack([s.observation for s in segments]))
    for k in range(count + 1):
        if k:
            output = model.recurrent_inference(
                output[3], on_device_of(output[3], actions[:, k - 1])
            )
        if k not in AHEAD:
            continue
        predicted_value, predicted_reward = (_mover(in_memory(output[i])) for i in (0, 1))
        rewarded = [row for row, s in enumerate(segments) if len(s.rewards) >= k]
        if k and rewarded:
            truth = np.array([segments[row].rewards[k - 1] for row in rewarded])
            reward[k] = float(np.abs(predicted_reward[rewarded] - truth).mean())
        alive = [row for row, s in enumerate(segments) if len(s.values) > k]
        if not alive:
            continue
        truth = np.array([segments[row].values[k] for row in alive])
        value[k] = float(np.abs(predicted_value[alive] - truth).mean())
        if game.num_players > 1:
            policy = _softmax(in_memory(output[2])[alive])
            shares = [policy[i, segments[row].legal[k]].sum() for i, row in enumerate(alive)]
            legal[k] = float(np.mean(shares))
    return Quality(reward, value, legal, len(segments))


def _segments(
    spec: GameSpec,
    records: Sequence[GameRecord],
    targets: TargetConfig,
    rng: np.random.Generator,
    positions: int,
    count: int,
) -> list[_Segment]:
    """Segments from random positions of some records; each record is replayed once."""
    some = sorted(rng.permutation(len(records))[:RECORDS].tolist())
    plies = [(number, int(ply)) for number in some for ply in records[number].searched]
    drawn = rng.permutation(len(plies))[:positions]
    found = []
    for number in sorted({plies[i][0] for i in drawn}):
        played = _Played.of(spec, records[number], targets)
        chosen = sorted(plies[i][1] for i in drawn if plies[i][0] == number)
        found += [played.segment(ply, count) for ply in chosen]
    return found


@dataclass(frozen=True)
class _Played:
    """A record with what a model is compared with."""

    record: GameRecord
    rewards: NDArray[Any]
    """`[T, S]` the result included."""
    values: NDArray[np.float32]
    """`[T, S]` targets."""
    observations: NDArray[Any]
    legal: list[list[int]]

    @classmethod
    def of(cls, spec: GameSpec, record: GameRecord, targets: TargetConfig) -> _Played:
        """Replay a record."""
        values = outcomes(record, targets.discount, targets.td_steps)
        rewards = np.zeros_like(record.values) if record.rewards is None else record.rewards.copy()
        if record.ending != "limit":
            rewards[-1] += targets.discount * record.returns  # the result is the last reward
        return cls(record, rewards, values, *_replayed(spec, record))

    def segment(self, ply: int, count: int) -> _Segment:
        """A position and up to `count` steps after it."""
        record = self.record
        steps = range(ply, min(ply + count, len(record)))
        states = range(ply, min(ply + count + 1, len(record)))
        return _Segment(
            observation=self.observations[ply],
            actions=[int(record.actions[step]) for step in steps],
            rewards=[float(self.rewards[step, record.seats[step]]) for step in steps],
            values=[float(self.values[state, record.seats[state]]) for state in states],
            legal=[self.legal[state] for state in states],
        )


@dataclass(frozen=True)
class Foresight:
    """A model's predictions some steps ahead of a position, beside the true values."""

    action: int | None
    """The action before; None for the position itself."""
    reward: float | None
    """Predicted for that action; None for the position itself."""
    real_reward: float | None
    value: float
    """Predicted for the seat to move."""
    real_value: float | None
    """Its target; None after the end."""
    shares: NDArray[np.float64]
    """`[A]` the predicted policy."""
    legal: list[int]
    """The legal actions; empty after the end."""


def foreseen(
    model: LatentModel,
    spec: GameSpec,
    record: GameRecord,
    targets: TargetConfig,
    ply: int,
    count: int,
) -> list[Foresight]:
    """The predictions of a model that gets a position of a record, and then only the actions.

    :return: for the position and each of up to `count` steps after it.
    """
    segment = _Played.of(spec, record, targets).segment(ply, count)
    output = model.initial_inference(segment.observation[None])
    found = []
    for k in range(len(segment.actions) + 1):
        if k:
            action = np.array([segment.actions[k - 1]])
            output = model.recurrent_inference(output[3], on_device_of(output[3], action))
        value, reward = (float(_mover(in_memory(output[i]))[0]) for i in (0, 1))
        alive = k < len(segment.values)
        found.append(
            Foresight(
                action=segment.actions[k - 1] if k else None,
                reward=reward if k else None,
                real_reward=segment.rewards[k - 1] if k else None,
                value=value,
                real_value=segment.values[k] if alive else None,
                shares=_softmax(in_memory(output[2]))[0],
                legal=segment.legal[k] if alive else [],
            )
        )
    return found


def _replayed(spec: GameSpec, record: GameRecord) -> tuple[NDArray[Any], list[list[int]]]:
    """Observations and legal actions at each ply."""
    if record.observations is not None:
        return record.observations, [record.legal(ply).tolist() for ply in range(len(record))]
    state = spec.first(record.start)
    observations: list[NDArray[Any]] = []
    legal: list[list[int]] = []
    for action in record.actions.tolist():
        observations.append(np.asarray(state.observation()))
        legal.append(list(state.legal_actions()))
        state.apply(action)
    return np.stack(observations), legal


def _mover(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[B]` the number of the seat to move, which comes first in `[B, S]`."""
    return numbers if numbers.ndim == 1 else numbers[:, 0]


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares
