"""`info` lines: the current result of a search, for a GUI.

- `depth` is the length of the principal variation, `seldepth` the depth of the deepest simulation;
- `nodes` is the number of simulations of this search, `nps` simulations per second;
- `hashfull` is the size of the tree in thousandths of the size at which it drops subtrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sylvan._native import TREE_SHARE
from sylvan.players.score import Score, edge_score

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import EdgeView, SearchResult

__all__ = ["chosen", "in_fewest_moves", "info_lines", "line_of", "move_stats", "ranked"]


def chosen(result: SearchResult) -> EdgeView:
    """Return the move to play: the picked one; if proven, the shortest mate or longest defence."""
    root = result.tree.root
    edge = root.edge(result.action)
    return edge if result.config.temperature > 0 else in_fewest_moves(edge)


def in_fewest_moves(edge: EdgeView) -> EdgeView:
    """Of the moves with the same proven result, the shortest mate or the longest defence."""
    if edge.proven is None or abs(edge.proven) < 1.0:
        return edge
    equal = [other for other in edge.node.edges if other.proven == edge.proven and other.N]
    # Short mates first, then proofs of unknown length; of defences the longest.
    return min(equal, key=_length, default=edge)


def _length(edge: EdgeView) -> float:
    score = edge_score(edge)
    moves = None if score is None else score.mate
    if moves is None:
        return 0.0 if (edge.proven or 0.0) < 0 else 1e9
    return moves  # negative for a defence: the longest is the smallest


def ranked(result: SearchResult) -> list[EdgeView]:
    """Return the moves of the position: the one to play, then by proof and visits."""
    best = chosen(result)
    others = [edge for edge in result.tree.root.edges if edge.action != best.action]

    def key(edge: EdgeView) -> tuple[float, ...]:
        lost, won = edge.proven == -1.0, edge.proven == 1.0
        return lost, not won, _length(edge) if lost or won else 0.0, -edge.N, -edge.P

    return [best, *sorted(others, key=key)]


def line_of(edge: EdgeView) -> list[str]:
    """Return a move and its expected continuation, in UCI."""
    state: Game = edge.node.state.clone()
    moves = []
    for action in edge.line:
        moves.append(state.action_to_string(action))
        state.apply(action)
    return moves


def info_lines(
    result: SearchResult, *, multipv: int, draws: float | None, seconds: float, tbhits: int
) -> Iterator[str]:
    """Iterate over the lines of the reported moves, best first.

    :param draws: share of draws between equals, to report win-draw-loss; None: do not report it.
    """
    milliseconds = round(1000 * seconds)
    per_second = round(result.simulations / max(seconds, 1e-3))
    budget = TREE_SHARE * (result.config.bytes or 2**62)
    full = min(1000, round(1000 * result.bytes / budget))
    edges = ranked(result)[:multipv]
    for number, edge in enumerate(edges, start=1):
        score = edge_score(edge)
        if score is None and number > 1:
            break  # this move and the following ones are unvisited
        score = score or Score(result.value)
        line = line_of(edge)
        shares = "" if draws is None else " wdl {} {} {}".format(*score.shares(draws))
        yield (
            f"info depth {len(line)} seldepth {max(result.depth, len(line))} multipv {number} "
            f"score {score.uci()}{shares} time {milliseconds} nodes {result.simulations} "
            f"nps {per_second} hashfull {full} tbhits {tbhits} pv {' '.join(line)}"
        )


def move_stats(result: SearchResult) -> Iterator[str]:
    """Iterate over visits, value and prior of every move, best last, as `info string` lines."""
    state = result.tree.game
    for edge in reversed(ranked(result)):
        score = edge_score(edge)
        proof = "" if edge.proven is None else f" proven {edge.proven:+g}"
        q = "-" if score is None else f"{score.q:+.5f}"
        yield (
            f"info string {state.action_to_string(edge.action):<5} N {edge.N:>8} Q {q:>8} "
            f"P {100 * edge.P:6.2f}%{proof}"
        )
