"""The document `muzero-chess`: a search with a learned model.

    action = select_action(network, MCTSConfig(), observation, legal_actions, temperature=1.0)

    root = RootNode(0, None)      # may have a hidden state and children
    actions, probabilities = MCTS(network, config).run(root, observation, legal_actions)

- A network has `initial_inference(observation)`, `recurrent_inference(hidden, action)` and
  `prediction(hidden)`, with PyTorch or NumPy, in one of the forms in `network_outputs`. A value is
  for the player to move, a reward for the player who made the step.
- A node's `value_sum` is for the player to move *there*. The player who chooses an action uses
  `Q = reward - discount * value` with two players and `reward + discount * value` with one, scaled
  to 0..1 by known bounds, or by the least and greatest Q seen.
- Legal actions are known at the root only; below it every action may be chosen.
- The root's own evaluation is its first visit: after n simulations it has n + 1 visits.
- The core does the document's private steps (`_select_child`, `_expand_node`, `_backup`). A second
  search of a root continues its tree; visits set by hand are refused.
- Randomness starts from NumPy's global generator, as in the document.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Real

import numpy as np

from sylvan.classic.chess_environment import ChessEnvironment
from sylvan.classic.formulas import tempered
from sylvan.classic.latent_nodes import Node, Nodes, RootNode
from sylvan.classic.latent_tree import LatentTree
from sylvan.classic.muzero_network import MuZeroNetwork
from sylvan.classic.muzero_settings import MCTSConfig, MuZeroConfig
from sylvan.classic.network_outputs import LearnedNetwork, NetworkOutput, at_first, at_hidden
from sylvan.classic.predictions import legal_logits
from sylvan.errors import ConfigError, GameOver, SearchStateError
from sylvan.planning.model_arrays import Array

__all__ = [
    "MCTS",
    "ChessEnvironment",
    "MCTSConfig",
    "MuZeroConfig",
    "MuZeroNetwork",
    "NetworkOutput",
    "Node",
    "RootNode",
    "mask_policy",
    "select_action",
]


class MCTS:
    """Monte Carlo tree search with a learned model.

    >>> class Even:
    ...     '''Only knows that action 2 pays.'''
    ...     def initial_inference(self, observation):
    ...         return observation, np.zeros(3), 0.0
    ...     def recurrent_inference(self, hidden, action):
    ...         return hidden, float(action == 2)
    ...     def prediction(self, hidden):
    ...         return np.zeros(3), 0.0
    >>> mcts = MCTS(Even(), MCTSConfig.control())
    >>> actions, probabilities = mcts.run(RootNode(0, None), np.zeros(1), [0, 1, 2])
    >>> actions[np.argmax(probabilities)], len(mcts.nodes)
    (2, 51)
    """

    def __init__(self, network: LearnedNetwork, config: object) -> None:
        """Store the network and the settings."""
        self.network = network
        self.config = config
        self.nodes = Nodes(None)
        """The visited nodes of the last search, by paths of actions; also during a search."""
        self._settings.search_config()  # refuse a wrong setting now

    @property
    def root(self) -> Node | None:
        """The root of the last search."""
        return self.nodes.root

    @property
    def _settings(self) -> MCTSConfig:
        """The current settings, with defaults for those that the document's class lacks."""
        return MCTSConfig.of(self.config)

    def run(
        self, root: Node, observation: Array, legal_actions: Sequence[int]
    ) -> tuple[tuple[int, ...], list[float]]:
        """Search from a root; continue its tree if it was searched before.

        Args:
            root: if it lacks a hidden state, it gets that of the observation; if it lacks children,
                it gets those of the legal actions
            observation: input of the network
            legal_actions: the codes of the legal actions

        Returns:
            The actions and their shares of the visits; without simulations, their priors.

        :raises GameOver: there is no legal action.
        :raises SearchStateError: the root has visits that no search with this network and these
            settings made.
        """
        legal, settings = _codes(legal_actions), self._settings
        self._check(root, legal, settings)
        if root.tree is None:
            root.show(self._planted(root, observation, legal, settings), ())
        assert isinstance(root.tree, LatentTree)
        self.nodes.root = root
        root.tree.search(settings.num_simulations)
        children = [root.children[action] for action in legal]
        weights: list[float] = [child.visit_count for child in children]
        weights = weights if any(weights) else [child.prior for child in children]
        return tuple(legal), [weight / sum(weights) for weight in weights]

    def _check(self, root: Node, legal_actions: Sequence[int], settings: MCTSConfig) -> None:
        """Refuse a root or actions that cannot be searched."""
        if not isinstance(root, Node):
            raise ConfigError(f"root is a {type(root).__name__}: give a RootNode(prior, hidden).")
        legal = set(legal_actions)
        if not legal:
            raise GameOver("There is no legal action: search a position that still has a move.")
        if len(legal) < len(legal_actions):
            raise ConfigError(f"legal_actions name one action twice: {legal_actions}.")
        if root.expanded() and set(root.children) != legal:
            raise ConfigError(
                f"The root has children for {sorted(root.children)}, but legal_actions are "
                f"{sorted(legal)}: give the same."
            )
        players = settings.num_players
        if root.to_play not in (None, *range(players)):
            raise ConfigError(f"to_play is {root.to_play!r}: it must be from 0 to {players - 1}.")
        _check_visits(root, self.network, settings)

    def _planted(
        self, root: Node, observation: Array, legal: Sequence[int], settings: MCTSConfig
    ) -> LatentTree:
        """Plant a tree in the core; existing children give the priors."""
        if root.hidden_state is None:
            first = at_first(self.network, observation)
        else:
            first = at_hidden(self.network, root.hidden_state)
        logits = mask_policy(first.policy_logits, legal)
        if root.expanded():
            priors = [root.children[action].prior for action in legal]
            logits[legal] = legal_logits(priors, [0, len(priors)])
        first = first._replace(policy_logits=logits)
        return LatentTree(self.network, settings, first, legal, root.to_play or 0)


def mask_policy(policy: Array, legal_actions: Sequence[int]) -> Array:
    """Logits `[A]`, of PyTorch or NumPy, with -inf for illegal actions.

    If no legal action has a finite logit, all legal ones get 0.

    >>> mask_policy(np.array([1.0, 2.0, 3.0]), [0, 2]).tolist()
    [1.0, -inf, 3.0]
    """
    legal = _codes(legal_actions)
    wrong = [action for action in legal if not 0 <= action < len(policy)]
    if wrong:
        raise ConfigError(
            f"Action {wrong[0]} is legal, but the network knows {len(policy)}: give codes from 0 "
            f"to {len(policy) - 1}."
        )
    if hasattr(policy, "new_full"):
        masked = policy.new_full(policy.shape, -float("inf"))
    else:
        policy = np.asarray(policy, getattr(policy, "dtype", float))
        masked = np.full_like(policy, -np.inf)
    masked[legal] = policy[legal] if (policy[legal] > -float("inf")).any() else 0.0
    return masked


def select_action(
    network: LearnedNetwork,
    config: object,
    observation: Array,
    legal_actions: Sequence[int],
    temperature: float = 1.0,
) -> int:
    """Search and select an action.

    Args:
        network: the learned model
        config: an `MCTSConfig`
        observation: input of the network
        legal_actions: the codes of the legal actions
        temperature: 0 takes the most visited action, 1 draws in proportion to visits

    :raises GameOver: there is no legal action.
    """
    _check_temperature(temperature)
    root = RootNode(0, None)
    actions, shares = MCTS(network, config).run(root, observation, legal_actions)
    if temperature == 0:
        children = root.children
        return max(
            actions, key=lambda action: (children[action].visit_count, children[action].prior)
        )
    drawn = tempered(dict(zip(actions, shares, strict=True)), temperature)
    return int(np.random.choice(actions, p=list(drawn.values())))


def _codes(legal_actions: Iterable[int]) -> list[int]:
    """Codes of actions as a list.

    :raises ConfigError: one is not a whole number: 0.5 is not action 0, nor True action 1.
    """
    try:
        given = list(legal_actions)
        if not any(isinstance(action, bool) for action in given):
            return [operator.index(action) for action in given]
    except TypeError:
        pass
    raise ConfigError(
        f"legal_actions is {reprlib.repr(legal_actions)}: give a list of action codes, which are "
        "whole numbers."
    )


def _check_temperature(given: float) -> None:
    if not isinstance(given, Real) or not 0 <= float(given) < np.inf:
        raise ConfigError(f"temperature is {given!r}: it must be a number, 0 or more.")


def _check_visits(root: Node, network: LearnedNetwork, settings: MCTSConfig) -> None:
    """Refuse a root with visits that no search with these settings made."""
    if root.tree is None:
        children = root.children.values()
        if root.visit_count or any(child.visit_count or child.expanded() for child in children):
            raise SearchStateError(
                f"The root has visit_count {root.visit_count} and visited children, set by hand: a "
                "search counts its own visits, so give a new RootNode."
            )
    elif root.path or root.tree.changed:
        what = f"lies {len(root.path)} steps inside a tree" if root.path else "was changed by hand"
        raise SearchStateError(
            f"The root {what}: search a new RootNode(0, hidden_state) from there."
        )
    elif not (isinstance(root.tree, LatentTree) and root.tree.fits(network, settings)):
        raise SearchStateError(
            "The root was searched with another network or other settings than num_simulations: "
            "give a new RootNode."
        )
