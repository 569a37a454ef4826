"""Advice in Blob: what each bid or card of a seat is worth, by what the seat can see.

An *adviser* turns a view into a row per legal action. `Rollouts` plays every action out in sampled
deals, with the card counter in all seats; a search over views fits the same interface. All advice
is in a person's terms: points of the round, and the chance that the bid is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sylvan._native import Rng
from sylvan.engines.blob_players import Bot, Verdict
from sylvan.games.blob import Blob

__all__ = ["Advice", "Adviser", "Rollouts"]

WORK = 1_000_000
"""Of one piece of advice, in actions x cards in all hands x cards in a hand x deals: about 0.2
seconds."""
FEWEST, MOST = 32, 1024
"""Deals, whatever they take."""


@dataclass(frozen=True)
class Advice:
    """What every legal action of a seat is worth to it, the best first."""

    rows: tuple[Verdict, ...]
    deals: int
    """Sampled deals behind it, or visits."""

    @property
    def best(self) -> Verdict:
        return self.rows[0]

    def cost(self, action: int) -> float:
        """Points that an action is expected to lose against the best one."""
        (row,) = (row for row in self.rows if row.action == action)
        return self.best.points - row.points


class Adviser(Protocol):
    """Whoever can say what the actions of the seat to move are worth, from its view."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """Every legal action of the seat that looks, whose turn it is."""


@dataclass(frozen=True)
class Rollouts:
    """Every action in sampled deals, played out by the card counter.

    >>> game = Blob(players=4, cards=3, seed=2)
    >>> advice = Rollouts().advise(game.observe(game.to_play()), Rng(1))
    >>> game.action_to_string(advice.best.action), advice.cost(advice.best.action)
    ('bid 1', 0.0)
    """

    deals: int | None = None
    """Per action; None takes as many as `WORK` allows."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """The mean points of every legal action, over the same deals."""
        deals = self.deals or _deals(view)
        # Own points alone: that is what the table shows. Bids are read for what they say of hands.
        bot = Bot("rollouts", deals, rivalry=0.0, candidates=4)
        rows = sorted(bot.judge(view, rng), key=lambda row: (-row.points, -row.made, row.action))
        return Advice(tuple(rows), deals)


def _deals(view: Blob) -> int:
    sizes = view.hand_sizes
    work = len(view.legal_actions()) * sum(sizes) * max(sizes)
    return min(max(WORK // work, FEWEST), MOST)
