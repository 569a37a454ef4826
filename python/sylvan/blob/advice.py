"""Advice in Blob: what each bid or card of a seat is worth, by what the seat can see.

An *adviser* turns a view into a row per legal action. `Searched`, the default, asks an
information-set search; `Rollouts` plays every action out in the same sampled deals, with the card
counter in all seats. All advice is in a person's terms: points of the round, and the chance that
the bid is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sylvan._native import Rng
from sylvan.blob.card_counter import CardCounter
from sylvan.blob.players import Bot, Verdict
from sylvan.blob.search import SearchPlayer
from sylvan.games.blob import FIRST_BID, Blob
from sylvan.planning import SearchConfig

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike

__all__ = ["Advice", "Adviser", "Rollouts", "Searched"]

WORK = 1_000_000
"""Of one piece of advice, in actions x cards in all hands x cards in a hand x deals: about 0.2
seconds."""
FEWEST, MOST = 32, 1024
"""Deals, whatever they take."""
SIMULATED = 280_000
"""Cards that the simulations of a search may play, and `EACH` simulations for every card in a hand:
a third of a second at most."""
EACH = 400


@dataclass(frozen=True)
class Advice:
    """What every legal action of a seat is worth to it, the best first."""

    rows: tuple[Verdict, ...]

    @property
    def best(self) -> Verdict:
        return self.rows[0]

    def cost(self, action: int) -> float:
        """Points that an action is expected to lose against the best one."""
        (row,) = (row for row in self.rows if row.action == action)
        return max(0.0, self.best.points - row.points)


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
        bot = Bot("rollouts", deals, rivalry=0.0)
        rows = sorted(bot.judge(view, rng), key=lambda row: (-row.points, -row.made, row.action))
        return Advice(tuple(rows))


@dataclass(frozen=True)
class Searched:
    """What an information-set search finds, which plays for own points; its best action comes
    first, then the others by points.

    >>> game = Blob(players=4, cards=3, seed=2)
    >>> advice = Searched(500).advise(game.observe(game.to_play()), Rng(1))
    >>> game.action_to_string(advice.best.action), sum(row.visits for row in advice.rows)
    ('bid 1', 500)
    """

    simulations: int | None = None
    """None takes as many as `SIMULATED` and `EACH` allow."""
    evaluate: EvaluatorLike | None = None
    """What values leaves; None is the card counter."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """Visits, points and chances of every legal action."""
        count = self.simulations or _simulations(view)
        # Some visits for every option: a person may ask what a bad one would cost.
        config = SearchConfig(simulations=count, forced_playouts=8.0)
        evaluate = CardCounter() if self.evaluate is None else self.evaluate
        result = SearchPlayer(config, evaluate, rivalry=0.0).search(view, rng)
        points = {edge.action: edge.Q * view.most_points for edge in result.tree.root.edges}
        made = _chances(view, points, rng)
        rows = [
            Verdict(edge.action, edge.Q, points[edge.action], made[edge.action], edge.N)
            for edge in result.tree.root.edges
        ]
        rows.sort(key=lambda row: (row.action != result.best, -row.points, row.action))
        return Advice(tuple(rows))


def _chances(view: Blob, points: dict[int, float], rng: Rng) -> dict[int, float]:
    """The chance that the bid is made, by action: from the points where only that pays, else from
    rollouts.
    """
    if view.rule_names()[2] != "exact_10_plus_bid":
        return {row.action: row.made for row in Bot("rollouts", 128, rivalry=0.0).judge(view, rng)}
    bid = view.bids[view.to_play()]
    paid = {action: 10 + (action - FIRST_BID if bid is None else bid) for action in points}
    return {action: points[action] / paid[action] for action in points}


def _simulations(view: Blob) -> int:
    cards = sum(view.hand_sizes)
    return min(EACH * cards, SIMULATED // cards, 8000)


def _deals(view: Blob) -> int:
    sizes = view.hand_sizes
    work = len(view.legal_actions()) * sum(sizes) * max(sizes)
    return min(max(WORK // work, FEWEST), MOST)
