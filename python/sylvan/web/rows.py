"""The rows of the table and of the tree, and which of them changed since the last message.

Reading a tree takes the search's time, so a page gets a bounded part of it: all moves, and of the
tree its most visited nodes and those that a person has opened. The nodes are compared in columns:
thousands of them change between two messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import SylvanError
from sylvan.games import Game
from sylvan.planning.most_visited import KINDS, MostVisited
from sylvan.planning.tree import EdgeView, TreeView, label
from sylvan.players.score import edge_score
from sylvan.web.protocol import MoveRow, NodeColumns, NodeRow

__all__ = ["MoveRows", "TreeChanges", "TreeRows", "finite", "labels_of"]

LINES = 12
"""Moves whose lines are sent."""

MOST_ROWS = 5000
"""Nodes that are sent in any case, however many were opened."""

LONGEST_LINE = 12
"""Actions of a line."""

DECIMALS = 5
"""Of the numbers of a node: more take the page's time and cannot be seen."""

STATISTICS = ("N", "Q", "value", "P", "kind", "proven", "seat", "unsent")
"""The fields of a node that change."""

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


class TreeChanges(NamedTuple):
    """Differences of a tree from what was sent last: fields of a `Search` message."""

    nodes_new: list[NodeRow]
    nodes_changed: NodeColumns
    nodes_gone: list[int]


class TreeRows:
    """The rows of the tree, those last sent included. A node keeps its number until a new root."""

    def __init__(self, seat: int) -> None:
        """No row is sent yet; `seat` is the one to move at the root."""
        self.seat = seat
        self._ids: dict[tuple[int, int], int] = {}
        """By the number of the parent, -1 for the root, and the action."""
        self._fixed: list[tuple[int | None, int | None, str]] = []
        """By number: parent, action and label."""
        self._sent = np.empty((0, len(STATISTICS)))
        """By number: the statistics last sent."""
        self._present: list[int] = []
        """The numbers of the nodes that the page has, parents first."""

    def __len__(self) -> int:
        """The number of nodes that the page has."""
        return len(self._present)

    @property
    def sent(self) -> list[NodeRow]:
        """The rows last sent, parents first."""
        return self._rows(self._present)

    def changes(self, tree: TreeView, most: int, opened: Iterable[Path]) -> TreeChanges:
        """Differences from what was sent last."""
        nodes = MostVisited.of(tree, self.seat, most, MOST_ROWS, opened)
        had, present = set(self._present), self._numbered(tree, nodes)
        statistics = _matrix(nodes)
        before = self._sent[present]
        same = (before == statistics) | (np.isnan(before) & np.isnan(statistics))
        known = np.array([number in had for number in present], bool)
        numbers = np.array(present, int)
        self._sent[present], self._present = statistics, present
        return TreeChanges(
            nodes_new=self._rows(numbers[~known].tolist()),
            nodes_changed=self._columns(numbers[known & ~same.all(1)].tolist()),
            nodes_gone=sorted(had.difference(present)),
        )

    def _numbered(self, tree: TreeView, nodes: MostVisited) -> list[int]:
        """The numbers of nodes; new ones get the next."""
        numbers: list[int] = []
        states: dict[int, Game] = {}
        for parent, action in zip(nodes.parents.tolist(), nodes.actions.tolist(), strict=True):
            key = (-1, 0) if parent < 0 else (numbers[parent], action)
            number = self._ids.get(key)
            if number is None:
                number = self._ids[key] = len(self._ids)
                if parent < 0:
                    self._fixed.append((None, None, ""))
                else:
                    name = _label(self._state(tree, key[0], states), action)
                    self._fixed.append((*key, name))
            numbers.append(number)
        room = np.empty((len(self._ids) - len(self._sent), len(STATISTICS)))
        self._sent = np.concatenate((self._sent, room))
        return numbers

    def _state(self, tree: TreeView, number: int, made: dict[int, Game]) -> Game:
        """The position of a node; `made` has those of this message."""
        if number not in made:
            parent, action, _ = self._fixed[number]
            if parent is None or action is None:
                made[number] = tree.game
            else:
                made[number] = self._state(tree, parent, made).clone()
                made[number].apply(action)
        return made[number]

    def _rows(self, numbers: list[int]) -> list[NodeRow]:
        """Whole rows."""
        columns = self._columns(numbers)
        each = zip(*(getattr(columns, name) for name in STATISTICS), strict=True)
        return [
            NodeRow.model_construct(  # checked by its types: validation would cost as much
                id=number,
                parent=self._fixed[number][0],
                action=self._fixed[number][1],
                label=self._fixed[number][2],
                **dict(zip(STATISTICS, values, strict=True)),
            )
            for number, values in zip(numbers, each, strict=True)
        ]

    def _columns(self, numbers: list[int]) -> NodeColumns:
        """The statistics last sent."""
        N, Q, value, P, kind, proven, seat, unsent = self._sent[numbers].T
        return NodeColumns.model_construct(
            id=numbers,
            N=N.astype(int).tolist(),
            Q=_or_none(Q),
            value=_or_none(value),
            P=_or_none(P),
            kind=[KINDS[int(number)] for number in kind.tolist()],
            proven=proven.astype(bool).tolist(),
            seat=[None if number < 0 else int(number) for number in seat.tolist()],
            unsent=unsent.astype(int).tolist(),
        )


def _matrix(nodes: MostVisited) -> NDArray[np.float64]:
    """`STATISTICS` of nodes, `[nodes, statistics]`."""
    rounded = [np.round(each, DECIMALS) for each in (nodes.Q, nodes.values, nodes.P)]
    kept = (nodes.kinds, nodes.proven, nodes.seats, nodes.missing)
    return np.column_stack((nodes.N, *rounded, *kept)).astype(float)


def _or_none(column: NDArray[np.float64]) -> list[Any]:
    """Numbers for JSON; None for those that are not finite."""
    return [x if math.isfinite(x) else None for x in column.tolist()]
