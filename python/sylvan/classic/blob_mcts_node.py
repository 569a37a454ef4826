"""The document `blob-mcts-node`: nodes of a tree over Blob, for three to eight players.

    root = MCTSNode(game, game.current_player)
    root.expand(action_probs, game.get_legal_actions())
    child = root.select_child(c_puct=1.5)
    child.backpropagate([0.8, 0.0, 0.1, 0.3])          # one value per player
    root.select_action(temperature=0)

- A node keeps a copy of its game, so later moves in the caller's game do not change the tree. The
  states of children are made when they are first needed.
- A node has a sum of values per player; the player who chooses at a node looks at its own sum. A
  vector given to `backpropagate` is credited to all players. A single number is credited only to
  the player who chose the node. `total_value` and `mean_value` are that player's.
- The mean of a player is over the values that it was credited with, so a visit without a value
  does not change it. An unvisited child counts as much as its parent's mean.
- The game says whose turn it is. A wrong `player` is ignored with a warning, and so is a
  `visit_count` set by hand.

Selection is PUCT; the document calls it UCB1. A node over a whole game sees every hand, which no
fair player can; over `game.observe(player)` it sees one. `MCTS` searches fairly.
"""

from __future__ import annotations

import math
import warnings
from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sylvan.classic.blob_game import BlobGame, Player
from sylvan.classic.blob_mcts import MCTS
from sylvan.classic.formulas import puct, puct_settings, tempered
from sylvan.errors import ConfigError, EvaluationError, IllegalAction, SearchStateError

__all__ = ["MCTS", "BlobGame", "MCTSNode", "Player"]


class MCTSNode:
    """A position of the tree, with the statistics of the action that led there.

    >>> game = BlobGame(num_players=3)
    >>> game.setup_round(cards_to_deal=2, seed=1)
    >>> root = MCTSNode(game, game.current_player)
    >>> root.expand({0: 0.2, 1: 0.5, 2: 0.3}, game.get_legal_actions())
    >>> child = root.select_child()
    >>> child.backpropagate([0.0, 0.8, 0.1])
    >>> child.action_taken, child.mean_value, root.visit_count
    (1, 0.8, 1)
    """

    # A tree has thousands of nodes: slots, and no sums before the first visit.
    __slots__ = ("_children", "_game", "_prior", "_sums", "_visits", "action_taken", "parent")

    def __init__(
        self,
        game_state: BlobGame,
        player: Player | None,
        parent: MCTSNode | None = None,
        action_taken: int | None = None,
        prior_prob: float = 0.0,
    ) -> None:
        """Create an unvisited node.

        Args:
            game_state: the position; the node copies it
            player: whose turn it is; must agree with the game
            parent: the node above
            action_taken: the action that leads from the parent to this node
            prior_prob: its prior
        """
        if not isinstance(game_state, BlobGame):
            raise ConfigError(f"game_state is a {type(game_state).__name__}: give a BlobGame.")
        self._start(parent, action_taken, _prior(prior_prob, action_taken), game_state.copy())
        if player is not None and (turn := self.player) != player:
            whose = "the round is over" if turn is None else f"it is {turn}'s turn"
            warnings.warn(
                f"{player} was named, but {whose}: the game says who moves.", UserWarning, 2
            )

    def _start(
        self,
        parent: MCTSNode | None,
        action_taken: int | None,
        prior_prob: float,
        game: BlobGame | None = None,
    ) -> None:
        self.parent, self.action_taken, self._prior = parent, action_taken, prior_prob
        self._visits = 0
        self._game = game
        self._children: tuple[MCTSNode, ...] | None = None
        self._sums: array[float] | None = None
        """Per player the sum of its values, then per player how many there were."""

    @property
    def _state(self) -> BlobGame:
        """The node's own game, which is never changed."""
        if self._game is None:
            assert self.parent is not None and self.action_taken is not None
            self._game = self.parent._simulate_action(self.action_taken)
        return self._game

    @property
    def game_state(self) -> BlobGame:
        """The position, as a copy."""
        return self._state.copy()

    @property
    def player(self) -> Player | None:
        """The player to move; None when the round is over."""
        return self._get_next_player(self.game_state)

    @property
    def _seat(self) -> int | None:
        """The seat to move; None when the round is over."""
        player = self._get_next_player(self._state)
        return None if player is None else player.position

    @property
    def chooser(self) -> int | None:
        """The seat that chose this node: the one that moved into it, at a root the seat to move;
        None where no seat does.
        """
        return self._seat if self.parent is None else self.parent._seat

    @property
    def _seats(self) -> int:
        """The number of players, which needs no state to be made."""
        node = self
        while node._game is None and node.parent is not None:
            node = node.parent
        return node._state.num_players

    @property
    def children(self) -> Mapping[int, MCTSNode]:
        """By action, read-only; empty before `expand`."""
        return MappingProxyType({int(c.action_taken or 0): c for c in self._children or ()})

    @property
    def is_expanded(self) -> bool:
        """Whether `expand` was called."""
        return self._children is not None

    @property
    def prior_prob(self) -> float:
        """The prior, a finite number that is not negative."""
        return self._prior

    @prior_prob.setter
    def prior_prob(self, prior: float) -> None:
        self._prior = _prior(prior, self.action_taken)

    @property
    def visit_count(self) -> int:
        """Visits, counted by `backpropagate`."""
        return self._visits

    @visit_count.setter
    def visit_count(self, visits: int) -> None:
        warnings.warn(
            f"visit_count was set to {visits} by hand, which is ignored: a visit without a value "
            "would move the mean; call backpropagate.",
            UserWarning,
            2,
        )

    @property
    def W(self) -> list[float]:  # noqa: N802
        """The sum of values of each player."""
        seats = self._seats
        return [0.0] * seats if self._sums is None else list(self._sums[:seats])

    @property
    def credits(self) -> list[int]:
        """How many values each player was credited with."""
        seats = self._seats
        return [0] * seats if self._sums is None else [int(n) for n in self._sums[seats:]]

    def _credited(self, seat: int | None) -> tuple[float, float]:
        """The sum of a player's values, and how many there were."""
        if seat is None or self._sums is None:
            return 0.0, 0.0
        return self._sums[seat], self._sums[len(self._sums) // 2 + seat]

    def _mean(self, seat: int | None) -> float:
        """The mean value of a player; 0 before the first."""
        total, count = self._credited(seat)
        return total / count if count else 0.0

    @property
    def total_value(self) -> float:
        """The sum of values of the player who chose the node."""
        return self._credited(self.chooser)[0]

    @total_value.setter
    def total_value(self, value: float) -> None:
        seat = self.chooser
        if seat is None or self._sums is None or not self._credited(seat)[1]:
            raise SearchStateError(
                "The node has no value to replace: backpropagate one, which counts the visit too."
            )
        self._sums[seat] = _finite(value)

    @property
    def mean_value(self) -> float:
        """The mean value of the player who chose the node; 0 before the first."""
        return self._mean(self.chooser)

    @mean_value.setter
    def mean_value(self, value: float) -> None:
        self.total_value = _finite(value) * self._credited(self.chooser)[1]

    def is_leaf(self) -> bool:
        """Whether it was not expanded."""
        return self._children is None

    def is_root(self) -> bool:
        """Whether it has no parent."""
        return self.parent is None

    def select_child(self, c_puct: float = 1.5) -> MCTSNode:
        """The child with the highest score; ties: the higher prior, then the lower action."""
        if not self._children:
            raise SearchStateError("The node has no children to select from: expand it first.")
        seat = self._seat

        def key(child: MCTSNode) -> tuple[float, float, int]:
            return self._score(child, c_puct, seat), child._prior, -(child.action_taken or 0)

        return max(self._children, key=key)

    def _ucb1_score(self, child: MCTSNode, c_puct: float = 1.5) -> float:
        """PUCT: Q + c_puct * P * sqrt(N) / (1 + n), with Q of the player who chooses here.

        N is this node's visit count, at least 1. An unvisited child's Q is this node's mean.
        """
        return self._score(child, c_puct, self._seat)

    def _score(self, child: MCTSNode, c_puct: float, seat: int | None) -> float:
        q = (child if child._credited(seat)[1] else self)._mean(seat)
        settings, visits = puct_settings(c_puct), max(self._visits, 1)
        return puct(settings, q, child._prior, child._visits, visits)

    def expand(self, action_probs: Mapping[int, float], legal_actions: Sequence[int]) -> None:
        """Create a child per legal action.

        A missing prior is an equal share. Priors are normalised over the legal actions; if all are
        0, they are equal.

        :raises ValueError: there are no legal actions, or the game does not have one of them.
        :raises SearchStateError: the node is expanded already.
        """
        if self._children is not None:
            raise SearchStateError(
                "The node is expanded already: set the prior_prob of its children to change them."
            )
        actions = list(dict.fromkeys(int(action) for action in legal_actions))
        if not actions:
            raise ConfigError("legal_actions are empty: a round that is over has no children.")
        legal = self._state.get_legal_actions()
        if illegal := set(actions) - set(legal):
            raise IllegalAction(f"Action {min(illegal)} is not legal here: choose from {legal}.")
        even = 1 / len(actions)
        priors = [_prior(action_probs.get(action, even), action) for action in actions]
        total = sum(priors)
        shares = [prior / total if total else even for prior in priors]
        self._children = tuple(map(self._child, actions, shares))

    def _child(self, action: int, prior: float) -> MCTSNode:
        """A child whose state is not made yet."""
        child = MCTSNode.__new__(MCTSNode)
        child._start(self, action, prior)
        return child

    def _simulate_action(self, action: int) -> BlobGame:
        """The position after an action, as a new game."""
        game = self.game_state
        player = self._get_next_player(game)
        if player is None:
            raise IllegalAction(f"Action {action} follows the end of the round.")
        game.apply_action(action, player)
        return game

    def _get_next_player(self, game_state: BlobGame) -> Player | None:
        """The player to move in a game; None when the round is over."""
        return game_state.current_player

    def backpropagate(self, value: float | Sequence[float]) -> None:
        """Count a visit of this node and of every node above it, and credit values.

        Args:
            value: one per player, or a single number for the player who chose this node
        """
        seats = self._seats
        if isinstance(value, int | float | np.floating | np.integer):
            seat = self.chooser
            credited = {} if seat is None else {seat: _finite(value)}
        else:
            credited = {seat: _finite(each) for seat, each in enumerate(value)}
            if len(credited) != seats:
                raise EvaluationError(
                    f"There are {len(credited)} values for {seats} players: give one for each, or "
                    "a single number."
                )
        node: MCTSNode | None = self
        while node is not None:
            node._visits += 1
            if node._sums is None:
                node._sums = array("d", bytes(16 * seats))
            for seat, number in credited.items():
                node._sums[seat] += number
                node._sums[seats + seat] += 1
            node = node.parent

    def get_action_probabilities(self, temperature: float = 1.0) -> dict[int, float]:
        """Shares of visits to the power of 1 / temperature, by action; 0 takes the most visited.

        If no child was visited, the shares are those of the priors.
        """
        children = self.children
        if not children:
            return {}
        visited = any(child._visits for child in children.values())
        weights = {a: float(c._visits if visited else c.prior_prob) for a, c in children.items()}
        if temperature == 0:
            best = max(weights, key=lambda a: (weights[a], children[a].prior_prob, -a))
            return {action: float(action == best) for action in weights}
        return tempered(weights, temperature)

    def select_action(self, temperature: float = 1.0) -> int:
        """Draw an action from `get_action_probabilities`."""
        shares = self.get_action_probabilities(temperature)
        if not shares:
            raise SearchStateError("The node has no children to choose from: expand it first.")
        return int(np.random.choice(list(shares), p=list(shares.values())))

    def __repr__(self) -> str:
        kind = "root" if self.is_root() else f"action {self.action_taken}"
        return (
            f"<MCTSNode {kind} visits={self.visit_count} value={self.mean_value:.3f} "
            f"prior={self.prior_prob:.3f} children={len(self.children)}>"
        )


def _prior(value: float, action: int | None) -> float:
    """The prior of an action, or of a root."""
    prior = float(value)
    if not (math.isfinite(prior) and prior >= 0):
        named = "The root" if action is None else f"Action {action}"
        raise EvaluationError(f"{named} has the prior {prior}: give a probability, 0 or more.")
    return prior


def _finite(value: float) -> float:
    """A number that can be added to a sum."""
    number = float(value)
    if not math.isfinite(number):
        raise EvaluationError(f"The value {value} is not finite: give numbers.")
    return number
