"""The formulas of selection once more, in doubles, on the simplest game there is.

A bandit is one position whose moves end the game at once, so every Q is constant and a search is a
sequence of choices that can be written down. `play` makes them by a score that a test gives: the
right one, or a mistaken one that must choose otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.planning.table_game import Table, decide, end


@dataclass
class Bandit:
    """A position, what the evaluator says of it, and the visits so far."""

    value: float
    """The evaluator's, for the seat that chooses."""
    priors: Sequence[float]
    worth: Sequence[float]
    """Q of each move for the seat that chooses."""
    n: list[int]

    def __init__(self, value: float, priors: Sequence[float], worth: Sequence[float]) -> None:
        """A position without visits; the priors add up to one."""
        self.value, self.priors, self.worth = value, priors, worth
        self.n = [0] * len(priors)

    def table(self, seat: int = 0) -> Table:
        """The same as a game of two seats."""
        sign = 1 if seat == 0 else -1
        moves = [(p, end(sign * q)) for p, q in zip(self.priors, self.worth, strict=True)]
        return decide(seat, sign * self.value, *moves)

    def facts(self, a: int) -> tuple[float, float, int]:
        """All that a score may depend on."""
        return self.priors[a], self.worth[a], self.n[a]

    @property
    def visits(self) -> int:
        """Visits of the position, its own evaluation included."""
        return 1 + sum(self.n)

    @property
    def mean(self) -> float:
        """The position's own mean value."""
        total = sum(n * q for n, q in zip(self.n, self.worth, strict=True))
        return (self.value + total) / self.visits

    @property
    def mass(self) -> float:
        """The prior mass of the moves tried."""
        return sum(p for p, n in zip(self.priors, self.n, strict=True) if n)


Score = Callable[[Bandit, int], float]
"""The score of a move, given by its place."""
Fpu = Callable[[Bandit], float]


def play(bandit: Bandit, steps: int, score: Score, gap: float = 0.0) -> list[int]:
    """The moves that a score chooses; ties go to the higher prior, then the lower index.

    Stops early where a move that is not the best one's twin comes closer to it than `gap`, since
    rounding may decide there.
    """
    bandit = Bandit(bandit.value, bandit.priors, bandit.worth)
    chosen: list[int] = []
    for _ in range(steps):
        scores = [score(bandit, a) for a in range(len(bandit.priors))]
        best = max(range(len(scores)), key=lambda a: (scores[a], bandit.priors[a], -a))
        twins = [bandit.facts(a) == bandit.facts(best) for a in range(len(scores))]
        rivals = [s for s, twin in zip(scores, twins, strict=True) if not twin and s < math.inf]
        if any(scores[best] - rival < gap for rival in rivals):
            break
        chosen.append(best)
        bandit.n[best] += 1
    return chosen


def puct(c: float, fpu: Fpu, base: float | None = None, factor: float = 1.0) -> Score:
    """Q + c(N) P sqrt(N) / (1 + n), Silver et al. 2018."""

    def score(b: Bandit, a: int) -> float:
        growth = factor * math.log((1 + b.visits + base) / base) if base else 0.0
        q = b.worth[a] if b.n[a] else fpu(b)
        return q + (c + growth) * b.priors[a] * math.sqrt(b.visits) / (1 + b.n[a])

    return score


def uct(c: float) -> Score:
    """Q + c sqrt(ln N / n), Kocsis and Szepesvári 2006; every move once, by prior."""

    def score(b: Bandit, a: int) -> float:
        if b.n[a] == 0:
            return math.inf
        return b.worth[a] + c * math.sqrt(math.log(b.visits) / b.n[a])

    return score


FPU: dict[str, Fpu] = {
    "parent": lambda b: b.mean,
    "reduction": lambda b: b.mean - 0.3 * math.sqrt(b.mass),
    "zero": lambda b: 0.0,
    "loss": lambda b: -1.0,
}
"""First-play urgency by the names of the settings, with a reduction of 0.3."""


def sigma(b: Bandit, c_visit: float = 50.0, c_scale: float = 0.1) -> list[float]:
    """(c_visit + max n) c_scale × Q, which v_mix completes and the node scales to 0..1.

    Danihelka et al. 2022, equations 8 and 33.
    """
    visited, total, mixed = [a for a, n in enumerate(b.n) if n], sum(b.n), b.value
    if visited:
        mass = sum(b.priors[a] for a in visited)
        mean = sum(b.priors[a] * b.worth[a] for a in visited) / mass
        mixed = (b.value + total * mean) / (1 + total)
    completed = [b.worth[a] if n else mixed for a, n in enumerate(b.n)]
    spread = max(max(completed) - min(completed), 1e-8)
    factor = (c_visit + max(b.n)) * c_scale
    return [factor * (q - min(completed)) / spread for q in completed]


def improved(b: Bandit) -> list[float]:
    """The improved policy, softmax(ln P + sigma)."""
    scores = [math.log(p) + s for p, s in zip(b.priors, sigma(b), strict=True)]
    weights = [math.exp(score - max(scores)) for score in scores]
    return [w / sum(weights) for w in weights]
