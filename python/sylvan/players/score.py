"""Convert values to the units of chess programs: centipawns, mate in n, wins-draws-losses per 1000.

*Centipawns.* A search gives `Q`, the mean result for the side to move, from -1 (lost) to 1 (won).
In hundredths of a pawn:

    cp = 400 * Q / sqrt(1 - Q**2)         Q = cp / sqrt(cp**2 + 400**2)

A pawn is Q = 0.24, three are 0.6, a queen 0.91. The built-in evaluator `material` uses the same
curve, so its material sums are shown unchanged. The curve is close to the one that lichess.org fits
to games between people (2 / (1 + exp(-0.00368208 cp)) - 1: a pawn is 0.18, three are 0.50). Engines
that assume perfect play use a steeper one: half a point is about one pawn.

*Mates.* For a proven win, the distance is the number of moves to mate inside the proof, where the
winner minimises and the loser maximises it. Unproven moves may mate sooner, so it is an upper
bound. A proof that does not end in mates (a tablebase, a subtree dropped to save memory) has no
distance and is shown as the highest score.

*Wins, draws, losses.* Q is wins minus losses; a search does not keep the share of draws. It is
modelled: two players differ by x and need a margin of `a` to win, so w = s(x - a) and
l = s(-x - a) with s(y) = 1 / (1 + exp(-y)). The share of draws between equal players determines a,
and w - l = Q determines x. That share is `DRAWS`, or follows from the root's evaluation by a
network with a win-draw-loss output (`draw_share`). Proven values need no model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sylvan.evaluators.cached import network_of
from sylvan.games.chess import Chess
from sylvan.games.pawns import MOST, centipawns, q_of_centipawns
from sylvan.planning.roots import as_root, shown_to

if TYPE_CHECKING:
    from sylvan.evaluators import Evaluator
    from sylvan.planning import EdgeView, SearchResult

__all__ = [
    "DRAWS",
    "MOST",
    "Score",
    "centipawns",
    "draw_share",
    "draws_between_equals",
    "edge_score",
    "q_of_centipawns",
    "result_score",
    "wdl",
]

DRAWS = 1 / 3
"""The assumed share of draws between equal players."""

LEAST = 1e-6
"""Shares are clipped to [LEAST, 1 - LEAST], so that every logarithm is finite."""


def wdl(q: float, draws: float = DRAWS) -> tuple[int, int, int]:
    """Wins, draws and losses per 1000 games with mean result `q`; they add up to 1000.

    >>> wdl(0.0), wdl(0.6), wdl(-1.0)
    ((333, 334, 333), (698, 204, 98), (0, 0, 1000))
    """
    q = min(1.0, max(-1.0, q))
    margin = (1 + draws) / (1 - draws)  # exp(a): draws = (exp(a) - 1) / (exp(a) + 1)
    side = abs(q) * (1 + margin**2)
    # With u = exp(x), w - l = q becomes  margin (1 - q) u^2 - q (1 + margin^2) u = margin (1 + q).
    root = side + math.sqrt(side**2 + 4 * margin**2 * (1 - q**2))
    least = 2 * margin * (1 - abs(q))
    # The weaker side wins 1 / (1 + margin u), which is 0 if u is infinite.
    weaker = least / (least + margin * root)
    losses = round(1000 * weaker)
    wins = round(1000 * (weaker + abs(q)))
    strong, weak = min(wins, 1000), min(losses, 1000 - min(wins, 1000))
    return (strong, 1000 - strong - weak, weak) if q >= 0 else (weak, 1000 - strong - weak, strong)


def draws_between_equals(win: float, loss: float) -> float:
    """The share of draws between equal players for which the model gives these shares.

    >>> round(draws_between_equals(1 / 3, 1 / 3), 6)
    0.333333
    """
    win, loss = (min(1 - LEAST, max(LEAST, share)) for share in (win, loss))
    margin = -(math.log(win / (1 - win)) + math.log(loss / (1 - loss))) / 2
    return min(1 - LEAST, max(LEAST, math.tanh(margin / 2)))


def draw_share(evaluator: Evaluator, game: Chess) -> float:
    """The share of draws between equal players, from an evaluator's value of a position.

    `DRAWS` unless it is a network with a win-draw-loss output.
    """
    network = network_of(evaluator)
    if network is None or network.header.value != "wdl":
        return DRAWS
    observation = shown_to(as_root(game), network).observation()
    win, _, loss = network.infer(observation[None]).value[0].tolist()
    return draws_between_equals(win, loss)


@dataclass(frozen=True)
class Score:
    """The score of a move or a position for the side to move.

    >>> score = Score(0.6)
    >>> score.cp, str(score), str(-score), score.uci()
    (300, '+3.00', '-3.00', 'cp 300')
    >>> mate = Score(1.0, mate=3, proven=True)
    >>> str(mate), mate.uci(), str(-mate), mate.wdl
    ('#3', 'mate 3', '#-3', (1000, 0, 0))
    """

    q: float
    """The mean result, from -1 (lost) to 1 (won); exact if proven."""
    mate: int | None = None
    """Moves to mate, if known: positive if the side to move mates, negative if it is mated."""
    proven: bool = False
    """Whether `q` is exact."""

    @property
    def cp(self) -> int:
        """The mean result in hundredths of a pawn."""
        return centipawns(self.q)

    @property
    def wdl(self) -> tuple[int, int, int]:
        """Wins, draws and losses per 1000 games; exact if the result is proven."""
        return self.shares(DRAWS)

    def shares(self, draws: float) -> tuple[int, int, int]:
        """The same, for another share of draws between equal players."""
        if self.proven and self.q in (-1.0, 0.0, 1.0):
            return (1000 * (self.q > 0), 1000 * (self.q == 0), 1000 * (self.q < 0))
        return wdl(self.q, draws)

    def __neg__(self) -> Score:
        """The score for the other side."""
        return Score(-self.q + 0.0, None if self.mate is None else -self.mate, self.proven)

    def uci(self) -> str:
        """The text after `score` in an `info` line of UCI."""
        return f"cp {self.cp}" if self.mate is None else f"mate {self.mate}"

    def __str__(self) -> str:
        """The score in chess notation: `+0.31`, `#3`, `#-3`."""
        return f"{self.cp / 100:+.2f}" if self.mate is None else f"#{self.mate}"


def edge_score(edge: EdgeView) -> Score | None:
    """The score of a move for the side that plays it; None if it has no visits."""
    if edge.proven is not None:
        return Score(edge.proven, _moves_to_mate(edge), proven=True)
    if edge.N == 0:
        return None
    low, high = edge.bounds or (-1.0, 1.0)
    return Score(min(high, max(low, edge.Q)))


def result_score(result: SearchResult) -> Score:
    """The score of a searched position for the side to move: that of its best move."""
    score = edge_score(result.tree.root.edge(result.best))
    return Score(result.value) if score is None else score


def _moves_to_mate(edge: EdgeView) -> int | None:
    """Length of a proven win or loss, in moves of the side to move; negative for a loss."""
    if edge.proven is None or abs(edge.proven) < 1.0:
        return None
    state = edge.node.state.clone()
    for action in edge.line:
        state.apply(action)
    if not (isinstance(state, Chess) and state.outcome == "checkmate"):
        return None  # a proof with a dropped subtree, or by a tablebase
    plies = len(edge.line)
    return (plies + 1) // 2 if edge.proven > 0 else -(plies // 2)
