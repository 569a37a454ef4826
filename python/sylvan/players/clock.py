"""Time management: a time budget per move, and when a search may stop.

    usable = time + increment * (h - 1) - overhead - drain * h          drain = overhead / 10
    aim    = usable / h                     the time of an ordinary move
    most   = min(3 * aim, (time - overhead) * 0.6)

`h` is the expected number of moves: up to the next time control if the GUI gives it, at most 40,
else 40. (With 1/40 of the remaining time for each move, 40 moves spend 64 % of a clock.) The
overhead is a reserve for delays of the machine or the connection and is never spent; a tenth of it
counts as lost with every move. If no time is left, both are 0: the search evaluates its root and
moves.

A search ends at `aim`. While its best move is not settled it continues, until `most` at the latest;
it ends early if no other move can catch up.

All times are in seconds. These are pure functions: the caller reads the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Budget", "Clock", "Leaders", "budget", "enough", "fixed"]

HORIZON = 40
"""Expected number of moves if the time control is unknown."""
MAX_FACTOR = 3.0
"""Maximum time of a move, relative to an ordinary one."""
MAX_SHARE = 0.6
"""Maximum share of the remaining time for one move, except the last before the time control."""
MIN_EXTENDED = 0.1
"""Budgets below this are not extended: a search reports about every 0.04 s."""


@dataclass(frozen=True)
class Clock:
    """The clock of the side to move."""

    time: float
    increment: float = 0.0
    moves_to_go: int | None = None


@dataclass(frozen=True)
class Budget:
    """The target time of a search, and its maximum."""

    aim: float
    most: float


@dataclass(frozen=True)
class Leaders:
    """The visits of the two most visited moves, and the visits per second."""

    first: int
    second: int
    per_second: float
    settled: bool
    """Whether the most visited move is also the most valuable, and has been for a while."""


def budget(clock: Clock, overhead: float) -> Budget:
    """The time budget of one move.

    >>> budget(Clock(60.0), overhead=0.05)
    Budget(aim=1.49375, most=4.481249999999999)
    >>> budget(Clock(0.04), overhead=0.05)
    Budget(aim=0.0, most=0.0)
    """
    left = max(0.0, clock.time - overhead)
    moves = min(HORIZON, max(1, clock.moves_to_go or HORIZON))
    gained = clock.increment * (moves - 1) - overhead / 10 * moves
    share = 1.0 if moves == 1 else MAX_SHARE
    aim = min(max(0.0, left + gained) / moves, left * share)
    most = min(MAX_FACTOR * aim, left * share) if aim >= MIN_EXTENDED else aim
    return Budget(aim, most)


def fixed(seconds: float, overhead: float) -> Budget:
    """The budget of a move with a fixed time of `seconds`.

    >>> fixed(1.0, overhead=0.05)
    Budget(aim=0.995, most=0.995)
    """
    time = max(0.0, seconds - overhead / 10)
    return Budget(time, time)


def enough(budget: Budget, elapsed: float, leaders: Leaders) -> bool:
    """Whether a running search can stop.

    >>> close = Leaders(first=1000, second=900, per_second=5000, settled=False)
    >>> enough(Budget(1.0, 3.0), 1.5, close)
    False
    >>> enough(Budget(1.0, 3.0), 0.5, Leaders(9000, 100, 5000, settled=True))
    True
    """
    end = budget.aim if leaders.settled else budget.most
    lead = leaders.first - leaders.second
    return elapsed >= end or lead > leaders.per_second * (end - elapsed)
