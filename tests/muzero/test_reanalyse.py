"""Reanalyse: new targets from searches with the newest model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sylvan.games.naming import GameSpec
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.reanalyse import Reanalyse
from sylvan.muzero.search import latent_search
from sylvan.muzero.sequences import SequenceReplay
from sylvan.planning import SearchConfig
from sylvan.replay.config import ReplayConfig
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig
from tests.muzero.test_sequences import Oracle, generator
from tests.muzero.toy_models import Hashed
from tests.replay.random_records import random_record

RING = f"{Path(__file__).parent / 'games.py'}:Ring"
SEARCH = SearchConfig(simulations=7, noise=True, c_puct=1.0)
PLAIN = ReplayConfig(symmetries=False)


def played(spec, count, seed=0, ending=None):
    """Random games, some of them truncated."""
    rng = generator(seed)
    records = []
    for number in range(count):
        record = random_record(spec, rng, plies=7 if number % 2 else 4)
        if ending is None and record.ending == "limit":
            paid = rng.normal(size=record.returns.shape).astype(np.float32)
            record = GameRecord(**vars(record) | {"returns": paid})
        records.append(record)
    return records


def reanalysed(record, spec, model, search):
    """The record with the results of one search per position: the slow way."""
    state, codes, policy, values, offsets = spec.first(), [], [], [], [0]
    for action in record.actions.tolist():
        legal = sorted(state.legal_actions())
        found = latent_search(model, state, search).search(
            state.observation()[None], [legal], seats=[state.to_play()]
        )
        outcome = found.outcomes()
        codes += outcome.actions.tolist()
        policy += outcome.policy.tolist()
        values.append(outcome.values[0])
        offsets.append(len(codes))
        state.apply(action)
    fields = vars(record) | {
        "policy_offsets": np.array(offsets),
        "policy_actions": np.array(codes, np.int32),
        "policy": np.array(policy, np.float32),
        "values": np.array(values, np.float32),
        "weights": np.ones(len(record), np.float32),
    }
    return GameRecord(**fields)


class FreshOracle(Oracle):
    """Truncated episodes of one seat bootstrap one step earlier, from the newest value."""

    def to_come(self, state):
        steps, last = self.targets.td_steps, self.plies - 1
        late = steps is not None and state + steps >= self.plies and state <= self.plies
        if self.whole or self.seats > 1 or not late:
            return super().to_come(state)
        now, discount = self.record.values[last].astype(np.float64), self.targets.discount
        if state == self.plies:
            return (now - self.paid(last)) / discount
        rewards = [discount**i * self.paid(state + i) for i in range(last - state)]
        return sum(rewards, discount ** (last - state) * now)


@pytest.mark.slow
@pytest.mark.parametrize("td_steps", [None, 1, 3, 8])
@pytest.mark.parametrize("mix", [0.0, 0.5])
@pytest.mark.parametrize(
    ("name", "params", "seats"),
    [("tictactoe", {}, 2), (RING, {"seats": 3}, 3), (RING, {"seats": 1}, 1)],
)
def test_new_targets_equal_a_search_of_each_position(name, params, seats, mix, td_steps, tmp_path):
    spec = GameSpec(name, params)
    model = Hashed(spec.first().num_actions, seats)
    targets = TargetConfig(td_steps=td_steps, value_mix=mix, discount=0.9)
    records = played(spec, 6)
    replay = SequenceReplay(tmp_path, spec, PLAIN, targets=targets, unroll=3)
    replay.append(records)
    replay.reanalyse = Reanalyse(model, MuZeroConfig(reanalyse=1.0), SEARCH)
    batch = replay.sample(30, generator(3))
    rows = [(n, ply) for n, record in enumerate(records) for ply in range(len(record))]
    search = SEARCH.replace(noise=False)
    again = [reanalysed(record, spec, model, search) for record in records]
    for b, place in enumerate(batch.positions):
        number, first = rows[place]
        record, oracle = again[number], FreshOracle(again[number], targets)
        for k in range(4):
            state = first + k
            if batch.known[b, k]:
                np.testing.assert_allclose(batch.value[b, k], oracle.value(state), atol=1e-4)
            expected = np.zeros(spec.first().num_actions)
            if state < len(record):
                expected[record.legal(state)] = record.target(state)
            np.testing.assert_allclose(batch.policy[b, k], expected, atol=1e-5)
            assert batch.policy_weight[b, k] == (state < len(record))


@pytest.mark.parametrize("td_steps", [1, 3])
@pytest.mark.parametrize("mix", [0.0, 0.5])
@pytest.mark.parametrize(
    ("name", "params", "seats"),
    [("tictactoe", {}, 2), (RING, {"seats": 3}, 3), (RING, {"seats": 1}, 1)],
)
def test_fresh_values_bootstrap_from_the_model(name, params, seats, mix, td_steps, tmp_path):
    spec = GameSpec(name, params)
    model = Hashed(spec.first().num_actions, seats)
    targets = TargetConfig(td_steps=td_steps, value_mix=mix, discount=0.9)
    records = played(spec, 6)
    replay = SequenceReplay(tmp_path, spec, PLAIN, targets=targets, unroll=3)
    replay.append(records)
    before = replay.sample(30, generator(3))
    replay.reanalyse = Reanalyse(model, MuZeroConfig(fresh_values=True), SEARCH)
    batch = replay.sample(30, generator(3))
    np.testing.assert_array_equal(batch.policy, before.policy)
    rows = [(n, ply) for n, record in enumerate(records) for ply in range(len(record))]
    plain = targets.replace(value_mix=0.0)
    said = [FreshOracle(valued(record, spec, model), plain) for record in records]
    for b, place in enumerate(batch.positions):
        number, first = rows[place]
        for k in np.flatnonzero(batch.known[b]):
            state, record = first + k, records[number]
            value = said[number].to_come(state)
            if batch.alive[b, k]:
                value = (1 - mix) * value + mix * record.values[state]
            expected = np.roll(value, -said[number].mover(state))
            np.testing.assert_allclose(batch.value[b, k], expected, atol=1e-5)
    assert not np.array_equal(batch.value, before.value)


def valued(record, spec, model):
    """The record with the model's values of each position, in seat order."""
    state, values = spec.first(), []
    for action in record.actions.tolist():
        said = model.initial_inference(state.observation()[None])[0][0]
        values.append(np.roll(said, state.to_play()))
        state.apply(action)
    return GameRecord(**vars(record) | {"values": np.array(values, np.float32)})


def test_a_model_with_one_value_for_two_seats(tmp_path):
    """As networks of zero-sum games do."""

    class Single(Hashed):
        """Returns only the mover's value."""

        def initial_inference(self, observations):
            value, reward, *rest = super().initial_inference(observations)
            return value[:, 0], reward[:, 0], *rest

    spec = GameSpec("tictactoe")
    targets = TargetConfig(td_steps=1)
    replay = SequenceReplay(tmp_path, spec, PLAIN, targets=targets)
    replay.append(played(spec, 4))
    batches = []
    for model in (Hashed(9, 2), Single(9, 2)):
        replay.reanalyse = Reanalyse(model, MuZeroConfig(fresh_values=True), SEARCH)
        batches.append(replay.sample(30, generator(3)))
    np.testing.assert_array_equal(batches[0].value, batches[1].value)


def test_a_share_of_the_batch_is_new_and_the_rest_unchanged(tmp_path):
    spec = GameSpec("connect4")
    replay = SequenceReplay(tmp_path, spec, PLAIN, targets=TargetConfig(td_steps=2))
    replay.append([random_record(spec, generator(n), fast=0.0) for n in range(4)])
    before = replay.sample(20, generator(1))
    config = MuZeroConfig(reanalyse=0.25)
    replay.reanalyse = Reanalyse(Hashed(7, 2), config, SEARCH)
    after = replay.sample(20, generator(1))
    again = replay.sample(20, generator(1))
    assert np.array_equal(before.positions, after.positions)
    for name in ("policy", "value"):
        changed = (getattr(before, name) != getattr(after, name)).reshape(20, -1).any(axis=1)
        assert changed[:5].any() and not changed[5:].any()
        assert changed[:5].all() or name == "value"  # near the end values do not change
    for name, array in vars(after).items():
        np.testing.assert_array_equal(getattr(again, name), array)  # no state is kept


def test_nothing_is_searched_at_share_zero(tmp_path):
    spec, model = GameSpec("tictactoe"), Hashed(9, 2)
    replay = SequenceReplay(tmp_path, spec)
    replay.append([random_record(spec, generator(0))])
    replay.reanalyse = Reanalyse(model, MuZeroConfig(), SEARCH)
    replay.sample(8, generator())
    assert model.calls == 0
