"""`Node` and `Edge` of the document `node-edge-chess`.

Either may be built and changed by hand. Those of a tree that the core grew are read from it when
they are first asked for: a state is a FEN of a few dozen letters, and a tree has thirty unvisited
nodes for every visited one.
"""

from __future__ import annotations

from typing import Any

import chess

from sylvan.errors import IllegalAction, SearchStateError
from sylvan.planning import NodeView, SearchConfig
from sylvan.reference.node import f32
from sylvan.reference.selection import puct_score

__all__ = ["CONFIG", "Edge", "Node", "Origin"]

CONFIG = SearchConfig(
    C_init=2.0,
    C_base=20000.0,
    dirichlet_alpha=0.3,
    dirichlet_fraction=0.25,
    fpu="zero",  # an untried edge is worth a draw
    proofs=False,
    prior_bits=32,
)
"""The constants of the search, as the document's project sets them."""


class Origin:
    """Whether a tree is still as the core left it."""

    by_hand = False


class _Watched:
    """Something whose statistics may be changed by hand, which its tree must know."""

    origin: Origin | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if self.origin is not None and name in ("N", "W", "P", "value"):
            self.origin.by_hand = True


class Node(_Watched):
    """A position of the tree: `state` (a FEN), `edges`, `N` visits, `value`.

    >>> node = Node(chess.STARTING_FEN)
    >>> edge = node.add_child(Node(node.step(chess.Move.from_uci("e2e4"))), "e2e4", 0.5)
    >>> node.is_leaf(), edge.output_node.turn == chess.BLACK
    (False, True)
    """

    def __init__(self, state: str | None = None) -> None:
        """A position without children; its state may also follow from the edge that leads to it."""
        self._state = state
        self.above: Edge | None = None
        self._view: NodeView | None = None  # where the core keeps it
        self._edges: list[Edge] | None = []
        self._value: float | None = 0.0
        self.N = 0

    @property
    def state(self) -> str:
        """The FEN."""
        if self._state is None:
            line, node = [], self
            while node._state is None:
                if node.above is None:
                    raise SearchStateError("The node has no state: make it as Node(fen).")
                line.append(node.above.action)
                node = node.above.input_node
            board = chess.Board(node._state)
            for move in reversed(line):
                board.push(move)
            self._state = board.fen()
        return self._state

    @property
    def turn(self) -> chess.Color:
        """The side to move."""
        return self.state.split()[1] == "w"

    @property
    def edges(self) -> list[Edge]:
        """One per legal move once the node is expanded, in the game's order."""
        if self._edges is None:
            self._edges = self._read()
        return self._edges

    def _read(self) -> list[Edge]:
        """The edges as the core has them."""
        assert self._view is not None
        edges, game = [], self._view.state
        views = {view.action: view for view in self._view.edges}
        for action in game.legal_actions() if views else ():
            view = views[action]
            node, move = Node(), chess.Move.from_uci(game.action_to_string(action))
            edge = Edge(self, node, move, view.P)
            edge.N, edge.W = view.N, view.W
            node.read_from(view.child, view.N, self.origin)
            edge.origin = self.origin
            edges.append(edge)
        return edges

    def read_from(self, view: NodeView | None, visits: int, origin: Origin | None) -> None:
        """Take the place of a node of the core; None: one that it has not reached."""
        self.origin = None  # this is not by hand
        self.N, self._view, self.origin = visits, view, origin
        if view is not None:
            self._edges, self._value = None, None

    @property
    def value(self) -> float:
        """What the agent, or the end of the game, says of it, for the side to move; 0 before."""
        if self._value is None:
            assert self._view is not None
            # All that was backed up from here, less what came from below, is its own evaluation
            # (at the end of a game as often as it was visited).
            view, seat = self._view, int(self.turn == chess.BLACK)
            own = view.N - sum(edge.N for edge in view.edges)
            self._value = (view.W[seat] - sum(edge.W for edge in view.edges)) / max(own, 1)
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = value

    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return not self.edges

    def step(self, action: chess.Move) -> str:
        """The FEN after a move."""
        board = chess.Board(self.state)
        if not board.is_legal(action):
            raise IllegalAction(f"The move {action} is not legal in {self.state!r}.")
        board.push(action)
        return board.fen()

    def add_child(self, child: Node, action: chess.Move | str, prior: float) -> Edge:
        """A new edge to `child`, by a move and its prior."""
        if isinstance(action, str):
            action = chess.Move.from_uci(action)
        edge = Edge(self, child, action, prior)
        self.edges.append(edge)
        child.origin = edge.origin = self.origin
        if self.origin is not None:
            self.origin.by_hand = True
        return edge

    def get_all_children(self) -> list[Node]:
        """Every node below this one."""
        found: list[Node] = []
        waiting = [self]
        while waiting:
            below = [edge.output_node for edge in waiting.pop().edges]
            found += below
            waiting += below
        return found

    def get_edge(self, action: chess.Move) -> Edge | None:
        """The edge of a move; None where there is none."""
        return next((edge for edge in self.edges if edge.action == action), None)


class Edge(_Watched):
    """A move in the tree, from `input_node` to `output_node`: `action`, `N`, `W`, `P`."""

    def __init__(
        self, input_node: Node, output_node: Node, action: chess.Move, prior: float
    ) -> None:
        """An edge that no simulation took."""
        self.input_node, self.output_node, self.action = input_node, output_node, action
        self.N = 0
        self.W = 0.0
        """Sum of values for the player who moves along it."""
        self.P = prior
        output_node.above = self

    @property
    def Q(self) -> float:  # noqa: N802
        """W / N, the mean value for the player who moves along it; 0 before the first visit."""
        return self.W / self.N if self.N else 0.0

    def upper_confidence_bound(self, noise: float = 1.0) -> float:
        """The PUCT score, Q + c(N) * P * sqrt(N of the node) / (1 + N of the edge).

        `noise` is the edge's share of a Dirichlet draw, which is mixed into P and never multiplied
        by it; 1, as the document writes it, is no noise. The search itself mixes noise once, into
        the root's P.
        """
        prior = self.P if noise == 1.0 else CONFIG.mixed(self.P, noise)
        explore = f32(CONFIG.exploration(float(self.input_node.N)))
        return float(puct_score(f32(self.Q), f32(prior), self.N, explore))
