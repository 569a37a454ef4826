"""The document `muzero-chess`: a search over what a network has learned.

    action = select_action(network, MCTSConfig(), observation, legal_actions, temperature=1.0)

    root = RootNode(0, None)      # or with a hidden state, and children of one's own
    actions, probabilities = MCTS(network, config).run(root, observation, legal_actions)

- A network has `initial_inference(observation)`, `recurrent_inference(hidden, action)` and
  `prediction(hidden)`, of PyTorch or NumPy, in any of the forms that `network_outputs` names. A
  value is for the player to move, a reward for the player who made the step.
- A node's `value_sum` is for the player to move *there*. The player who chooses an action sees
  `Q = reward - discount * value` of two players, `reward + discount * value` of one, brought to
  0..1 between the bounds that are known, or between the least and greatest that were seen.
- Legal actions are known at the root only; below it every action is open.
- The root's own evaluation is its first visit: after n simulations it has n + 1.
- Randomness starts from NumPy's global generator, as in the document.

`run` runs on the core. `_select_child`, `_expand_node` and `_backup` are the same steps by hand,
with the reference's formulas; a root that has visits already is searched on by them.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from sylvan._native import Rng, softmax
from sylvan.classic.chess_environment import ChessEnvironment
from sylvan.classic.latent_nodes import Grown, Node, Nodes, RootNode
from sylvan.classic.muzero_network import MuZeroNetwork
from sylvan.classic.muzero_settings import MCTSConfig, MuZeroConfig
from sylvan.classic.network_outputs import Asked, NetworkOutput, after, at_first, at_hidden, numbers
from sylvan.classic.predictions import legal_logits
from sylvan.errors import ConfigError, GameOver
from sylvan.planning import LatentSearch
from sylvan.reference.node import TINY, f32
from sylvan.reference.selection import puct_score

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
    """Monte Carlo tree search around a learned model.

    >>> class Even:
    ...     '''Knows nothing, but that action 2 pays.'''
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

    def __init__(self, network: Any, config: Any) -> None:
        """Store both; nothing is asked before a search."""
        self.network = network
        self.config = config
        self.nodes = Nodes(None)
        """The tree of the last search, by paths of actions, as it stands."""
        self._seen = (np.inf, -np.inf)
        self._settings.search_config()  # a wrong setting is refused now

    @property
    def root(self) -> Node | None:
        """Where the last search started."""
        return self.nodes.root

    @property
    def _settings(self) -> MCTSConfig:
        """The settings as they are now; what the document's class lacks has its default."""
        return MCTSConfig.of(self.config)

    def run(
        self, root: Node, observation: Any, legal_actions: Sequence[int]
    ) -> tuple[tuple[int, ...], list[float]]:
        """Search from a root, which has children for the legal actions, or gets them.

        Args:
            root: where to start; without a hidden state it gets that of the observation
            observation: as the network takes it
            legal_actions: what the player to move may choose from

        Returns:
            actions and the shares of visits that they had (their priors without simulations)

        :raises GameOver: there is no legal action.
        """
        legal_actions = _codes(legal_actions)
        self._check(root, legal_actions)
        first = None if root.visit_count else self._said(root, observation)
        if first is not None:
            if not root.expanded():
                self._expand_node(root, first.policy_logits, legal_actions)
            root.hidden_state = first.hidden_state
        self.nodes.root = root
        touched = any(c.visit_count or c.expanded() for c in root.children.values())
        if first is None or touched:
            self._run_by_hand(root, first)
        else:
            self._run_on_the_core(root, first)
        return self._get_distributions(root)

    def _check(self, root: Node, legal_actions: Sequence[int]) -> None:
        """Refuse what cannot be searched; a root without a player to move gets player 0."""
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
        players = self._settings.num_players
        root.to_play = root.to_play or 0
        if root.to_play not in range(players):
            raise ConfigError(f"to_play is {root.to_play!r}: it must be from 0 to {players - 1}.")

    def _said(self, root: Node, observation: Any) -> NetworkOutput:
        """What the network says of the root."""
        if root.hidden_state is None:
            return at_first(self.network, observation)
        return at_hidden(self.network, root.hidden_state)

    def _run_on_the_core(self, root: Node, first: NetworkOutput) -> None:
        settings = self._settings
        noise = settings.add_noise and not getattr(root, "noisy", False)
        actions, children = zip(*root.children.items(), strict=True)
        logits = mask_policy(first.policy_logits, actions)
        logits[list(actions)] = legal_logits([c.prior for c in children], [0, len(children)])
        model = Asked(self.network, first._replace(policy_logits=logits), lambda: tree.grow(root))
        search = LatentSearch(
            model,
            settings.search_config(noise=noise, seed=int(np.random.randint(2**62))),
            num_players=settings.num_players,
            whole=True,
        )
        tree = Grown(search, model)
        try:
            search.search(np.zeros((1, 0)), [actions], seats=[root.to_play or 0])
        finally:  # also where the network raised: what was found until then counts
            tree.grow(root, last=True)
            del model.asking  # which refers to the tree that refers to it
            if isinstance(root, RootNode):
                root.noisy = root.noisy or noise

    def _run_by_hand(self, root: Node, first: NetworkOutput | None) -> None:
        """The document's own loop."""
        settings = self._settings
        if first is not None:
            self._backup([root], first.value)
        if settings.add_noise:
            self._add_exploration_noise(root)
        self._seen = self._range(root)
        for _ in range(settings.num_simulations):
            search_path, action = [root], 0
            while search_path[-1].expanded():
                action, node = self._select_child(search_path[-1])
                search_path.append(node)
            parent, node = search_path[-2:]
            output = after(self.network, parent.hidden_state, action)
            node.hidden_state, node.reward = output.hidden_state, output.reward
            self._expand_node(node, output.policy_logits, self._kept(output))
            self._backup(search_path, output.value)

    def _kept(self, output: NetworkOutput) -> list[int]:
        """The actions below the root: all, or those of the highest logits."""
        logits = output.policy_logits
        highest = np.argsort(-logits, kind="stable")[: self._settings.top_k]
        return sorted(int(action) for action in highest if logits[action] > -np.inf)

    def _select_child(self, node: Node) -> tuple[int, Node]:
        """The action and child of the highest score; ties: the higher prior, then the first."""
        score = self._scores(node)
        scored = enumerate(node.children.items())
        return max(scored, key=lambda at: (score(at[1][1]), at[1][1].prior, -at[0]))[1]

    def _ucb_score(self, parent: Node, child: Node) -> float:
        """PUCT: Q of a child, brought to 0..1, plus c(N) * P * sqrt(N) / (1 + n).

        N are the parent's visits, its own evaluation included; 1 where that was not counted.
        """
        score = float(self._scores(parent)(child))
        # The reference brings known bounds to -1..1, with twice the constant.
        return score if self._settings.value_bounds is None else (score + 1) / 2

    def _scores(self, parent: Node) -> Callable[[Node], np.float32]:
        """What scores the children of a node, on the reference's scale and in its arithmetic."""
        settings = self._settings
        explore = f32(settings.search_config().exploration(float(max(parent.visit_count, 1))))
        (least, greatest), shift, factor = self._seen, f32(0), f32(1)
        if settings.value_bounds is not None:
            low, high = settings.value_bounds
            shift, factor = f32((low + high) / 2), f32(2 / (high - low))
        elif greatest > least:
            shift, factor = f32(least), f32(1) / max(f32(greatest) - f32(least), f32(1e-8))

        def score(child: Node) -> np.float32:
            q = f32(settings.unvisited)
            if child.visit_count:
                q = (f32(self._q(child)) - shift) * factor
            return puct_score(q, f32(child.prior), child.visit_count, explore)

        return score

    def _step(self, reward: float, value: float) -> float:
        """What a step is worth to the player who makes it, if what follows is worth `value` to the
        next one: of two players, the other.
        """
        settings = self._settings
        return reward + settings.discount * (value if settings.num_players == 1 else -value)

    def _q(self, child: Node) -> float:
        """Q of a child for the player who chooses it."""
        return self._step(child.reward, child.value())

    def _range(self, root: Node) -> tuple[float, float]:
        """The least and the greatest Q of a tree."""
        found = [self._q(node) for path, node in Nodes(root).items() if path]
        return min(found, default=np.inf), max(found, default=-np.inf)

    def _expand_node(self, node: Node, policy: Any, legal_actions: Sequence[int]) -> None:
        """Give a node a child per action: priors are the softmax over these."""
        legal = _codes(legal_actions)
        logits = numbers(self._mask_policy(policy, legal))
        priors = softmax(np.ascontiguousarray(logits[legal]))
        for action, prior in zip(legal, priors, strict=True):
            node.children[action] = Node(prior=float(prior))
            if node.to_play is not None:
                node.children[action].to_play = (node.to_play + 1) % self._settings.num_players

    def _mask_policy(self, policy: Any, legal_actions: Sequence[int]) -> Any:
        """The logits with -inf for what is not legal."""
        return mask_policy(policy, legal_actions)

    def _backup(self, search_path: Sequence[Node], value: float) -> None:
        """Count a visit along a path and add `value`, which is for the player to move at its end:
        seen by the player to move at each node, with the rewards on the way.
        """
        for depth, node in reversed(list(enumerate(search_path))):
            node.value_sum += value
            node.visit_count += 1
            value = self._step(node.reward, value)
            if depth:
                q = self._q(node)
                self._seen = min(self._seen[0], q), max(self._seen[1], q)

    def _add_exploration_noise(self, node: Node) -> None:
        """Mix noise into the priors of a root's children, once."""
        if getattr(node, "noisy", False):
            return
        config = self._settings.search_config()
        rng, children = Rng(int(np.random.randint(2**62))), list(node.children.values())
        for child, eta in zip(
            children, rng.dirichlet(config.dirichlet_alpha, len(children)), strict=True
        ):
            child.prior = float(max(f32(config.mixed(child.prior, eta)), TINY))
        if isinstance(node, RootNode):
            node.noisy = True

    def _get_distributions(self, root: Node) -> tuple[tuple[int, ...], list[float]]:
        """Actions and their shares of the visits; their priors where none was visited."""
        actions, children = zip(*root.children.items(), strict=True)
        weights: list[float] = [child.visit_count for child in children]
        weights = weights if any(weights) else [child.prior for child in children]
        return actions, [weight / sum(weights) for weight in weights]


def mask_policy(policy: Any, legal_actions: Sequence[int]) -> Any:
    """Logits `[A]`, of PyTorch or NumPy, with -inf for what is not legal.

    Where no legal action has a finite logit, all legal ones are equal: 0.

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
    network: Any,
    config: Any,
    observation: Any,
    legal_actions: Sequence[int],
    temperature: float = 1.0,
) -> int:
    """The action that a search selects.

    Args:
        network: the learned model
        config: an `MCTSConfig`
        observation: as the network takes it
        legal_actions: what the player to move may choose from
        temperature: 0 takes the most visited action, 1 draws in proportion to visits

    :raises GameOver: there is no legal action.
    """
    _check_temperature(temperature)
    root = RootNode(0, None)
    actions, probabilities = MCTS(network, config).run(root, observation, legal_actions)
    if temperature == 0:
        children = root.children
        return max(
            actions, key=lambda action: (children[action].visit_count, children[action].prior)
        )
    with np.errstate(divide="ignore"):  # an action without a visit has no chance
        shares = np.log(np.array(probabilities) / max(probabilities)) / temperature
    weights = np.exp(shares)
    return int(np.random.choice(actions, p=weights / weights.sum()))


def _codes(legal_actions: Any) -> list[int]:
    """Codes of actions, whatever they are in.

    :raises ConfigError: they are no whole numbers: 0.5 is not action 0, nor True action 1.
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


def _check_temperature(given: Any) -> None:
    if not isinstance(given, Real) or not 0 <= float(given) < np.inf:
        raise ConfigError(f"temperature is {given!r}: it must be a number from 0 on.")
