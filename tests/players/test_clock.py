"""Time management: whole games on a simulated clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.players.clock import HORIZON, Budget, Clock, Leaders, budget, enough, fixed

times = st.floats(0.0, 20_000.0)
increments = st.floats(0.0, 60.0)
overheads = st.floats(0.0, 5.0)
controls = st.one_of(st.none(), st.integers(1, 200))


@given(st.floats(-100.0, 20_000.0), increments, controls, overheads)
def test_the_overhead_is_never_spent(time, increment, moves_to_go, overhead):
    given = budget(Clock(time, increment, moves_to_go), overhead)
    assert 0.0 <= given.aim <= given.most <= max(0.0, time - overhead)


@given(times, increments, overheads)
def test_more_time_never_gives_a_smaller_budget(time, increment, overhead):
    less, more = (budget(Clock(t, increment), overhead) for t in (time, time * 1.5))
    assert less.aim <= more.aim and less.most <= more.most


def play(time, increment, overhead, moves, lag, control=None, stretched=False):
    """Play a game; return the seconds left after each move, negative if time ran out."""
    left, period = [], time
    for move in range(moves):
        if control and move and move % control == 0:
            time += period
        to_go = control - move % control if control else None
        given = budget(Clock(time, increment, to_go), overhead)
        time -= (given.most if stretched else given.aim) + lag(move)
        left.append(time)
        time += increment
    return left


@given(
    time=st.floats(1.0, 7200.0),
    increment=st.floats(0.0, 30.0),
    share=st.floats(0.0, 0.02),
    late=st.integers(0, 80),
    stretched=st.booleans(),
)
def test_no_game_of_eighty_moves_is_lost_on_time(time, increment, share, late, stretched):
    """Every move loses a tenth of the overhead, and one of them all of it."""
    overhead = share * time

    def lag(move):
        return overhead if move == late else overhead / 10

    assert min(play(time, increment, overhead, 81, lag, stretched=stretched)) >= -1e-9


@given(
    time=st.floats(1.0, 7200.0),
    control=st.integers(1, 60),
    share=st.floats(0.0, 0.02),
    stretched=st.booleans(),
)
def test_no_time_control_is_missed(time, control, share, stretched):
    overhead = share * time
    left = play(time, 0.0, overhead, 2 * control, lambda _: overhead / 10, control, stretched)
    assert min(left) >= -1e-9


@given(st.floats(1.0, 7200.0), st.floats(0.0, 0.02), st.integers(HORIZON, 120))
def test_over_half_of_the_clock_is_used(time, ratio, moves):
    """In a game of 40 moves or more; the explicit example is 1 s with 0.01 s per move."""
    increment, overhead = time * ratio, min(0.05, 0.05 * time)
    left = play(time, increment, overhead, moves, lambda _: 0.001)[-1]
    assert left < (time + increment * moves) / 2


def test_one_second_and_a_hundredth_is_playable():
    left = play(1.0, 0.01, 0.05, 200, lambda _: 0.004)
    assert min(left) > 0.0 and left[60] < 0.5
    first = budget(Clock(1.0, 0.01), 0.05)
    assert 0.02 < first.aim == first.most < 0.04


def test_the_last_move_before_the_control_may_take_all():
    assert budget(Clock(10.0, 0.0, 1), 0.05).most == pytest.approx(9.95, abs=0.01)
    assert budget(Clock(10.0, 0.0, 2), 0.05).most <= 0.6 * 9.95


@given(st.floats(0.0, 100.0), overheads)
def test_a_move_time_is_kept(seconds, overhead):
    given = fixed(seconds, overhead)
    assert 0.0 <= given.aim == given.most <= seconds


@given(
    st.floats(0.0, 10.0),
    st.floats(0.0, 40.0),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(0.0, 1e6),
    st.booleans(),
)
def test_when_a_search_stops(aim, elapsed, a, b, rate, settled):
    limits = Budget(aim, 3 * aim)
    leaders = Leaders(max(a, b), min(a, b), rate, settled)
    end = limits.aim if settled else limits.most
    can_catch_up = max(a, b) - min(a, b) <= rate * max(0.0, end - elapsed)
    assert enough(limits, elapsed, leaders) == (elapsed >= end or not can_catch_up)
