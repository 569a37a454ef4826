"""The document `blob-mcts-node`: nodes of a tree over Blob, for three to eight players.

    root = MCTSNode(game, game.current_player)
    root.expand(action_probs, game.get_legal_actions())
    child = root.select_child(c_puct=1.5)
    child.backpropagate([0.8, 0.0, 0.1, 0.3])          # one value per player
    root.select_action(temperature=0)

- A node has a sum of values per player; whoever chooses at a node looks at its own. A vector given
  to `backpropagate` credits everybody, a single number is the value of the player who chose into
  the node and credits that player alone. `total_value` and `mean_value` are that player's.
- Whose turn it is, the game alone says. Naming another player is a warning, and so is setting a
  count by hand: both are ignored.
- A player's mean is over the values that the player was credited with: a visit without a value
  moves nothing. An untried child is worth what its parent is, so far.
- The state of a child is made when it is asked for.

Selection is PUCT, which the document calls UCB1. A node over a whole game sees every hand, which is
a bound from above on what a fair player can do; over `game.observe(player)` it cannot. A whole
search that plays fair is `sylvan.Search(...).run(blob.observe(seat))`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from sylvan import reference
from sylvan.classic.blob_game import BlobGame, Player
from sylvan.errors import ConfigError, EvaluationError, IllegalAction, SearchStateError
from sylvan.planning import SearchConfig
from sylvan.reference.node import f32
from sylvan.reference.selection import puct_score

__all__ = ["BlobGame", "MCTSNode", "Player"]


class MCTSNode(reference.Node):
    """A position of the tree, with the statistics of the action that led there.

    It is the reference's node under the document's names.

    >>> game = BlobGame(num_players=3)
    >>> game.setup_round(cards_to_deal=2, seed=1)
    >>> root = MCTSNode(game, game.current_player)
    >>> root.expand({0: 0.2, 1: 0.5, 2: 0.3}, game.get_legal_actions())
    >>> child = root.select_child()
    >>> child.backpropagate([0.0, 0.8, 0.1])
    >>> child.action_taken, child.mean_value, root.visit_count
    (1, 0.8, 1)
    """

    children: dict[int, MCTSNode]  # type: ignore[assignment]

    def __init__(
        self,
        game_state: BlobGame | None,
        player: Player | None,
        parent: MCTSNode | None = None,
        action_taken: int | None = None,
        prior_prob: float = 0.0,
    ) -> None:
        """A node that was not visited.

        Args:
            game_state: the position; None: what follows from the parent and the action
            player: whose turn it is, which the game knows better
            parent: the node above
            action_taken: what led from there to here
            prior_prob: its prior
        """
        if game_state is not None:
            seats = game_state.num_players
        elif parent is not None and action_taken is not None:
            seats = len(parent.W)
        else:
            raise ConfigError("A node without a game state needs a parent and an action.")
        super().__init__(f32(prior_prob), action_taken or 0, W=[0.0] * seats)
        self.parent, self.action_taken, self.prior_prob = parent, action_taken, prior_prob
        self.credits = [0] * seats
        """Values that each player was credited with."""
        self.is_expanded = False
        self._game_state: BlobGame | None = None
        if game_state is not None:
            self._stand(game_state)
            if player is not None and player.position != self.seat:
                turn = "the round is over" if self.player is None else f"it is {self.player}'s turn"
                warnings.warn(
                    f"{player} was named, but {turn}: the game says who moves.", UserWarning, 2
                )

    def _stand(self, game: BlobGame) -> BlobGame:
        """Take a position, and note whose turn it is there."""
        player = self._get_next_player(game)
        self.kind, self.seat = ("terminal", -1) if player is None else ("decision", player.position)
        self._game_state = game
        return game

    @property
    def game_state(self) -> BlobGame:
        """The position."""
        if self._game_state is not None:
            return self._game_state
        assert self.parent is not None and self.action_taken is not None
        return self._stand(self.parent._simulate_action(self.action_taken))

    @property
    def player(self) -> Player | None:
        """Whose turn it is; None when the round is over."""
        game = self.game_state
        return None if self.seat < 0 else Player(game, self.seat)

    @property
    def chooser(self) -> int:
        """The seat whose choice the node is: who moved into it, and at a root who moves; -1 where
        nobody does.
        """
        return self.seat if self.parent is None else self.parent.seat

    @property
    def visit_count(self) -> int:
        """Visits, which `backpropagate` counts."""
        return self.N

    @visit_count.setter
    def visit_count(self, visits: int) -> None:
        warnings.warn(
            f"visit_count was set to {visits} by hand, which is ignored: a visit without a value "
            "would move the mean; call backpropagate.",
            UserWarning,
            2,
        )

    @property
    def total_value(self) -> float:
        """Sum of values of the player who chose the node."""
        return self.W[self.chooser] if self.chooser >= 0 else 0.0

    @property
    def mean_value(self) -> float:
        """Mean value of the player who chose the node; 0 before the first."""
        return self._mean(self.chooser)

    def _mean(self, seat: int) -> float:
        return self.W[seat] / self.credits[seat] if seat >= 0 and self.credits[seat] else 0.0

    def is_leaf(self) -> bool:
        """Whether it was not expanded."""
        return not self.is_expanded

    def is_root(self) -> bool:
        """Whether it has no parent."""
        return self.parent is None

    def select_child(self, c_puct: float = 1.5) -> MCTSNode:
        """The child with the highest score; ties: the higher prior, then the lower action."""
        if not self.children:
            raise SearchStateError("The node has no children to select from: expand it first.")
        return max(
            self.children.values(),
            key=lambda child: (self._ucb1_score(child, c_puct), child.prior_prob, -child.action),
        )

    def _ucb1_score(self, child: MCTSNode, c_puct: float = 1.5) -> float:
        """PUCT: Q + c_puct * P * sqrt(N) / (1 + n), Q for the player who chooses here.

        N are the visits of this node, at least 1; an untried child has this node's own value.
        """
        q = (child if child.credits[self.seat] else self)._mean(self.seat)
        explore = f32(_config(c_puct).exploration(float(max(self.N, 1))))
        return float(puct_score(f32(q), child.prior, child.N, explore))

    def expand(self, action_probs: Mapping[int, float], legal_actions: Sequence[int]) -> None:
        """A child for each legal action; a prior that is missing is an equal share.

        :raises ValueError: there are no legal actions, or the game does not have one of them.
        """
        actions = [int(action) for action in legal_actions]
        if not actions:
            raise ConfigError("legal_actions are empty: a round that is over has no children.")
        illegal = set(actions) - set(self.game_state.get_legal_actions())
        if illegal:
            raise IllegalAction(
                f"Action {min(illegal)} is not legal here: choose from "
                f"{self.game_state.get_legal_actions()}."
            )
        for action in actions:
            prior = float(action_probs.get(action, 1 / len(actions)))
            if not (math.isfinite(prior) and prior >= 0):
                raise EvaluationError(f"Action {action} has the prior {prior}: give a share.")
            self.children[action] = MCTSNode(None, None, self, action, prior)
        self.is_expanded = True

    def _simulate_action(self, action: int) -> BlobGame:
        """The position after an action, on a copy."""
        game = self.game_state.copy()
        player = self._get_next_player(game)
        if player is None:
            raise IllegalAction(f"Action {action} follows the end of the round.")
        game.apply_action(action, player)
        return game

    def _get_next_player(self, game_state: BlobGame) -> Player | None:
        """Whose turn it is in a game; None when the round is over."""
        return game_state.current_player

    def backpropagate(self, value: float | Sequence[float]) -> None:
        """Count a visit here and at every node above, and credit values.

        Args:
            value: one per player, or a single number for the player who chose this node
        """
        if isinstance(value, int | float | np.floating | np.integer):
            credited = {self.chooser: float(value)} if self.chooser >= 0 else {}
        else:
            credited = {seat: float(each) for seat, each in enumerate(value)}
            if len(credited) != len(self.W):
                raise EvaluationError(
                    f"There are {len(credited)} values for {len(self.W)} players: give one for "
                    "each, or a single number."
                )
        if not all(map(math.isfinite, credited.values())):
            raise EvaluationError(f"The value {value} is not finite: give numbers.")
        node: MCTSNode | None = self
        while node is not None:
            node.N += 1
            for seat, number in credited.items():
                node.W[seat] += number
                node.credits[seat] += 1
            node = node.parent

    def get_action_probabilities(self, temperature: float = 1.0) -> dict[int, float]:
        """Shares of visits to the power of 1 / temperature, by action; 0 takes the most visited.

        Where no child was visited, the shares are those of the priors.
        """
        if not self.children:
            return {}
        if not 0 <= temperature < math.inf:
            raise ConfigError(f"temperature is {temperature}: it must be a number from 0 on.")
        visited = any(child.N for child in self.children.values())
        weights = {a: float(c.N if visited else c.prior) for a, c in self.children.items()}
        top = max(weights.values())
        if temperature == 0:
            best = max(weights, key=lambda a: (weights[a], self.children[a].prior_prob, -a))
            return {action: float(action == best) for action in weights}
        if top == 0:
            return dict.fromkeys(weights, 1 / len(weights))
        shares = {
            a: math.exp(math.log(w / top) / temperature) if w else 0.0 for a, w in weights.items()
        }
        total = sum(shares.values())
        return {action: share / total for action, share in shares.items()}

    def select_action(self, temperature: float = 1.0) -> int:
        """An action, drawn from `get_action_probabilities`."""
        shares = self.get_action_probabilities(temperature)
        if not shares:
            raise SearchStateError("The node has no children to choose from: expand it first.")
        return int(np.random.choice(list(shares), p=list(shares.values())))

    def __repr__(self) -> str:
        kind = "root" if self.is_root() else f"action {self.action_taken}"
        return (
            f"<MCTSNode {kind} visits={self.N} value={self.mean_value:.3f} "
            f"prior={self.prior_prob:.3f} children={len(self.children)}>"
        )

    __str__ = __repr__
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@lru_cache(maxsize=16)
def _config(c_puct: float) -> SearchConfig:
    return SearchConfig(c_puct=c_puct)
