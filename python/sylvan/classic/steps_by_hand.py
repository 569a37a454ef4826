"""The steps of the document `node-edge-chess`, for those who write its loop themselves.

The core takes the same steps, with the same numbers, when `run_simulations` runs on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import chess
import numpy as np
from numpy.typing import ArrayLike

from sylvan._native import Rng, quantise_priors, softmax
from sylvan.classic.agents import Agent, move_squares, planes_of, predict
from sylvan.classic.nodes import CONFIG, Edge, Node
from sylvan.classic.predictions import legal_logits
from sylvan.errors import IllegalAction, SearchStateError
from sylvan.games.chess import Chess
from sylvan.planning.roots import as_root
from sylvan.reference.node import TINY, f32

__all__ = ["StepsByHand", "draw_noise"]


class StepsByHand:
    """A tree, and the document's steps that grow it."""

    root: Node

    def __init__(self, agent: Agent, game: Chess, stochastic: bool) -> None:
        """Start without a simulation."""
        self.agent = agent
        self.stochastic = stochastic
        self.game_path: list[Edge] = []
        """The edges of the simulation in progress."""
        self.cur_board: chess.Board | None = None
        """The board whose moves are mapped."""
        self.outputs: list[tuple[chess.Move, int, int, int]] = []
        """Moves mapped to plane, row and column."""
        self._game = game
        self._noise: list[float] | None = None

    def _run_by_hand(self, n: int, show: Callable[[int], None]) -> None:
        """The document's loop."""
        if self.stochastic and not self.root.is_leaf() and self._noise is None:
            self._add_noise()
        for done in range(n):
            self.game_path = []
            leaf = self.select_child(self.root)
            leaf.N += 1
            leaf = self.expand(leaf)
            self.backpropagate(leaf, leaf.value)
            show(done + 1)

    def select_child(self, node: Node) -> Node:
        """Descend to a leaf by the highest Q + U, and add the edges to `game_path`."""
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
        plane, row, column = move_squares(np.array([action]))
        self.outputs.append((move, int(plane[0]), int(row[0]), int(column[0])))

    def probabilities_to_actions(self, probabilities: ArrayLike, board: str) -> dict[str, float]:
        """The legal moves of a FEN with their probabilities, normalised.

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
        probabilities, leaf.value = predict(self.agent, planes_of(game))
        for uci, prior in self.probabilities_to_actions(probabilities, leaf.state).items():
            leaf.add_child(Node(), uci, prior)
        if self.stochastic and leaf is self.root:
            self._add_noise()
        return leaf

    def _add_noise(self) -> None:
        """Mix noise into the root's priors, once."""
        edges = self.root.edges
        self._noise = draw_noise(len(edges))
        for edge, share in zip(edges, self._noise, strict=True):
            edge.P = float(max(f32(CONFIG.mixed(edge.P, share)), TINY))

    def _note_change(self) -> None:
        """Note that the tree is changed by hand."""
        if self.root.tree is not None:
            self.root.tree.changed = True

    def _game_at(self, node: Node) -> Chess:
        """The position of a node, with the moves that led there, which repetitions need."""
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
        `end_node`; edges of the other side get its negative.
        """
        self._note_change()
        for edge in self.game_path:
            edge.input_node.N += 1
            edge.N += 1
            edge.W += value if edge.input_node.turn == end_node.turn else -value
        return end_node


def draw_noise(count: int) -> list[float]:
    """Dirichlet noise for the root's edges."""
    return list(Rng(int(np.random.randint(2**62))).dirichlet(CONFIG.dirichlet_alpha, count))


@lru_cache(maxsize=4)
def _game(fen: str) -> Chess:
    """The game at a FEN; shared, so callers must not change it."""
    return as_root(Chess(fen))
