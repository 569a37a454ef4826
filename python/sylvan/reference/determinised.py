"""Determinised search: one tree with perfect information per sampled deal, values merged.

`Q(a)` is the mean over the deals in which `a` was tried, with equal weights. The policy is
softmax(ln P + (c_visit + max n) * c_scale * Q), with Q completed by the root's own value and mapped
to 0..1, and n visits per deal. Visits are not added up: that would be a vote.
"""

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng, exp, ln, softmax
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig
from sylvan.reference.node import Node
from sylvan.reference.search import Evaluate, Search

DEALING = 2**32  # the random stream of the deals


class DeterminisedSearch:
    """Trees of sampled deals that fit a view; equals the first tree of a forest."""

    def __init__(self, view: Game, evaluate: Evaluate, config: SearchConfig) -> None:
        self.evaluate, self.config, self.dealing = evaluate, config, Rng(config.seed, DEALING)
        self.streams = [Rng(config.seed, i) for i in range(config.deals)]
        self.plant(view)

    def plant(self, view: Game) -> None:
        """Sample deals that fit a view, and start a tree for each."""
        share = self.config.simulations and max(1, self.config.simulations // self.config.deals)
        config = self.config.replace(simulations=share, stop_early=False)
        deals = [view.sample(self.dealing.split()) for _ in range(config.deals)]
        self.searches = [Search(deal, self.evaluate, config) for deal in deals]
        for search, stream in zip(self.searches, self.streams, strict=True):
            search.rng = stream  # the streams continue over several searches

    def run(self) -> None:
        """Run the search of every deal."""
        for search in self.searches:
            search.run()

    def q(self, search: Search, child: Node) -> float:
        """Return the mean value of a root's edge, clipped to its proven bounds."""
        seat, (low, high) = search.root.seat, search.step_bounds(search.root, child)
        total = child.N * child.reward[seat] + search.config.discount * child.W[seat]
        known = search.config.proofs and (low > -1 or high < 1 or not search.duel)
        return min(max(total / child.N, low), high) if known else total / child.N

    def scores(self) -> tuple[list[float], list[float]]:
        """Return the score and the prior of every action of the root."""
        actions, deals = list(self.searches[0].root.children), len(self.searches)
        roots = [search.root for search in self.searches]
        prior = [sum(float(root.children[a].prior) for root in roots) / deals for a in actions]
        own = sum(root.W[root.seat] / root.N for root in roots) / deals
        completed, visits = [], []
        for a in actions:
            tried = [self.q(s, s.root.children[a]) for s in self.searches if s.root.children[a].N]
            completed.append(sum(tried) / len(tried) if tried else own)
            visits.append(sum(root.children[a].N for root in roots))
        least, greatest = min(completed), max(completed)
        factor = (self.config.c_visit + max(visits) / deals) * self.config.c_scale
        factor /= max(greatest - least, 1e-8)
        scores = [ln(p) + (q - least) * factor for p, q in zip(prior, completed, strict=True)]
        return scores, prior

    def policy(self) -> NDArray[np.float32]:
        """Return the policy target over the root's legal actions."""
        return softmax(np.array(self.scores()[0], np.float32))

    def best(self) -> int:
        """Return the action with the highest score. Ties: higher prior, then lower index."""
        scores, prior = self.scores()
        index = max(range(len(scores)), key=lambda i: (scores[i], prior[i], -i))
        return list(self.searches[0].root.children)[index]

    def pick(self) -> int:
        """Draw an action at the search's temperature."""
        temperature, policy = self.config.temperature, self.policy()
        if temperature == 0:
            return self.best()
        top = ln(float(policy.max()))
        weights = [exp((ln(float(p)) - top) / temperature) if p > 0 else 0.0 for p in policy]
        index = self.dealing.pick([w / sum(weights) for w in weights])
        return list(self.searches[0].root.children)[index]
