"""Targets compared with values computed by hand; each seat has its own rewards."""

import numpy as np
import pytest

from sylvan.replay.record import GameRecord
from sylvan.replay.targets import (
    GameHistory,
    TargetConfig,
    moves_left,
    network_values,
    outcomes,
    value_targets,
)


def record(seats, values, returns, rewards=None, *, searched=None, ending="end"):
    """A game with two actions at each ply; the first is always played."""
    plies = len(seats)
    searched = [True] * plies if searched is None else searched
    counts = [2 if is_searched else 0 for is_searched in searched]
    return GameRecord(
        np.zeros(plies, np.int32),
        np.array(seats, np.int8),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([0, 1] * sum(searched), np.int32),
        np.array([0.75, 0.25] * sum(searched), np.float32),
        np.array(values, np.float32),
        np.ones(plies, np.float32),
        np.zeros(plies, np.float32),
        np.array(returns, np.float32),
        None if rewards is None else np.array(rewards, np.float32),
        ending=ending,
    )


ONE = record(
    # One seat: rewards 1, 0, 2, and a return of 4 at the end.
    seats=[0, 0, 0],
    values=[[5.0], [6.0], [7.0]],
    returns=[4.0],
    rewards=[[1.0], [0.0], [2.0]],
)
TWO = record(
    # Two seats; the first moves twice in a row, the second wins.
    seats=[0, 0, 1, 0],
    values=[[0.5, -0.5], [0.25, -0.25], [-0.5, 0.5], [-1.0, 1.0]],
    returns=[-1.0, 1.0],
)
THREE = record(
    # Three seats, not zero-sum.
    seats=[0, 1, 2],
    values=[[0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.0, 0.9, 0.1]],
    returns=[0.0, 1.0, 0.5],
    rewards=[[0.0, 0.0, 8.0], [0.0, -4.0, 0.0], [2.0, 0.0, 0.0]],
)


@pytest.mark.parametrize(
    ("game", "discount", "td_steps", "expected"),
    [
        (ONE, 1.0, None, [[7.0], [6.0], [6.0]]),
        # 1 + 0/2 + 2/4 + 4/8, then 0 + 2/2 + 4/4, then 2 + 4/2
        (ONE, 0.5, None, [[2.0], [2.0], [4.0]]),
        # 1 + 6/2, 0 + 7/2, 2 + 4/2: one ply ahead; the end keeps its return.
        (ONE, 0.5, 1, [[4.0], [3.5], [4.0]]),
        # 1 + 0/2 + 7/4, 0 + 2/2 + 4/4, 2 + 4/2
        (ONE, 0.5, 2, [[2.75], [2.0], [4.0]]),
        (TWO, 1.0, None, [[-1.0, 1.0]] * 4),
        (TWO, 0.5, None, [[-1 / 16, 1 / 16], [-1 / 8, 1 / 8], [-0.25, 0.25], [-0.5, 0.5]]),
        (TWO, 1.0, 1, [[0.25, -0.25], [-0.5, 0.5], [-1.0, 1.0], [-1.0, 1.0]]),
        (TWO, 1.0, 9, [[-1.0, 1.0]] * 4),
        (THREE, 1.0, None, [[2.0, -3.0, 8.5], [2.0, -3.0, 0.5], [2.0, 1.0, 0.5]]),
        # Seat 0: 2/4 + 0/8; seat 1: -4/2 + 1/8; seat 2: 8 + 0.5/8; and so on.
        (
            THREE,
            0.5,
            None,
            [[0.5, -1.875, 8.0625], [1.0, -3.75, 0.125], [2.0, 0.5, 0.25]],
        ),
        (THREE, 0.5, 1, [[0.05, 0.4, 8.05], [0.0, -3.55, 0.05], [2.0, 0.5, 0.25]]),
    ],
)
def test_outcomes_by_hand(game, discount, td_steps, expected):
    np.testing.assert_allclose(outcomes(game, discount, td_steps), expected, rtol=1e-6)


def test_td_steps_skip_plies_that_were_not_searched():
    game = record(
        seats=[0, 1, -1, 0],
        values=[[0.5, -0.5], [0.0, 0.0], [0.0, 0.0], [0.25, -0.25]],
        returns=[1.0, -1.0],
        searched=[True, False, False, True],
    )
    # From ply 0 one ahead is an opening move, two ahead is chance: the next search is at ply 3.
    assert outcomes(game, 1.0, 1)[0].tolist() == [0.25, -0.25]
    assert outcomes(game, 0.5, 1)[0].tolist() == [0.25 / 8, -0.25 / 8]
    assert outcomes(game, 1.0, 4)[0].tolist() == [1.0, -1.0]
    assert value_targets(game, TargetConfig(), "seats").tolist() == [[1.0, -1.0]] * 2


def test_each_seat_has_its_own_rewards():
    """With one shared reward, seat 1 would get the reward of seat 0's capture."""
    game = record(
        seats=[0, 1, 0],
        values=np.zeros((3, 2)),
        returns=[0.0, 0.0],
        rewards=[[3.0, -3.0], [-1.0, 1.0], [0.0, 0.0]],
    )
    assert outcomes(game).tolist() == [[2.0, -2.0], [-1.0, 1.0], [0.0, 0.0]]
    assert value_targets(game, TargetConfig(), "scalar").tolist() == [[2.0], [1.0], [0.0]]


def test_values_are_converted_to_each_output_format():
    values = np.array([[1.0, -1.0], [1.0, -1.0], [0.25, -0.25], [0.0, 0.0]], np.float32)
    seats = np.array([0, 1, 1, 0], np.int8)
    wdl = network_values(values, seats, "wdl")
    assert wdl.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0.75, 0.25], [0, 1, 0]]
    assert network_values(values, seats, "scalar")[:, 0].tolist() == [1, -1, -0.25, 0]
    three = np.array([[1.0, 2.0, 3.0]] * 3, np.float32)
    rotated = network_values(three, np.array([0, 1, 2], np.int8), "seats")
    assert rotated.tolist() == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]


def test_half_a_win_and_half_a_loss_is_not_a_draw():
    mixed = value_targets(TWO, TargetConfig(value_mix=0.5), "wdl")
    # Ply 0: seat 0 lost (0, 0, 1), its search said 0.5: (0.5, 0.5, 0).
    assert mixed[0].tolist() == [0.25, 0.25, 0.5]
    # Ply 2: seat 1 won (1, 0, 0), its search said 0.5.
    assert mixed[2].tolist() == [0.75, 0.25, 0.0]
    all_q = value_targets(TWO, TargetConfig(value_mix=1.0), "scalar")
    assert all_q[:, 0].tolist() == [0.5, 0.25, 0.5, -1.0]


def test_moves_left_are_unknown_for_unfinished_games():
    assert moves_left(TWO).tolist() == [4, 3, 2, 1]
    resigned = record([0, 1], np.zeros((2, 2)), [1.0, -1.0], ending="resign")
    assert moves_left(resigned).tolist() == [-1, -1]


def test_a_history_gives_targets_state_by_state():
    history = GameHistory(ONE, num_actions=2, discount=0.5)
    first, second, last, after = (history.make_target(state, td_steps=1) for state in (0, 1, 3, 4))
    assert first.value.tolist() == [4.0] and first.reward.tolist() == [0.0]
    assert first.policy.tolist() == [0.75, 0.25]
    assert second.value.tolist() == [3.5] and second.reward.tolist() == [1.0]
    assert last.value.tolist() == [4.0] and last.reward.tolist() == [2.0]
    assert last.policy.tolist() == [0.0, 0.0]
    assert after.value.tolist() == [0.0] and after.reward.tolist() == [0.0]
    assert history.make_target(0).value.tolist() == [2.0]
    assert history.policies.tolist() == [[0.75, 0.25]] * 3
    assert history.to_play.tolist() == [0, 0, 0] and history.rewards[:, 0].tolist() == [1, 0, 2]
