"""The document `mcts-specification`: a game, a network, and a search that chooses a move.

    nn = ChessNN()
    nn.build_model()
    mcts = MCTS(neural_network=nn, num_simulations=100)
    game = ChessGame()
    move = mcts.search(game, temperature=0)
    game.make_move(move)
    move, policy = mcts.get_policy(game, temperature=1.0, add_noise=True)   # a training target

- The first simulation evaluates the root: after n simulations the root's `visit_count` is n, and
  its children have n - 1 together.
- A node's `total_value` is for the player to move *there*; the parent reads it with the opposite
  sign. Values lie between -1 and 1, so the 0 of an unvisited node is a draw.
- `ChessGame` is in `chess_game` and `ChessNN` in `neural_network`, as in the document's imports.
- Randomness starts from NumPy's global generator: `np.random.seed` makes a search repeatable.

The search runs on the core: no transpositions, one leaf at a time, no rollouts, no proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import chess
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.classic import formulas
from sylvan.classic.chess_game import POLICY_SIZE, ChessGame, boards_of
from sylvan.classic.neural_network import ChessNN
from sylvan.classic.predictions import legal_logits
from sylvan.errors import ConfigError, EvaluationError, GameOver
from sylvan.planning import Leaves, NodeView, Search, SearchConfig, SearchResult

__all__ = ["MCTS", "ChessGame", "ChessNN", "Node", "puct"]


@dataclass(eq=False)
class Node:
    """A position in the tree, with the statistics of the move that led there.

    >>> node = Node(prior=0.5)
    >>> node.q_value
    0.0
    >>> node.visit_count, node.total_value = 4, -1.0
    >>> node.q_value
    -0.25
    """

    prior: float
    visit_count: int = field(default=0, init=False)
    total_value: float = field(default=0.0, init=False)
    """For the player to move here."""
    children: dict[chess.Move, Node] = field(default_factory=dict, init=False, repr=False)

    @property
    def q_value(self) -> float:
        """The mean value for the player to move here; 0, a draw, before the first visit."""
        return self.total_value / self.visit_count if self.visit_count else 0.0


def puct(parent: Node, child: Node, c_puct: float = 1.0) -> float:
    """The score of a child at its parent, -Q + c_puct * P * sqrt(N of the parent) / (1 + N)."""
    config = formulas.puct_settings(c_puct)
    return formulas.puct(config, -child.q_value, child.prior, child.visit_count, parent.visit_count)


class Predictor(Protocol):
    """The network of a search: `ChessNN`, or any object with this method."""

    def predict(self, boards: NDArray[np.float32], /) -> tuple[ArrayLike, ArrayLike]:
        """Map boards `[n, 8, 8, 18]` to probabilities `[n, 4672]` and values `[n]`."""


class MCTS:
    """Monte Carlo tree search around a network; a new tree for every search."""

    def __init__(
        self,
        neural_network: Predictor,
        num_simulations: int = 100,
        c_puct: float = 1.0,
        dirichlet_alpha: float = 0.3,
        dirichlet_epsilon: float = 0.25,
    ) -> None:
        """Store the settings; the search builds the rest."""
        self.neural_network = neural_network
        self.num_simulations = num_simulations
        self.c_puct = c_puct
        self.dirichlet_alpha = dirichlet_alpha
        self.dirichlet_epsilon = dirichlet_epsilon
        self._result: SearchResult | None = None
        self._config(temperature=1.0, add_noise=False, seed=0)  # refuse a wrong setting now

    def search(
        self, game: ChessGame, temperature: float = 1.0, add_noise: bool = False
    ) -> chess.Move:
        """Search and select a move.

        Args:
            game: the position; not changed
            temperature: 0 takes the most visited move, 1 draws in proportion to visits
            add_noise: noise on the root's priors, for self-play

        :raises ValueError: the game is over.
        """
        return self.get_policy(game, temperature, add_noise)[0]

    def get_policy(
        self, game: ChessGame, temperature: float = 1.0, add_noise: bool = False
    ) -> tuple[chess.Move, NDArray[np.float64]]:
        """Search; return the selected move and the shares of the visits, `[4672]`.

        The shares are the training target, whatever the temperature. If no move was visited, they
        are the priors. Arguments and errors are those of `search`.
        """
        if not isinstance(game, ChessGame):
            raise ConfigError(f"game is a {type(game).__name__}: give a ChessGame.")
        if game.is_game_over():
            raise GameOver("The game is over: search a position that still has a move.")
        config = self._config(temperature, add_noise, seed=int(np.random.randint(2**62)))
        result = Search(self._evaluate, config).run(game.state)
        self._result = result
        self.__dict__.pop("root", None)
        visits = np.zeros(POLICY_SIZE)
        for edge in result.tree.root.edges:
            visits[edge.action] = edge.N
        policy = visits if visits.any() else result.policy.astype(np.float64)
        return game.get_move_from_index(result.action), policy / policy.sum()

    @cached_property
    def root(self) -> Node:
        """The tree of the last search as nodes, read from the core at the first use."""
        if self._result is None:
            return Node(prior=1.0)
        return _read(self._result.tree.root)

    def _config(self, temperature: float, add_noise: bool, seed: int) -> SearchConfig:
        named: dict[str, Any] = {
            "num_simulations": self.num_simulations,
            "c_puct": self.c_puct,
            "dirichlet_alpha": self.dirichlet_alpha,
            "dirichlet_epsilon": self.dirichlet_epsilon,
            "temperature": temperature,
            "add_noise": add_noise,
        }
        config = SearchConfig(**named, seed=seed, fpu="zero", proofs=False, prior_bits=32)
        # The document's first simulation is the root's own evaluation.
        return config.replace(simulations=max(self.num_simulations - 1, 0))

    def _evaluate(self, leaves: Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        boards = boards_of(leaves.observations)
        policies, values = map(np.asarray, self.neural_network.predict(boards))
        n = len(leaves)
        if policies.shape != (n, POLICY_SIZE) or values.size != n:
            raise EvaluationError(
                f"predict gave probabilities of shape {policies.shape} and values of shape "
                f"{values.shape} for {n} boards: it must give ({n}, {POLICY_SIZE}) and ({n},)."
            )
        rows = np.repeat(np.arange(n), np.diff(leaves.offsets))
        logits = legal_logits(policies[rows, leaves.actions], leaves.offsets)
        return logits, values.reshape(n).astype(np.float32)


def _read(view: NodeView) -> Node:
    """Copy the core's tree; a node's value sum is for its own player to move."""
    root = Node(prior=1.0)
    root.visit_count, root.total_value = view.N, view.W[view.seat or 0]
    waiting = [(root, view)]
    while waiting:
        node, view = waiting.pop()
        game = view.state
        for edge in view.edges:
            child = Node(edge.P)
            child.visit_count, child.total_value = edge.N, -edge.W  # the opponent moves next
            node.children[chess.Move.from_uci(game.action_to_string(edge.action))] = child
            if edge.child is not None:
                waiting.append((child, edge.child))
    return root
