"""`Node` and `Edge` of the document `node-edge-chess`."""

from __future__ import annotations

import chess

from sylvan.classic.formulas import puct
from sylvan.classic.tree_node import CoreTree, Path, Statistic, TreeNode
from sylvan.errors import IllegalAction, SearchStateError
from sylvan.planning import SearchConfig

__all__ = ["CONFIG", "Edge", "Node"]

CONFIG = SearchConfig(
    c_puct=2.0,
    c_base=20000.0,
    dirichlet_alpha=0.3,
    dirichlet_fraction=0.25,
    fpu="zero",  # an unvisited edge counts as a draw
    proofs=False,
    prior_bits=32,
)
"""The search constants of the document's project."""


class Node(TreeNode):
    """A position of the tree: `state` (a FEN), `edges`, `N` visits, `value`.

    >>> node = Node(chess.STARTING_FEN)
    >>> edge = node.add_child(Node(node.step(chess.Move.from_uci("e2e4"))), "e2e4", 0.5)
    >>> node.is_leaf(), edge.output_node.turn == chess.BLACK
    (False, True)
    """

    N = TreeNode.visits
    value = Statistic[float](lambda node: node.core_value())
    """The evaluation of the agent, or of a finished game, for the side to move; 0 before it."""

    def __init__(self, state: str | None = None) -> None:
        """Create a node without children; without a FEN, the edge to it gives the state."""
        super().__init__(1.0)
        self.above: Edge | None = None
        self._state = state
        self._edges: list[Edge] = []
        self._value: float | None = 0.0

    def show(self, tree: CoreTree, path: Path) -> None:
        """Show a node of the core from now on."""
        super().show(tree, path)
        self._value = None

    @property
    def state(self) -> str:
        """The FEN."""
        if self._state is None:
            line, node = [], self
            while node._state is None:
                if node.above is None:
                    raise SearchStateError("The node has no state: create it as Node(fen).")
                line.append(node.above.action)
                node = node.above.input_node
            board = chess.Board(node._state)
            for move in reversed(line):
                board.push(move)
            self._state = board.fen()
        return self._state

    @state.setter
    def state(self, fen: str) -> None:
        self._state = fen

    @property
    def turn(self) -> chess.Color:
        """The side to move."""
        return self.state.split()[1] == "w"

    @property
    def edges(self) -> list[Edge]:
        """One edge per legal move after expansion, in the game's order."""
        if not self._edges and self.tree is not None and self.tree.edges(self.path):
            view = self.tree.node(self.path)
            assert view is not None
            for action in view.state.legal_actions():
                move = chess.Move.from_uci(view.state.action_to_string(action))
                edge = Edge(self, Node(), move, 0.0)
                edge.show(self.tree, (*self.path, action))
                edge.output_node.show(self.tree, edge.path)
                self._edges.append(edge)
        return self._edges

    def core_value(self) -> float:
        """The node's own evaluation: its value sum minus that of its edges, per evaluation. A
        finished game has one evaluation per visit.
        """
        assert self.tree is not None
        view = self.tree.node(self.path)
        if view is None:
            return 0.0
        own = view.N - sum(edge.N for edge in view.edges)
        below = sum(edge.W for edge in view.edges)
        return (view.W[int(self.turn == chess.BLACK)] - below) / max(own, 1)

    @property
    def Q(self) -> float:  # noqa: N802
        """The mean value for the side to move, own evaluation included; 0 before it."""
        below = sum(edge.N for edge in self.edges)
        total = self.value * (self.N - below) + sum(edge.W for edge in self.edges)
        return total / self.N if self.N else 0.0

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
        """Add an edge to `child`, with a move and its prior."""
        if isinstance(action, str):
            action = chess.Move.from_uci(action)
        edge = Edge(self, child, action, prior)
        self.edges.append(edge)
        if self.tree is not None:
            self.tree.changed = True
        return edge

    def get_all_children(self) -> list[Node]:
        """All nodes below this one."""
        found: list[Node] = []
        waiting = [self]
        while waiting:
            below = [edge.output_node for edge in waiting.pop().edges]
            found += below
            waiting += below
        return found

    def get_edge(self, action: chess.Move) -> Edge | None:
        """The edge of a move, or None."""
        return next((edge for edge in self.edges if edge.action == action), None)


class Edge(TreeNode):
    """A move in the tree, from `input_node` to `output_node`: `action`, `N`, `W`, `P`.

    `W` is the sum of values for the player who moves along it.
    """

    N = TreeNode.visits
    W = TreeNode.total
    P = TreeNode.prior

    def __init__(
        self, input_node: Node, output_node: Node, action: chess.Move, prior: float
    ) -> None:
        """Create an unvisited edge."""
        super().__init__(prior)
        self.input_node, self.output_node, self.action = input_node, output_node, action
        output_node.above = self

    def core_visits(self) -> int:
        """The core's count of visits."""
        assert self.tree is not None
        return self.tree.edge(self.path).N

    def core_total(self) -> float:
        """The core's sum of values for the player who moves along it."""
        assert self.tree is not None
        return self.tree.edge(self.path).W

    @property
    def Q(self) -> float:  # noqa: N802
        """W / N, the mean value for the player who moves along it; 0 before the first visit."""
        return self.mean

    def upper_confidence_bound(self, noise: float = 1.0) -> float:
        """The PUCT score, Q + c(N) * P * sqrt(N of the node) / (1 + N of the edge).

        `noise` is the edge's share of a Dirichlet draw, which is mixed into P, not multiplied; 1
        means no noise, as in the document. The search itself mixes noise into the root's P once.
        """
        prior = self.P if noise == 1.0 else CONFIG.mixed(self.P, noise)
        return puct(CONFIG, self.Q, prior, self.N, self.input_node.N)
