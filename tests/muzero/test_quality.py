"""Prediction errors: a perfect model has none, those of a zero model are computed by hand."""

from pathlib import Path

import numpy as np
import pytest

from sylvan.games import TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.muzero.quality import AHEAD, model_quality
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig
from tests.muzero.models import Corridor, ExactModel

CORRIDOR = GameSpec(f"{Path(__file__).parent / 'models.py'}:Corridor")
TICTACTOE = GameSpec("tictactoe")


def corridor_record(ending="end", returns=0.0):
    """Left, right, right, right, right, right?: 2 1 2 3 4 5."""
    actions = [0, 1, 1, 1, 1]
    state, seen, paid = Corridor(), [], []
    for action in actions:
        seen.append(state.observation())
        state.apply(action)
        paid.append(state.rewards())
    count = len(actions)
    return GameRecord(
        actions=np.array(actions, np.int32),
        seats=np.zeros(count, np.int8),
        policy_offsets=2 * np.arange(count + 1),
        policy_actions=np.array([0, 1] * count, np.int32),
        policy=np.full(2 * count, 0.5, np.float32),
        values=np.zeros((count, 1), np.float32),
        weights=np.ones(count, np.float32),
        surprise=np.zeros(count, np.float32),
        returns=np.array([returns], np.float32),
        rewards=np.array(paid, np.float32),
        observations=np.stack(seen),
        ending=ending,
    )


def test_a_perfect_model_of_an_environment_has_no_error():
    left = {1: 0.7, 2: 0.8, 3: 0.9, 4: 1.0}  # the return of going right
    model = ExactModel([Corridor(c) for c in range(1, 5)], lambda position: [left[position.cell]])
    record = corridor_record()
    found = model_quality(
        model, CORRIDOR, [record], TargetConfig(discount=1.0), np.random.default_rng(0)
    )
    assert found.positions == 5 and found.legal == {}
    assert set(found.reward) == {1, 2, 3, 5} and max(found.reward.values()) < 1e-6
    # From the first cell the record goes left first, which costs 0.2 more than the model's value.
    assert found.value[0] == pytest.approx(0.2 / 5)
    assert all(found.value[k] < 1e-6 for k in (1, 2, 3))


def test_the_error_of_a_zero_model_is_the_reward():
    model = ExactModel([Corridor(c) for c in range(1, 5)])
    model.recurrent_inference = lambda hidden, actions: model.output(
        [Corridor(2)] * len(actions), [[0.0]] * len(actions)
    )
    found = model_quality(
        model, CORRIDOR, [corridor_record()], TargetConfig(), np.random.default_rng(0)
    )
    assert found.reward[1] == pytest.approx((4 * 0.1 + 1.0) / 5)
    assert found.reward[5] == pytest.approx(1.0)
    assert found.numbers()["model.reward.5"] == found.reward[5]


def test_a_cut_off_episode_does_not_count_its_bootstrap_as_a_reward():
    model = ExactModel([Corridor(c) for c in range(1, 5)])
    found = model_quality(
        model, CORRIDOR, [corridor_record("limit", 7.0)], TargetConfig(), np.random.default_rng(0)
    )
    assert max(found.reward.values()) < 1e-6


def games(count):
    selfplay = SelfPlay(TICTACTOE, SelfPlayConfig(games=8, positions=80), seed=1)
    return selfplay.play(lambda _: "uniform", step=1)[:count]


def test_a_perfect_model_of_a_game_knows_its_rewards_and_legal_moves():
    records = games(6)
    states = []
    for record in records:
        state = TicTacToe()
        for action in record.actions.tolist():
            states.append(state.clone())
            state.apply(action)
    found = model_quality(
        ExactModel(states), TICTACTOE, records, TargetConfig(), np.random.default_rng(2)
    )
    assert set(found.legal) == {k for k in AHEAD if k < 9}
    assert all(share == pytest.approx(1.0) for share in found.legal.values())
    assert max(found.reward.values()) < 1e-6


def test_a_uniform_policy_has_the_share_of_legal_moves():
    records = games(6)

    class Nothing:
        def initial_inference(self, observations):
            return self.recurrent_inference(observations, [0] * len(observations))

        def recurrent_inference(self, hidden, actions):
            n = len(actions)
            return np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 9)), hidden

    found = model_quality(Nothing(), TICTACTOE, records, TargetConfig(), np.random.default_rng(2))
    shares = [(9 - ply) / 9 for record in records for ply in range(len(record))]
    assert found.legal[0] == pytest.approx(np.mean(shares))
    results = [abs(float(record.returns[0])) for record in records for _ in range(len(record))]
    assert found.value[0] == pytest.approx(np.mean(results))


def test_no_records_give_no_figures():
    found = model_quality(None, TICTACTOE, [], TargetConfig(), np.random.default_rng(0))
    assert found.numbers() == {} and found.positions == 0
