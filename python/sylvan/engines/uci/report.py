"""`info` lines: what a search has found until now, as a GUI reads it.

- `depth` is the length of the principal variation, `seldepth` the deepest that a simulation came;
- `nodes` counts the simulations of this search, `nps` those per second;
- `hashfull` is the share of the byte budget that the tree fills, in thousandths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sylvan.players.score import Score, edge_score

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import EdgeView, SearchResult

__all__ = ["chosen", "info_lines", "line_of", "move_stats", "ranked"]

TREE_SHARE = 5 / 8
"""Of a byte budget, what the tree fills before it drops anything: the rest is a reserve."""


def chosen(result: SearchResult) -> EdgeView:
    """The move to play: the one picked; the shortest mate and the longest defence if proven."""
    root = result.tree.root
    edge = root.edge(result.action)
    if result.config.temperature > 0 or edge.proven is None or abs(edge.proven) < 1.0:
        return edge
    equal = [other for other in root.edges if other.proven == edge.proven and other.N]
    # Mates in a few come first, then proofs whose length is not known; of defences the longest.
    return min(equal, key=_length, default=edge)


def _length(edge: EdgeView) -> float:
    score = edge_score(edge)
    moves = None if score is None else score.mate
    if moves is None:
        return 0.0 if (edge.proven or 0.0) < 0 else 1e9
    return moves  # a defence counts below 0: the longest is the least


def ranked(result: SearchResult) -> list[EdgeView]:
    """The moves of the position, best first: the one to play, then by proof and visits."""
    best = chosen(result)
    others = [edge for edge in result.tree.root.edges if edge.action != best.action]

    def key(edge: EdgeView) -> tuple[float, ...]:
        lost, won = edge.proven == -1.0, edge.proven == 1.0
        return lost, not won, _length(edge) if lost or won else 0.0, -edge.N, -edge.P

    return [best, *sorted(others, key=key)]


def line_of(edge: EdgeView) -> list[str]:
    """A move and what is expected after it, in UCI."""
    state: Game = edge.node.state.clone()
    moves = []
    for action in edge.line:
        moves.append(state.action_to_string(action))
        state.apply(action)
    return moves


def info_lines(
    result: SearchResult, *, multipv: int, draws: float | None, seconds: float, tbhits: int
) -> Iterator[str]:
    """One line per reported move, best first; with shares where `draws`, of equals, is given."""
    milliseconds = round(1000 * seconds)
    per_second = round(result.simulations / max(seconds, 1e-3))
    budget = TREE_SHARE * (result.config.bytes or 2**62)
    full = min(1000, round(1000 * result.bytes / budget))
    edges = ranked(result)[:multipv]
    for number, edge in enumerate(edges, start=1):
        score = edge_score(edge)
        if score is None and number > 1:
            break  # nothing is known of the moves from here on
        score = score or Score(result.value)
        line = line_of(edge)
        shares = "" if draws is None else " wdl {} {} {}".format(*score.shares(draws))
        yield (
            f"info depth {len(line)} seldepth {max(result.depth, len(line))} multipv {number} "
            f"score {score.uci()}{shares} time {milliseconds} nodes {result.simulations} "
            f"nps {per_second} hashfull {full} tbhits {tbhits} pv {' '.join(line)}"
        )


def move_stats(result: SearchResult) -> Iterator[str]:
    """Visits, value and prior of every move, least visited first, as `info string` lines."""
    state = result.tree.game
    for edge in reversed(ranked(result)):
        score = edge_score(edge)
        proof = "" if edge.proven is None else f" proven {edge.proven:+g}"
        q = "-" if score is None else f"{score.q:+.5f}"
        yield (
            f"info string {state.action_to_string(edge.action):<5} N {edge.N:>8} Q {q:>8} "
            f"P {100 * edge.P:6.2f}%{proof}"
        )
