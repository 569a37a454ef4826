"""The document `node-edge-chess`: a tree of `Node` and `Edge` objects, searched and drawn.

    mcts = MCTS(agent)                    # agent.predict(planes) -> (probabilities, value)
    mcts.run_simulations(400)
    mcts.best_edge().action               # chess.Move
    mcts.plot_tree("tree.gv")             # Graphviz

- A node's `state` is a FEN; its `value` is what the agent says of it, *for the side to move there*.
- An edge's `W` belongs to the player who moves along it, so its `Q = W / N` is to be maximised.
- `agent.predict` sees `[1, 19, 8, 8]` (the encoder `planes19`) and gives 73×8×8 probabilities,
  `[plane][rank][file]` with the ranks of planes and policy counted from the mover's side alike, and
  a value from -1 to 1 for the side to move.
- A simulation that finds an empty tree evaluates the root: after n simulations of a new tree its
  root has N = n, and its edges have n - 1 together.

`run_simulations` runs on the core. `select_child`, `expand` and `backpropagate` are the same steps
by hand, with the reference's formulas; once anything was done by hand, the tree is Python's, and
further simulations take those steps. Both ways give the same counts.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import chess
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan._native import Rng, quantise_priors, softmax
from sylvan.classic.predictions import legal_logits
from sylvan.classic.progress import progress_bar
from sylvan.errors import EvaluationError, IllegalAction, SearchStateError
from sylvan.games.chess import Chess, expand_planes
from sylvan.games.encoding import Encoding
from sylvan.planning import Leaves, NodeView, Search, SearchConfig
from sylvan.planning.roots import as_root, need_turn
from sylvan.reference.node import TINY, f32
from sylvan.reference.selection import puct_score
from sylvan.views.atomic import write_text
from sylvan.views.dot import quoted

__all__ = ["CONFIG", "MCTS", "Digraph", "Edge", "Node", "state_to_input"]

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

PLANES = Encoding(encoder="planes19")


class Agent(Protocol):
    """What predicts: a network, or a client of one."""

    def predict(self, planes: NDArray[np.float32], /) -> tuple[ArrayLike, Any]:
        """Probabilities `[4672]` or `[73, 8, 8]`, and the value for the side to move."""


class _Origin:
    """Whether a tree is still as the core left it."""

    by_hand = False


class _Watched:
    """Something whose statistics may be changed by hand, which its tree must know."""

    _origin: _Origin | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if self._origin is not None and name in ("N", "W", "P", "value"):
            self._origin.by_hand = True


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
        self._above: Edge | None = None
        self._view: NodeView | None = None  # where the core keeps it
        self._edges: list[Edge] | None = []
        self._value: float | None = 0.0
        self.N = 0

    @property
    def state(self) -> str:
        """The FEN."""
        if self._state is None:
            if self._above is None:
                raise SearchStateError("The node has no state: make it as Node(fen).")
            self._state = self._above.input_node.step(self._above.action)
        return self._state

    @property
    def turn(self) -> chess.Color:
        """The side to move."""
        return self.state.split()[1] == "w"

    @property
    def edges(self) -> list[Edge]:
        """One per legal move once the node is expanded, in the game's order."""
        if self._edges is None:
            self._edges = list(self._read())
        return self._edges

    def _read(self) -> list[Edge]:
        """The edges as the core has them."""
        assert self._view is not None
        edges, game = [], self._view.state
        views = {view.action: view for view in self._view.edges}
        for action in views and game.legal_actions():
            view = views[action]
            node, move = Node(), chess.Move.from_uci(game.action_to_string(action))
            edge = Edge(self, node, move, view.P)
            edge.N, edge.W = view.N, view.W
            node._grown(view.child, view.N, self._origin)
            edge._origin = self._origin
            edges.append(edge)
        return edges

    def _grown(self, view: NodeView | None, visits: int, origin: _Origin | None) -> None:
        """Take the place of a node of the core; None: one that it has not reached."""
        self._origin = None  # this is not by hand
        self.N, self._view, self._origin = visits, view, origin
        if view is not None:
            self._edges, self._value = None, None

    @property
    def value(self) -> float:
        """What the agent, or the end of the game, says of it, for the side to move; 0 before."""
        if self._value is None:
            assert self._view is not None
            # All that was backed up from here, less what came from below, is its own evaluation
            # (at the end of a game as often as it was visited).
            seat, own = int(self.turn == chess.BLACK), self.N - sum(edge.N for edge in self.edges)
            below = sum(edge.W for edge in self.edges)
            self._value = (self._view.W[seat] - below) / max(own, 1)
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
        board.push(action)
        return board.fen()

    def add_child(self, child: Node, action: chess.Move | str, prior: float) -> Edge:
        """A new edge to `child`, by a move and its prior."""
        if isinstance(action, str):
            action = chess.Move.from_uci(action)
        edge = Edge(self, child, action, prior)
        self.edges.append(edge)
        child._origin = edge._origin = self._origin
        if self._origin is not None:
            self._origin.by_hand = True
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
        output_node._above = self

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


class MCTS:
    """A search tree over chess positions and the steps that grow it.

    Randomness (the root's noise with `stochastic`) starts from NumPy's global generator, as in the
    document: `np.random.seed` makes it repeatable.
    """

    def __init__(
        self, agent: Agent, state: str | Chess = chess.STARTING_FEN, stochastic: bool = False
    ) -> None:
        """A tree of one node.

        Args:
            agent: predicts probabilities and values
            state: a FEN, or a game with its past, which repetitions need
            stochastic: noise on the root's priors, for self-play
        """
        self.agent = agent
        self.stochastic = stochastic
        self.game_path: list[Edge] = []
        """The edges of the simulation that is walked by hand."""
        self.cur_board: chess.Board | None = None
        """The board whose moves are mapped."""
        self.outputs: list[tuple[chess.Move, int, int, int]] = []
        """Moves mapped to plane, row and column."""
        game = Chess(state) if isinstance(state, str) else state
        self._plant(game.encoded(PLANES), state if isinstance(state, str) else game.fen())

    def _plant(self, game: Chess, fen: str) -> None:
        """Start a new tree."""
        self.root = Node(fen)
        self._game = game
        self._search: Search | None = None
        self._origin = self.root._origin = _Origin()
        self._noised: Node | None = None

    def run_simulations(self, n: int) -> None:
        """Run n simulations; a progress bar shows them on a terminal.

        :raises GameOver: the game is over at the root.
        """
        need_turn(self._game, "The root")
        with progress_bar("simulations", n) as show:
            if n > 0 and not self._origin.by_hand:
                self._run_on_the_core(n, show)
                return
            self._take_over()
            if self.stochastic and not self.root.is_leaf() and self._noised is not self.root:
                self._add_noise()
            for done in range(n):
                self.game_path = []
                leaf = self.select_child(self.root)
                leaf.N += 1
                leaf = self.expand(leaf) if leaf.is_leaf() else leaf
                self.backpropagate(leaf, leaf.value)
                show(done + 1)

    def _run_on_the_core(self, n: int, show: Any) -> None:
        fresh = self._search is None
        if self._search is None:
            seed = int(np.random.randint(2**62))
            self._search = Search(self._evaluate, CONFIG, seed=seed, noise=self.stochastic)
        self._search.limit(simulations=n - fresh)
        result = self._search.run(
            self._game if fresh else None, progress=lambda status: show(status.simulations)
        )
        self._origin = _Origin()  # what was read before is no longer this tree
        self.root._grown(result.tree.root, result.tree.root.N, self._origin)
        self._noised = self.root if self.stochastic else None

    def _take_over(self) -> None:
        """Read what the core still holds, since from here on the tree grows by hand."""
        self.root.get_all_children()
        self._search, self._origin.by_hand = None, True

    def _evaluate(self, leaves: Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        inputs = expand_planes(leaves.observations, PLANES.encoder)
        policies, values = zip(*(self._predict(x[None]) for x in inputs), strict=True)
        plane, row, column = _places(leaves.actions)
        leaf = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
        probabilities = np.stack(policies)[leaf, plane, row, column]
        return legal_logits(probabilities, leaves.offsets), np.array(values, np.float32)

    def _predict(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], float]:
        """Probabilities `[73, 8, 8]` and the value of one position."""
        policy, value = self.agent.predict(planes)
        probabilities, values = np.asarray(policy), np.asarray(value)
        if probabilities.size != 73 * 64 or values.size != 1:
            raise EvaluationError(
                f"agent.predict gave {probabilities.size} probabilities and {values.size} values: "
                "it must give 4672 (73 planes of 8 × 8) and one."
            )
        return probabilities.reshape(73, 8, 8), float(values.reshape(()))

    def select_child(self, node: Node) -> Node:
        """Walk to a leaf by the highest Q + U; `game_path` has the edges."""
        while not node.is_leaf():
            scored = enumerate(node.edges)
            _, edge = max(scored, key=lambda at: (at[1].upper_confidence_bound(), at[1].P, -at[0]))
            self.game_path.append(edge)
            node = edge.output_node
        return node

    def map_valid_move(self, move: chess.Move) -> None:
        """Add a legal move of `cur_board` to `outputs`, with its plane, row and column."""
        if self.cur_board is None or self.cur_board.piece_at(move.from_square) is None:
            square = chess.square_name(move.from_square)
            raise IllegalAction(f"No piece stands on {square}: set cur_board to the move's board.")
        action = _game(self.cur_board.fen()).string_to_action(move.uci())
        plane, row, column = _places(np.array([action]))
        self.outputs.append((move, int(plane[0]), int(row[0]), int(column[0])))

    def probabilities_to_actions(self, probabilities: ArrayLike, board: str) -> dict[str, float]:
        """The legal moves of a FEN with their probabilities, which add up to one.

        Args:
            probabilities: `[4672]` or `[73, 8, 8]`
            board: the FEN
        """
        planes = np.asarray(probabilities).reshape(73, 8, 8)
        self.cur_board, self.outputs = chess.Board(board), []
        game = _game(board)
        moves = [game.action_to_string(action) for action in game.legal_actions()]
        for uci in moves or [move.uci() for move in self.cur_board.legal_moves]:
            self.map_valid_move(chess.Move.from_uci(uci))
        if not self.outputs:
            return {}
        legal = [planes[plane][row][column] for _, plane, row, column in self.outputs]
        priors = quantise_priors(softmax(legal_logits(legal, [0, len(legal)])), CONFIG.prior_bits)
        return {out[0].uci(): float(p) for out, p in zip(self.outputs, priors, strict=True)}

    def expand(self, leaf: Node) -> Node:
        """Give a leaf its value and, unless the game is over, a child per legal move."""
        if not leaf.is_leaf():
            raise SearchStateError("The node is expanded already: expand a leaf.")
        self._origin.by_hand = True
        game = self._game_at(leaf)
        if game.is_terminal():
            leaf.value = float(game.returns()[game.to_play()])
            return leaf
        probabilities, leaf.value = self._predict(_input(game))
        for uci, prior in self.probabilities_to_actions(probabilities, leaf.state).items():
            leaf.add_child(Node(), uci, prior)
        if self.stochastic and leaf is self.root:
            self._add_noise()
        return leaf

    def _add_noise(self) -> None:
        """Mix noise into the root's priors, once."""
        edges = self.root.edges
        eta = Rng(int(np.random.randint(2**62))).dirichlet(CONFIG.dirichlet_alpha, len(edges))
        for edge, share in zip(edges, eta, strict=True):
            edge.P = float(max(f32(CONFIG.mixed(edge.P, share)), TINY))
        self._noised = self.root

    def _game_at(self, node: Node) -> Chess:
        """The position of a node with the moves that led there, for repetitions."""
        moves = []
        while node._above is not None:
            moves.append(node._above.action.uci())
            node = node._above.input_node
        game = as_root(self._game if node is self.root else Chess(node.state, encoder="planes19"))
        for move in reversed(moves):
            game.apply(game.string_to_action(move))
        return game

    def backpropagate(self, end_node: Node, value: float) -> Node:
        """Count the visit along `game_path` and add `value`, which is for the side to move at
        `end_node`: as it is where that side moves, negated where the other does.
        """
        self._origin.by_hand = True
        for edge in self.game_path:
            edge.input_node.N += 1
            edge.N += 1
            edge.W += value if edge.input_node.turn == end_node.turn else -value
        return end_node

    def best_edge(self, by: str = "visits") -> Edge:
        """The root's edge with most visits, or `by="value"` with the best mean value."""
        if self.root.is_leaf():
            raise SearchStateError("The root has no edges: run_simulations first.")
        visited = [edge for edge in self.root.edges if edge.N] or self.root.edges
        if by == "value":
            return max(visited, key=lambda edge: (edge.Q, edge.N, edge.P))
        return max(visited, key=lambda edge: (edge.N, edge.P))

    def advance(self, *moves: chess.Move | str) -> None:
        """Play moves, such as one's own and the reply: the subtree behind them becomes the tree.

        A line that no simulation followed starts a new tree.
        """
        game, node, actions = as_root(self._game), self.root, []
        for move in moves:
            text = move if isinstance(move, str) else move.uci()
            actions.append(game.string_to_action(text))
            edge = None
            if node is not None:
                edge = node.get_edge(chess.Move.from_uci(game.action_to_string(actions[-1])))
            node = edge.output_node if edge is not None else Node()
            game.apply(actions[-1])
            game.set_root()
        if node.is_leaf():
            self._plant(game, game.fen())
            return
        self._game, self.game_path, self._noised = game, [], None
        if self._search is not None and not self._origin.by_hand:
            self._search.advance(*actions)
            view = self._search.result.tree.root
            self.root, self._origin = Node(game.fen()), _Origin()
            self.root._grown(view, view.N, self._origin)
        else:
            self._take_over()
            self.root = node
            self.root._state, self.root._above = node.state, None

    def plot_node(
        self,
        dot: Any,
        node: Node,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        visits: int = 0,
    ) -> Any:
        """Draw a node and all below it into a `Digraph`, within limits, the most visited first.

        Args:
            dot: this module's `Digraph`, or the one of the package graphviz
            node: where to begin
            depth: moves below it
            nodes: how many to draw
            visits: the fewest that a child needs to be drawn
        """
        numbers, left_out = count(), Counter[str]()
        waiting: list[tuple[int, int, int, Node, str]] = [(-node.N, 0, 0, node, "")]
        serial = count(1)
        while waiting:
            _, level, _, here, parent = heapq.heappop(waiting)
            number = next(numbers)
            if nodes is not None and number >= nodes:
                left_out[parent] += 1
                continue
            name = f"n{number}"
            dot.node(name, _label(here, top=not parent))
            if parent and here._above is not None:
                dot.edge(parent, name, label=here._above.action.uci())
            for edge in here.edges:
                if edge.N < visits or level == depth:
                    left_out[name] += 1
                else:
                    child = edge.output_node
                    heapq.heappush(waiting, (-edge.N, level + 1, next(serial), child, name))
        for number, (parent, left) in enumerate(left_out.items()):
            dot.node(f"m{number}", f"+{left:,} more")
            dot.edge(parent, f"m{number}", label="")
        return dot

    def plot_tree(
        self,
        save_path: str = "tests/mcts_tree.gv",
        *,
        depth: int | None = None,
        nodes: int | None = 2000,
        visits: int = 0,
    ) -> None:
        """Write the tree as Graphviz source: moves on the edges, N, Q and P in the nodes."""
        dot = Digraph(comment="Chess MCTS Tree")
        logging.info("# of nodes in tree: %d", len(self.root.get_all_children()) + 1)
        self.plot_node(dot, self.root, depth=depth, nodes=nodes, visits=visits).save(save_path)


class Digraph:
    """As much of Graphviz's language as a tree needs, with the names of the package graphviz."""

    def __init__(self, comment: str = "") -> None:
        """An empty graph."""
        self.comment = comment
        self.body: list[str] = []

    def node(self, name: str, label: str) -> None:
        """Add a node; a label may have several lines."""
        self.body.append(f"  {quoted(name)} [label={quoted(*label.splitlines())}];")

    def edge(self, tail: str, head: str, label: str = "") -> None:
        """Add an edge."""
        self.body.append(f"  {quoted(tail)} -> {quoted(head)} [label={quoted(label)}];")

    @property
    def source(self) -> str:
        """The graph as text."""
        return "\n".join(
            [
                f"// {self.comment}",
                "digraph {",
                "  rankdir=LR;",
                "  node [shape=box];",
                *self.body,
                "}\n",
            ]
        )

    def save(self, path: str) -> None:
        """Write it whole or not at all; folders are made as needed."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.source)


def state_to_input(state: str) -> NDArray[np.float32]:
    """What the agent sees of a FEN: `[1, 19, 8, 8]`."""
    return _input(Chess(state, encoder=PLANES.encoder))


@lru_cache(maxsize=4)
def _game(fen: str) -> Chess:
    """The game at a FEN, which whoever asks leaves as it is."""
    return as_root(Chess(fen))


def _input(game: Chess) -> NDArray[np.float32]:
    return expand_planes(game.observation()[None], PLANES.encoder)


def _places(actions: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Plane, row (the rank from the mover's side) and column (the file) of actions."""
    return actions % 73, actions // 73 // 8, actions // 73 % 8


def _label(node: Node, *, top: bool) -> str:
    """N, Q and P: those of the edge into a node, and its own N and value at the top."""
    edge = node._above
    if top or edge is None:
        return f"N {node.N}\nQ {node.value:+.3f}"
    return f"N {edge.N}\nQ {edge.Q:+.3f}\nP {edge.P:.4f}"
