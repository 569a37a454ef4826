"""Progress by steps and by time."""

import pytest

from sylvan.runs.budget import Budget


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("sylvan.runs.budget.monotonic", clock)
    return clock


def test_steps_do_not_look_at_the_clock(clock):
    budget = Budget(steps=4, minutes=None, step=0, elapsed=0.0)
    ahead = []
    while budget.spent < 1:
        ahead.append(budget.ahead())
        clock.now += 17.0
        budget.step_done(17.0)
    assert ahead == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]


def test_time_is_counted_over_all_sessions(clock):
    budget = Budget(steps=None, minutes=1.0, step=5, elapsed=30.0)
    clock.now += 15.0
    assert budget.elapsed == 45.0 and budget.spent == 0.75


def test_the_last_step_in_time_moves_progress_to_one(clock):
    """Steps of 8 s in 60 s, with 5 s for the end: a seventh would not fit, so there are six."""
    budget = Budget(steps=None, minutes=1.0, step=0, elapsed=0.0)
    budget.ending = 5.0
    ends = []
    while not ends or ends[-1] < 1:
        ends.append(budget.ahead()[1])
        clock.now += 8.0
        budget.step_done(8.0)
    assert ends == pytest.approx([0.0, 16 / 60, 24 / 60, 32 / 60, 40 / 60, 1.0])
    assert budget.elapsed + budget.ending <= 60.0


def test_a_first_step_that_compiles_does_not_end_the_run(clock):
    """A step of 25 s, then steps of 2 s: the first one does not count for the estimate."""
    budget = Budget(steps=None, minutes=1.0, step=0, elapsed=0.0)
    lengths, end = iter([25.0, *[2.0] * 100]), 0.0
    while end < 1:
        end = budget.ahead()[1]
        seconds = next(lengths)
        clock.now += seconds
        budget.step_done(seconds)
    assert 56.0 < budget.elapsed <= 60.0


def test_the_budget_spent_first_ends_the_run(clock):
    budget = Budget(steps=10, minutes=1.0, step=9, elapsed=0.0)
    assert budget.spent == 0.9 and budget.ahead() == (0.9, 1.0)
    clock.now += 57.0
    assert budget.spent == 0.95


def test_without_any_budget_there_is_no_progress(clock):
    budget = Budget(steps=None, minutes=None, step=3, elapsed=10.0)
    assert budget.spent == 0.0 and budget.ahead() == (0.0, 0.0) and budget.remaining() is None
