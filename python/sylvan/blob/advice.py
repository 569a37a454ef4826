"""Advice in Blob: the value of each legal bid or card, from a seat's view.

An *adviser* turns a view into a row per legal action. `Searched`, the default, runs an
information-set search; `Rollouts` plays every action out in the same sampled deals, with the card
counter in all seats. The values are for people: points of the round, and the chance to make the
bid.
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
"""The most work per advice of `Rollouts`: actions x cards in all hands x cards in a hand x deals;
about 0.2 seconds."""
FEWEST, MOST = 32, 1024
"""Bounds of the number of deals, whatever the work."""
SIMULATED = 280_000
"""The most cards that the simulations of a search play: a third of a second."""
EACH = 400
"""Simulations per card in all hands, if `SIMULATED` allows."""


@dataclass(frozen=True)
class Advice:
    """The value of every legal action for the seat to move, best first."""

    rows: tuple[Verdict, ...]

    @property
    def best(self) -> Verdict:
        return self.rows[0]

    def cost(self, action: int) -> float:
        """Return the expected loss of points against the best action."""
        (row,) = (row for row in self.rows if row.action == action)
        return max(0.0, self.best.points - row.points)


class Adviser(Protocol):
    """Values the legal actions of the seat to move, from its view."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """Return a row per legal action; it must be the observer's turn."""


@dataclass(frozen=True)
class Rollouts:
    """Plays every action out in sampled deals, with the card counter.

    >>> game = Blob(players=4, cards=3, seed=2)
    >>> advice = Rollouts().advise(game.observe(game.to_play()), Rng(1))
    >>> game.action_to_string(advice.best.action), advice.cost(advice.best.action)
    ('bid 1', 0.0)
    """

    deals: int | None = None
    """Deals per action; None: as many as `WORK` allows."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """Return the mean points of every legal action, over the same deals."""
        deals = self.deals or _deals(view)
        # Own points only, as the table shows. Deals are weighted by the likelihood of the bids.
        bot = Bot("rollouts", deals, rivalry=0.0)
        rows = sorted(bot.judge(view, rng), key=lambda row: (-row.points, -row.made, row.action))
        return Advice(tuple(rows))


@dataclass(frozen=True)
class Searched:
    """Runs an information-set search for own points; its best action comes first, then the others
    by points.

    >>> game = Blob(players=4, cards=3, seed=2)
    >>> advice = Searched(500).advise(game.observe(game.to_play()), Rng(1))
    >>> game.action_to_string(advice.best.action), sum(row.visits for row in advice.rows)
    ('bid 1', 500)
    """

    simulations: int | None = None
    """None: as many as `SIMULATED` and `EACH` allow."""
    evaluate: EvaluatorLike | None = None
    """The evaluator of leaves; None: the card counter."""

    def advise(self, view: Blob, rng: Rng) -> Advice:
        """Return visits, points and chances of every legal action."""
        count = self.simulations or _simulations(view)
        # Force visits to every option: a person may ask for the cost of a bad one.
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
    """Return the chance to make the bid, by action.

    Computed from the points if only a made bid pays, else by rollouts.
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
