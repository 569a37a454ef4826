"""The document `node-edge-chess`: a tree of `Node` and `Edge` objects, searched and drawn.

    mcts = MCTS(agent)                    # agent.predict(planes) -> (probabilities, value)
    mcts.run_simulations(400)
    mcts.best_edge().action               # chess.Move
    mcts.plot_tree("tree.gv")             # Graphviz

- A node's `state` is a FEN; its `value` is what the agent says of it, *for the side to move there*.
- An edge's `W` belongs to the player who moves along it, so its `Q = W / N` is to be maximised.
- `agent.predict` sees `[1, 19, 8, 8]` (the encoder `planes19`) and returns 73×8×8 probabilities,
  `[plane][rank][file]` with the ranks of planes and policy counted from the mover's side alike, and
  a value from -1 to 1 for the side to move.
- A simulation that finds an empty tree evaluates the root: after n simulations of a new tree its
  root has N = n, and its edges have n - 1 together.

`run_simulations` runs on the core. `select_child`, `expand` and `backpropagate` are the document's
steps, for those who write its loop themselves. Once a tree was changed by hand, the core cannot
search it on, and `run_simulations` is that loop. Both ways give the same counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import chess
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan._native import Rng, quantise_priors, softmax
from sylvan.classic.drawing import Digraph, draw
from sylvan.classic.nodes import CONFIG, Edge, Node
from sylvan.classic.predictions import legal_logits
from sylvan.classic.progress import progress_bar
from sylvan.classic.tree_node import CoreTree
from sylvan.errors import ConfigError, EvaluationError, IllegalAction, SearchStateError
from sylvan.games.chess import Chess, expand_planes
from sylvan.games.encoding import Encoding
from sylvan.planning import Leaves, Search
from sylvan.planning.roots import as_root, need_turn, root_actions
from sylvan.reference.node import TINY, f32

__all__ = ["CONFIG", "MCTS", "Digraph", "Edge", "Node", "state_to_input"]

PLANES = Encoding(encoder="planes19")


class Agent(Protocol):
    """What predicts: a network, or a client of one."""

    def predict(self, planes: NDArray[np.float32], /) -> tuple[ArrayLike, Any]:
        """Probabilities `[4672]` or `[73, 8, 8]`, and the value for the side to move."""


class MCTS:
    """A search tree over chess positions and the steps that grow it.

    Randomness (the root's noise with `stochastic`) starts from NumPy's global generator, as in the
    document: `np.random.seed` makes it repeatable.
    """

    def __init__(
        self,
        agent: Agent,
        state: str | Chess | chess.Board = chess.STARTING_FEN,
        stochastic: bool = False,
    ) -> None:
        """A tree of one node.

        Args:
            agent: predicts probabilities and values
            state: a FEN, or a game or board with its past, which repetitions need
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
        game = Chess.from_board(state) if isinstance(state, chess.Board) else state
        game = Chess(game) if isinstance(game, str) else game
        if not isinstance(game, Chess):
            raise ConfigError(f"state is a {type(state).__name__}: give a FEN, Chess or Board.")
        self._plant(game.encoded(PLANES), state if isinstance(state, str) else game.fen())

    def _plant(self, game: Chess, fen: str) -> None:
        """Start a new tree."""
        self.root = Node(fen)
        self._game = game
        self._search: Search | None = None
        self._noise: list[float] | None = None

    @property
    def _by_hand(self) -> bool:
        """Whether the tree has what the core knows nothing of."""
        tree = self.root.tree
        return bool(self.root.N or self.root.edges) if tree is None else tree.changed

    def run_simulations(self, n: int) -> None:
        """Run n simulations; a progress bar shows them on a terminal.

        :raises GameOver: the game is over at the root.
        """
        need_turn(self._game, "The root")
        if n < 1:
            return
        with progress_bar("simulations", n) as show:
            if not self._by_hand:
                self._run_on_the_core(n, show)
                return
            if self.stochastic and not self.root.is_leaf() and self._noise is None:
                self._add_noise()
            for done in range(n):
                self.game_path = []
                leaf = self.select_child(self.root)
                leaf.N += 1
                leaf = self.expand(leaf)
                self.backpropagate(leaf, leaf.value)
                show(done + 1)

    def _run_on_the_core(self, n: int, show: Callable[[int], None]) -> None:
        fresh = self._search is None
        if self._search is None:
            seed = int(np.random.randint(2**62))
            self._search = Search(self._evaluate, CONFIG, seed=seed, noise=self.stochastic)
        if self.stochastic and self._noise is None:
            self._noise = _draw_noise(len(root_actions(self._game)))
        self._search.limit(simulations=n - fresh)
        try:
            self._search.run(
                self._game if fresh else None,
                progress=lambda status: show(status.simulations),
                noise=self._noise,  # the same in every search of this root
            )
        finally:  # also where the agent raised: what was found until then counts
            self._show()

    def _show(self) -> None:
        """Let the root show the core's tree; without an evaluated root there is none."""
        search = self._search
        assert search is not None
        if self.root.tree is not None:
            self.root.tree.refresh()
            return
        try:
            tree = CoreTree(lambda: search.result)
            self.root.show(tree, tree.view.root.path)
        except SearchStateError:
            self._search = None

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
        self._note_change()
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
        self._noise = _draw_noise(len(edges))
        for edge, share in zip(edges, self._noise, strict=True):
            edge.P = float(max(f32(CONFIG.mixed(edge.P, share)), TINY))

    def _note_change(self) -> None:
        """Note that the tree is changed by hand."""
        if self.root.tree is not None:
            self.root.tree.changed = True

    def _game_at(self, node: Node) -> Chess:
        """The position of a node with the moves that led there, for repetitions."""
        moves = []
        while node.above is not None:
            moves.append(node.above.action.uci())
            node = node.above.input_node
        game = as_root(self._game if node is self.root else Chess(node.state, encoder="planes19"))
        for move in reversed(moves):
            game.apply(game.string_to_action(move))
        return game

    def backpropagate(self, end_node: Node, value: float) -> Node:
        """Count the visit along `game_path` and add `value`, which is for the side to move at
        `end_node`: as it is where that side moves, negated where the other does.
        """
        self._note_change()
        for edge in self.game_path:
            edge.input_node.N += 1
            edge.N += 1
            edge.W += value if edge.input_node.turn == end_node.turn else -value
        return end_node

    def best_edge(self, by: str = "visits") -> Edge:
        """The root's edge with most visits, or `by="value"` with the best mean value."""
        if by not in ("visits", "value"):
            raise ConfigError(f"by is {by!r}: it must be 'visits' or 'value'.")
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
        by_hand = self._by_hand
        self._game, self.game_path, self._noise = game, [], None
        if self._search is not None and not by_hand:
            self._search.advance(*actions)
            self.root = Node(game.fen())
            self._show()
        else:
            self._search, self.root = None, node
            node.state, node.above = node.state, None

    def plot_node(self, dot: Any, node: Node, **limits: Any) -> Any:
        """Draw a node and all below it into a `Digraph`, within the limits of `drawing.draw`."""
        return draw(dot, node, **limits)

    def plot_tree(
        self,
        save_path: str = "tests/mcts_tree.gv",
        *,
        depth: int | None = None,
        nodes: int | None = 2000,
        visits: int = 1,
    ) -> None:
        """Write the tree as Graphviz source: moves on the edges, N, Q and P in the nodes.

        At most `nodes` are drawn, the most visited first, none below `visits`; 0 draws moves that
        no simulation took, too. The log gets the number of nodes with so many visits.
        """
        dot = Digraph(comment="Chess MCTS Tree")
        logging.info("# of nodes in tree: %d", self._size(visits))
        self.plot_node(dot, self.root, depth=depth, nodes=nodes, visits=visits).save(save_path)

    def _size(self, visits: int) -> int:
        """Nodes with at least so many visits; the core has counted those with one."""
        if visits == 1 and self._search is not None and not self._by_hand:
            return self._search.result.nodes
        found, waiting = 0, [self.root]
        while waiting:
            node = waiting.pop()
            found += 1
            waiting += [edge.output_node for edge in node.edges if edge.N >= visits]
        return found


def _draw_noise(count: int) -> list[float]:
    """Dirichlet noise for the root's edges."""
    return list(Rng(int(np.random.randint(2**62))).dirichlet(CONFIG.dirichlet_alpha, count))


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
