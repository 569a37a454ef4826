"""How long to think: from the clock to a budget, and from a search's progress to "enough".

    usable = time + increment * (h - 1) - overhead - drain * h          drain = overhead / 10
    aim    = usable / h                     how long an ordinary move takes
    most   = min(3 * aim, (time - overhead) * 0.6)

`h` is the number of moves to provide for: those to the next time control if the GUI says so, at
most 40, else 40. (A fortieth of what is left for each move spends 64 % of a clock in 40 moves.)
The overhead is never touched: it is there for the one time that the machine or the wire is late. A
tenth of it is reckoned as lost with every move. Where nothing is left, the answer is 0: a search
then evaluates its root and moves.

A search ends at `aim`. It goes on, to `most` at the latest, while its best move is not settled; it
ends early where no other move can catch up any more.

All times are in seconds. Pure functions: whoever calls them reads the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Budget", "Clock", "Leaders", "budget", "enough", "fixed"]

HORIZON = 40
"""Moves to provide for where nobody says how many are left."""
STRETCH = 3.0
"""How much longer than usual a move may take."""
SHARE = 0.6
"""What one move may take of all that is left, unless it is the last before the time control."""
COARSE = 0.1
"""Budgets below this are not stretched: a search reports about every 0.04 s."""


@dataclass(frozen=True)
class Clock:
    """The clock of the side to move."""

    time: float
    increment: float = 0.0
    moves_to_go: int | None = None


@dataclass(frozen=True)
class Budget:
    """How long a search should take, and how long it may."""

    aim: float
    most: float


@dataclass(frozen=True)
class Leaders:
    """What the two most visited moves have, and how fast visits come."""

    first: int
    second: int
    per_second: float
    settled: bool
    """Whether the most visited move is also the most valuable, and has been for a while."""


def budget(clock: Clock, overhead: float) -> Budget:
    """The time for one move.

    >>> budget(Clock(60.0), overhead=0.05)
    Budget(aim=1.49375, most=4.481249999999999)
    >>> budget(Clock(0.04), overhead=0.05)
    Budget(aim=0.0, most=0.0)
    """
    left = max(0.0, clock.time - overhead)
    moves = min(HORIZON, max(1, clock.moves_to_go or HORIZON))
    provided = clock.increment * (moves - 1) - overhead / 10 * moves
    share = 1.0 if moves == 1 else SHARE
    aim = min(max(0.0, left + provided) / moves, left * share)
    most = min(STRETCH * aim, left * share) if aim >= COARSE else aim
    return Budget(aim, most)


def fixed(seconds: float, overhead: float) -> Budget:
    """The time for a move that is to take `seconds`, whatever is found.

    >>> fixed(1.0, overhead=0.05)
    Budget(aim=0.995, most=0.995)
    """
    time = max(0.0, seconds - overhead / 10)
    return Budget(time, time)


def enough(budget: Budget, elapsed: float, leaders: Leaders) -> bool:
    """Whether a search that is under way has thought long enough.

    >>> close = Leaders(first=1000, second=900, per_second=5000, settled=False)
    >>> enough(Budget(1.0, 3.0), 1.5, close)
    False
    >>> enough(Budget(1.0, 3.0), 0.5, Leaders(9000, 100, 5000, settled=True))
    True
    """
    end = budget.aim if leaders.settled else budget.most
    lead = leaders.first - leaders.second
    return elapsed >= end or lead > leaders.per_second * (end - elapsed)
