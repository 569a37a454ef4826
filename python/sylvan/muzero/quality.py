"""Quality of a learned model: the error of its predictions some steps ahead, on real games.

The model is shown a position of an episode that it has not learned from, and then only the actions
that were taken. After k steps it says

- the *reward* of the k-th step, against what that step paid;
- the *value* of the state there, against its target: what the episode went on to pay, or n steps
  of it and then the search's value. At k = 0 nothing is foreseen, so that error is the value's own,
  and what comes on top of it with k is the model's;
- in games, a *policy*: how much of it is on legal moves. Below the root nobody tells the model what
  is legal.

Errors are mean absolute ones, in the units of rewards and returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.naming import GameSpec
from sylvan.muzero.evaluation import in_memory
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig, outcomes

__all__ = ["AHEAD", "Quality", "model_quality"]

AHEAD = (0, 1, 2, 3, 5, 10)
"""Steps ahead that are looked at."""
POSITIONS = 128
"""From which predictions are made at most."""
RECORDS = 32
"""That they are taken from at most: native games are played through again for it."""


@dataclass(frozen=True)
class Quality:
    """Means over positions, by steps ahead."""

    reward: dict[int, float]
    """Absolute error of the reward of step k."""
    value: dict[int, float]
    """Absolute error of the value after k steps."""
    legal: dict[int, float]
    """Share of the policy after k steps that is on legal moves; empty where all always are."""
    positions: int

    def numbers(self) -> dict[str, float]:
        """As the metrics log them: `model.reward.1`, `model.value.5`, `model.legal.2`."""
        return {
            f"model.{what}.{k}": number
            for what in ("reward", "value", "legal")
            for k, number in getattr(self, what).items()
        }


@dataclass(frozen=True)
class _Segment:
    """A position of a record and the up to K steps after it."""

    observation: NDArray[Any]
    actions: list[int]
    rewards: list[float]
    """To the seat that made each step."""
    values: list[float]
    """To the seat to move, of this state and of those that follow; shorter where the end comes."""
    legal: list[list[int]]
    """As `values`."""


def model_quality(
    model: Any,
    spec: GameSpec,
    records: Sequence[GameRecord],
    targets: TargetConfig,
    rng: np.random.Generator,
    positions: int = POSITIONS,
) -> Quality:
    """Compare a model's predictions with the records.

    :param rng: chooses the records and the positions, more from those that are longer.
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
            output = model.recurrent_inference(output[3], _like(actions[:, k - 1], output[3]))
        if k not in AHEAD:
            continue
        said_value, said_reward = (_mover(in_memory(output[place])) for place in (0, 1))
        paid = [row for row, s in enumerate(segments) if len(s.rewards) >= k]
        if k and paid:
            truth = np.array([segments[row].rewards[k - 1] for row in paid])
            reward[k] = float(np.abs(said_reward[paid] - truth).mean())
        alive = [row for row, s in enumerate(segments) if len(s.values) > k]
        if not alive:
            continue
        truth = np.array([segments[row].values[k] for row in alive])
        value[k] = float(np.abs(said_value[alive] - truth).mean())
        if game.num_players > 1:
            shares = _softmax(in_memory(output[2])[alive])
            on = [shares[i, segments[row].legal[k]].sum() for i, row in enumerate(alive)]
            legal[k] = float(np.mean(on))
    return Quality(reward, value, legal, len(segments))


def _segments(
    spec: GameSpec,
    records: Sequence[GameRecord],
    targets: TargetConfig,
    rng: np.random.Generator,
    positions: int,
    count: int,
) -> list[_Segment]:
    """Positions drawn from some records, each of which is gone through once."""
    some = sorted(rng.permutation(len(records))[:RECORDS].tolist())
    plies = [(number, int(ply)) for number in some for ply in records[number].searched]
    drawn = rng.permutation(len(plies))[:positions]
    found = []
    for number in sorted({plies[i][0] for i in drawn}):
        record = records[number]
        values = outcomes(record, targets.discount, targets.td_steps)
        rewards = np.zeros_like(record.values) if record.rewards is None else record.rewards.copy()
        if record.ending != "limit":
            rewards[-1] += targets.discount * record.returns  # the result is the last reward
        seen, legal = _replayed(spec, record)
        for ply in sorted(plies[i][1] for i in drawn if plies[i][0] == number):
            steps = range(ply, min(ply + count, len(record)))
            states = range(ply, min(ply + count + 1, len(record)))
            found.append(
                _Segment(
                    observation=seen[ply],
                    actions=[int(record.actions[step]) for step in steps],
                    rewards=[float(rewards[step, record.seats[step]]) for step in steps],
                    values=[float(values[state, record.seats[state]]) for state in states],
                    legal=[legal[state] for state in states],
                )
            )
    return found


def _replayed(spec: GameSpec, record: GameRecord) -> tuple[NDArray[Any], list[list[int]]]:
    """Observations and legal actions at each ply."""
    if record.observations is not None:
        return record.observations, [record.legal(ply).tolist() for ply in range(len(record))]
    state = spec.first(record.start)
    seen: list[NDArray[Any]] = []
    known: list[list[int]] = []
    for action in record.actions.tolist():
        seen.append(np.asarray(state.observation()))
        known.append(list(state.legal_actions()))
        state.apply(action)
    return np.stack(seen), known


def _mover(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[B]` of the first seat, from `[B]` or `[B, S]`."""
    return numbers if numbers.ndim == 1 else numbers[:, 0]


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _like(indices: NDArray[np.int64], hidden: Any) -> Any:
    """Actions where a model can use them."""
    if not hasattr(hidden, "detach"):
        return indices
    import torch

    return torch.from_numpy(indices).to(hidden.device)
