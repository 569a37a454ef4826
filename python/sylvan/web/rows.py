"""The rows of the table and of the tree, and which of them changed since the last message.

Reading a tree takes the search's time, so a page gets a bounded part of it: all moves, and of the
tree its most visited nodes and those that a person has opened.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import count, islice
from typing import TYPE_CHECKING, Literal, cast

from sylvan.errors import SylvanError
from sylvan.games import Game
from sylvan.planning.tree import EdgeView, TreeView, label
from sylvan.players.score import edge_score
from sylvan.web.protocol import MoveRow, NodeRow

if TYPE_CHECKING:
    from sylvan._native import EdgeStats, NodeStats

__all__ = ["MoveRows", "TreeRows", "finite", "labels_of"]

LINES = 12
"""Moves whose lines are sent."""

MOST_ROWS = 5000
"""Nodes that are sent in any case, however many were opened."""

LONGEST_LINE = 12
"""Actions of a line."""

Path = tuple[int, ...]


def finite(x: float) -> float | None:
    """A number for JSON."""
    return float(x) if math.isfinite(x) else None


def labels_of(game: Game, path: Iterable[int]) -> list[str]:
    """The names of actions that follow one another; codes where a view cannot tell."""
    state, labels = game.clone(), []
    for action in path:
        labels.append(_label(state, action))
        state.apply(action)
    return labels


def _label(state: Game, action: int) -> str:
    try:
        return label(state, action)
    except SylvanError:
        return str(action)  # a card that this seat has not seen


class MoveRows:
    """The table's rows, those last sent included."""

    def __init__(self, temperature: float) -> None:
        """No row is sent yet; `temperature` is that of the settings."""
        self.temperature = temperature
        self._sent: dict[int, MoveRow] = {}
        self._labels: dict[Path, list[str]] = {}

    def changes(self, tree: TreeView) -> list[MoveRow]:
        """The rows that differ from those last sent."""
        edges = tree.root.edges
        shares = _shares([edge.N for edge in edges], self.temperature)
        changed = []
        for rank, (edge, share) in enumerate(zip(edges, shares, strict=True)):
            row = self._row(tree, edge, rank, share)
            if self._sent.get(edge.action) != row:
                self._sent[edge.action] = row
                changed.append(row)
        return changed

    def _row(self, tree: TreeView, edge: EdgeView, rank: int, share: float) -> MoveRow:
        line = [edge.action]
        if edge.N and rank < LINES:
            line += islice(tree.line_after((edge.action,)), LONGEST_LINE - 1)
        key = tuple(line)
        if key not in self._labels:
            self._labels[key] = labels_of(tree.game, line)
        score = edge_score(edge) if hasattr(tree.game, "pawns") else None
        return MoveRow(
            action=edge.action,
            label=self._labels[key][0],
            rank=rank,
            N=edge.N,
            share=share,
            Q=finite(edge.Q),
            P=float(edge.P),
            wdl=None if score is None else list(score.wdl),
            score=None if score is None else str(score),
            proven=edge.proven,
            line=line,
            labels=self._labels[key],
        )


def _shares(visits: list[int], temperature: float) -> list[float]:
    """The probability of each move, N ** (1 / temperature) normalised; at temperature 0, which
    always takes the best, the share of the visits.
    """
    most = max(visits, default=0)
    if not most:
        return [0.0] * len(visits)
    power = 1 / temperature if temperature > 0 else 1.0
    weights = [math.exp(power * math.log(n / most)) if n else 0.0 for n in visits]
    return [weight / sum(weights) for weight in weights]


class TreeRows:
    """The rows of the tree, those last sent included. A node keeps its number until a new root."""

    def __init__(self, seat: int) -> None:
        """No row is sent yet; `seat` is the one to move at the root."""
        self.seat = seat
        self._ids: dict[Path, int] = {}
        self._labels: dict[Path, str] = {(): ""}
        self._sent: dict[int, NodeRow] = {}

    @property
    def sent(self) -> list[NodeRow]:
        """The rows last sent, parents first."""
        return list(self._sent.values())

    def changes(
        self, tree: TreeView, most: int, opened: Iterable[Path]
    ) -> tuple[list[NodeRow], list[int]]:
        """The rows that differ from those last sent, and the numbers of those that are gone."""
        rows = {row.id: row for row in self._rows(tree, most, set(opened))}
        changed = [row for row in rows.values() if self._sent.get(row.id) != row]
        gone = [number for number in self._sent if number not in rows]
        self._sent = rows
        return changed, gone

    def _rows(self, tree: TreeView, most: int, opened: set[Path]) -> list[NodeRow]:
        """The `most` most visited nodes, and besides them the opened ones with their children."""
        if most == 0:
            return []
        rows: list[NodeRow] = []
        wanted = {path[:length] for path in opened for length in range(len(path) + 1)}
        unsent: dict[int, int] = {}
        serial = count()
        heap: list[tuple[bool, int, int, Path, EdgeStats | None, int | None]] = [
            (False, 0, next(serial), (), None, None)
        ]
        while heap and len(rows) < MOST_ROWS:
            is_more, *_, path, edge, chooser = heapq.heappop(heap)
            if is_more and not most:
                break  # the wanted ones came first
            node = tree.known(path) if tree.is_copy else tree.read(path)
            if node is None:
                continue  # dropped to save memory, or not in the file
            rows.append(self._row(tree, path, edge, node, chooser))
            most -= is_more or not path
            visited = [each for each in node.edges if each.N]
            number = rows[-1].id
            unsent[number] = len(visited)
            if rows[-1].parent is not None:
                unsent[rows[-1].parent] -= 1
            seat = node.seat if node.kind == "decision" else None
            for each in visited:
                child = (*path, each.action)
                entry = (path not in opened and child not in wanted, -each.N, next(serial))
                heapq.heappush(heap, (*entry, child, each, seat))
        return [row.model_copy(update={"unsent": unsent[row.id]}) for row in rows]

    def _row(
        self, tree: TreeView, path: Path, edge: EdgeStats | None, node: NodeStats, seat: int | None
    ) -> NodeRow:
        """`edge` leads to `node`, and `seat` chose it; None at the root."""
        if path not in self._labels:
            state = tree.game.clone()
            for action in path[:-1]:
                state.apply(action)
            self._labels[path] = _label(state, path[-1])
        known = None if node.proven is None else node.proven[self.seat]
        mean = node.W[self.seat] / node.N if node.N else math.nan
        return NodeRow.model_construct(  # checked by its types: validation would cost as much
            id=self._ids.setdefault(path, len(self._ids)),
            parent=self._ids[path[:-1]] if path else None,
            action=path[-1] if path else None,
            label=self._labels[path],
            N=node.N if edge is None else edge.N,
            Q=None if edge is None or seat is None else finite(edge.W / edge.N),
            value=finite(mean if known is None else known),
            P=None if edge is None else edge.P,
            kind=cast(Literal["decision", "chance", "terminal", "leaf"], node.kind),
            proven=known is not None,
            seat=node.seat if node.kind == "decision" else None,
            unsent=0,
        )
