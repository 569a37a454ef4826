"""Options of self-play: temperature, starts of games, early ends."""

import numpy as np
import pytest

from sylvan.errors import ConfigError
from sylvan.games import Chess
from sylvan.replay.record import GameRecord
from sylvan.selfplay.restarts import largest_value_error
from tests.planning.twins import flat
from tests.selfplay.reference_games import evaluate_leaves
from tests.selfplay.test_selfplay import check, game, played, self_play

# --- temperature ---------------------------------------------------------------------------------


def test_the_first_plies_vary_and_the_later_ones_do_not():
    play = self_play(
        "connect4", games=32, positions=900, noise=False, temperature_plies=1, reuse=False
    )
    first, second = np.array([record.actions[:2] for record in played(play, flat)]).T
    assert len(set(first)) > 3
    for action in set(first):
        assert len(set(second[first == action])) == 1  # one reply to each


# --- starts --------------------------------------------------------------------------------------


def test_random_openings_are_played_but_not_learned():
    play = self_play("connect4", positions=900, opening_share=1.0, opening_plies=5, max_plies=12)
    records = played(play, flat)
    lengths = [int(record.searched[0]) for record in records]
    assert set(lengths) == {1, 2, 3, 4, 5}
    for record in records:
        check(record, "connect4")
        opening = int(record.searched[0])
        assert not record.values[:opening].any() and not record.weights[:opening].any()


def test_an_opening_never_ends_the_game():
    play = self_play(game("First"), positions=200, opening_share=1.0, opening_plies=3)
    for record in played(play, flat):
        assert len(record.searched) and 1 not in record.actions[: record.searched[0]]


def test_chance_is_drawn_as_often_as_it_says():
    play = self_play(game("Dealt"), games=64, positions=2000, simulations=2)
    records = played(play, flat)
    for ply in (0, 3):  # at the start, and between two moves
        drawn = np.array([record.actions[ply] for record in records])
        assert set(drawn) == {2, 4} and abs((drawn == 4).mean() - 0.25) < 0.1
        assert all(record.seats[ply] == -1 for record in records)


def test_games_restart_at_the_largest_value_error():
    play = self_play("tictactoe", positions=400, restart_share=0.5, restart_memory=5)
    records = played(play, evaluate_leaves, steps=4)
    assert play.statistics.restarts > 0
    assert len(play.state_dict()["restart_lengths"]) <= 5
    seen, restarted = set(), 0
    for record in records:
        check(record, "tictactoe")
        start = int(record.searched[0])
        if start:
            restarted += 1
            assert record.actions[:start].tobytes() in seen
        for ply in range(1, len(record)):
            seen.add(record.actions[:ply].tobytes())
    assert restarted > 10


def record(values, returns, rewards=None):
    """A game of two seats with these root values for the seat to move; None: not searched."""
    plies = len(values)
    seats = np.arange(plies) % 2
    per_seat = np.zeros((plies, 2), np.float32)
    for ply, value in enumerate(values):
        if value is not None:
            per_seat[ply, seats[ply]] = value
    counts = [0 if value is None else 1 for value in values]
    return GameRecord(
        actions=np.zeros(plies, np.int32),
        seats=seats.astype(np.int8),
        policy_offsets=np.concatenate([[0], np.cumsum(counts)]),
        policy_actions=np.zeros(sum(counts), np.int32),
        policy=np.ones(sum(counts), np.float32),
        values=per_seat,
        weights=np.ones(plies, np.float32),
        surprise=np.zeros(plies, np.float32),
        returns=np.array(returns, np.float32),
        rewards=None if rewards is None else np.array(rewards, np.float32),
    )


def test_the_ply_of_the_largest_value_error():
    """Ply 0 is not a position to restart from; errors are of the seat to move."""
    assert largest_value_error(record([1.0, 0.5, -0.5, 0.75], (-1.0, 1.0))) == (1, 0.5)
    assert largest_value_error(record([1.0, 0.5, 0.5, 0.75], (-1.0, 1.0))) == (2, 1.5)
    assert largest_value_error(record([1.0, None, None], (-1.0, 1.0))) == (0, 0.0)
    # At ply 1 seat 1 moves, which still gets rewards 1 + 3 and the return 2.
    paid = [(0, 5), (0, 1), (0, 3)]
    assert largest_value_error(record([0.0, 4.5, 0.0], (0.0, 2.0), paid)) == (1, 1.5)


# --- ends ----------------------------------------------------------------------------------------


def test_an_endless_game_ends_at_the_limit():
    settings = {"positions": 90, "max_plies": 10}
    for record in played(self_play(game("Endless"), **settings), flat):
        assert len(record) == 10 and record.ending == "limit"
        assert record.returns.tolist() == [0, 0]
    play = self_play(game("Endless"), verdict="estimate", **settings)
    for record in played(play, flat):
        ahead = record.actions[::2].sum() > record.actions[1::2].sum()
        assert record.returns.tolist() == ([0.5, -0.5] if ahead else [-0.5, 0.5])
    assert play.statistics.limits == play.statistics.games > 0


def test_chess_at_the_limit_is_estimated_by_material():
    assert Chess().estimate() == (0, 0)
    assert Chess("4k3/8/8/8/8/8/q7/R3K3 w - - 0 1").estimate() == (-0.25, 0.25)
    play = self_play("chess", games=4, positions=60, max_plies=12, verdict="estimate")
    for record in played(play, flat):
        check(record, "chess")
        assert abs(record.returns[0]) in (0.25, 0.0) or record.ending == "end"


def doomed(leaves):
    """Evaluates seat 1 as almost lost, always."""
    logits, _ = flat(leaves)
    return logits, np.where(leaves.seats == 1, -0.9, 0.9).astype(np.float32)


def test_a_seat_resigns_after_some_turns():
    play = self_play(
        game("Lost"), positions=60, resign_below=-0.8, resign_turns=2, resign_play_on=0.0
    )
    records = played(play, doomed)
    assert records
    for record in records:
        assert record.ending == "resign" and record.returns.tolist() == [1, -1]
        assert len(record) == 4  # seat 1's turns are plies 1 and 3
    assert play.statistics.resignations == len(records) and play.statistics.played_on == 0


def test_false_resignations_are_counted_in_games_that_are_played_on():
    """Seat 0 wins if the first action was 1, so seat 1 resigns wrongly if it was 0."""
    settings = {"positions": 400, "resign_below": -0.8, "simulations": 2, "proofs": False}
    play = self_play(game("Lost"), resign_play_on=1.0, **settings)
    records = played(play, doomed)
    assert all(record.ending == "end" and len(record) == 12 for record in records)
    wrong = sum(record.returns[1] > 0 for record in records)
    assert play.statistics.played_on == len(records)
    assert play.statistics.false_positives == wrong
    assert 0 < wrong < len(records)
    play = self_play(game("Lost"), resign_play_on=0.3, **settings)
    records = played(play, doomed)
    on = sum(record.ending == "end" for record in records)
    assert play.statistics.played_on == on and 0 < on < len(records)


def test_resignation_needs_a_zero_sum_game_of_two_seats():
    with pytest.raises(ConfigError, match=r"resign_below.*-0.9"):
        self_play(game("Four"), resign_below=-0.9)


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="'temperature_plies'"):
        self_play("tictactoe", temperature_ply=3)
    with pytest.raises(ConfigError, match=r"search.seconds.*0.5"):
        self_play("tictactoe", seconds=0.5)
    with pytest.raises(ConfigError, match=r"selfplay.games.*0"):
        self_play("tictactoe", games=0)
