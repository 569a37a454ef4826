"""The document `node-edge-chess`: a tree of `Node` and `Edge` objects, searched and drawn.

    mcts = MCTS(agent)                    # agent.predict(planes) -> (probabilities, value)
    mcts.run_simulations(400)
    mcts.best_edge().action               # chess.Move
    mcts.plot_tree("tree.gv")             # Graphviz

- A node's `state` is a FEN; its `value` is the agent's evaluation, *for the side to move there*.
- An edge's `W` belongs to the player who moves along it, who maximises its `Q = W / N`.
- The first simulation of a new tree evaluates the root: after n simulations the root has N = n, and
  its edges have n - 1 together.

`run_simulations` runs on the core, and nodes read its tree. `select_child`, `expand` and
`backpropagate` are the document's steps, for those who write its loop themselves
(`steps_by_hand`). The core cannot search a tree that was changed by hand; then `run_simulations` is
that loop, with the same counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import chess
import numpy as np
from numpy.typing import NDArray

from sylvan.classic.agents import PLANES, Agent, evaluate, state_to_input
from sylvan.classic.drawing import D, Digraph, count_nodes, draw
from sylvan.classic.nodes import CONFIG, Edge, Node
from sylvan.classic.progress import progress_bar
from sylvan.classic.steps_by_hand import StepsByHand, draw_noise
from sylvan.classic.tree_node import CoreTree
from sylvan.errors import ConfigError, SearchStateError
from sylvan.games.chess import Chess
from sylvan.planning import Leaves, Search
from sylvan.planning.roots import as_root, need_turn, root_actions

__all__ = ["CONFIG", "MCTS", "Digraph", "Edge", "Node", "state_to_input"]


class MCTS(StepsByHand):
    """A search tree over chess positions.

    Randomness (the root's noise with `stochastic`) starts from NumPy's global generator, as in the
    document: `np.random.seed` makes it repeatable.
    """

    def __init__(
        self,
        agent: Agent,
        state: str | Chess | chess.Board = chess.STARTING_FEN,
        stochastic: bool = False,
    ) -> None:
        """Create a tree of one node.

        Args:
            agent: predicts probabilities and values
            state: a FEN; or a game or board with its history, which repetitions need
            stochastic: noise on the root's priors, for self-play
        """
        game = Chess.from_board(state) if isinstance(state, chess.Board) else state
        game = Chess(game) if isinstance(game, str) else game
        if not isinstance(game, Chess):
            raise ConfigError(f"state is a {type(state).__name__}: give a FEN, Chess or Board.")
        game = game.encoded(PLANES)
        super().__init__(agent, game, stochastic)
        self._plant(game, state if isinstance(state, str) else game.fen())

    def _plant(self, game: Chess, fen: str) -> None:
        """Start a new tree."""
        self.root = Node(fen)
        self._game = game
        self._search: Search | None = None
        self._noise: list[float] | None = None

    def run_simulations(self, n: int) -> None:
        """Run n simulations; on a terminal, show a progress bar.

        :raises GameOver: the game is over at the root.
        """
        need_turn(self._game, "The root")
        if n < 1:
            return
        with progress_bar("simulations", n) as show:
            if self._changed_by_hand:
                self._run_by_hand(n, show)
            else:
                self._run_on_the_core(n, show)

    @property
    def _changed_by_hand(self) -> bool:
        """Whether the tree has changes that the core does not know."""
        tree = self.root.tree
        return bool(self.root.N or self.root.edges) if tree is None else tree.changed

    def _run_on_the_core(self, n: int, show: Callable[[int], None]) -> None:
        fresh = self._search is None
        if self._search is None:
            seed = int(np.random.randint(2**62))
            self._search = Search(self._evaluate, CONFIG, seed=seed, noise=self.stochastic)
        if self.stochastic and self._noise is None:
            self._noise = draw_noise(len(root_actions(self._game)))
        self._search.limit(simulations=n - fresh)
        try:
            self._search.run(
                self._game if fresh else None,
                progress=lambda status: show(status.simulations),
                noise=self._noise,  # the same in every search of this root
            )
        finally:  # also if the agent raised: finished simulations count
            self._show()

    def _evaluate(self, leaves: Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return evaluate(self.agent, leaves)

    def _show(self) -> None:
        """Let the root read the core's tree; there is none before the root is evaluated."""
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
        """Play moves, such as one's own and the reply; the subtree behind them becomes the tree.

        Moves that no simulation took start a new tree.
        """
        game, node, actions = as_root(self._game), self.root, []
        for move in moves:
            actions.append(game.string_to_action(move if isinstance(move, str) else move.uci()))
            edge = node.get_edge(chess.Move.from_uci(game.action_to_string(actions[-1])))
            node = Node() if edge is None else edge.output_node
            game.apply(actions[-1])
            game.set_root()
        if node.is_leaf():
            self._plant(game, game.fen())
            return
        by_hand = self._changed_by_hand
        self._game, self.game_path, self._noise = game, [], None
        if self._search is not None and not by_hand:
            self._search.advance(*actions)
            self.root = Node(game.fen())
            self._show()
        else:
            self._search, self.root = None, node
            node.state, node.above = node.state, None

    def plot_node(
        self,
        dot: D,
        node: Node,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        visits: int = 1,
    ) -> D:
        """Draw a node and all below it into a `Digraph`, within the limits of `drawing.draw`."""
        return draw(dot, node, depth=depth, nodes=nodes, visits=visits)

    def plot_tree(
        self,
        save_path: str = "tests/mcts_tree.gv",
        *,
        depth: int | None = None,
        nodes: int | None = 2000,
        visits: int = 1,
    ) -> None:
        """Write the tree as Graphviz source: moves on the edges, N, Q and P in the nodes.

        Draws at most `nodes`, the most visited first, none below `visits`; 0 draws unvisited moves
        too. Logs the number of nodes with so many visits.
        """
        dot = Digraph(comment="Chess MCTS Tree")
        counted = self._search is not None and visits == 1 and not self._changed_by_hand
        size = self._search.result.nodes if counted and self._search else None
        logging.info("# of nodes in tree: %d", size or count_nodes(self.root, visits))
        self.plot_node(dot, self.root, depth=depth, nodes=nodes, visits=visits).save(save_path)
