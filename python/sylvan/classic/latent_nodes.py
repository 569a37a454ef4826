"""`Node` and `RootNode` of the document `muzero-chess`, and the tree in the core that they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sylvan._native import Rng
from sylvan.classic.muzero_settings import MCTSConfig
from sylvan.classic.network_outputs import NetworkOutput, after
from sylvan.classic.tree_node import Children, CoreTree, Path, Statistic, TreeNode
from sylvan.planning import LatentForest, LatentState, NodeView
from sylvan.planning.latent_forest import Evaluations, Steps

__all__ = ["LatentTree", "Node", "Nodes", "RootNode"]


class LatentTree(CoreTree):
    """A tree over what a network says. The core stores numbers of answers, which are kept here."""

    def __init__(
        self,
        network: Any,
        settings: MCTSConfig,
        first: NetworkOutput,
        legal_actions: Sequence[int],
        seat: int,
    ) -> None:
        """A tree whose root the network has answered with `first`."""
        self.network = network
        self.settings = replace(settings)
        self.seat, self.players = seat, settings.num_players
        seed = int(np.random.randint(2**62))
        config = settings.search_config(noise=settings.add_noise, seed=seed)
        root = LatentState(
            self.players,
            len(first.policy_logits),
            list(legal_actions),
            seat,
            zero_sum=self.players == 2,
            whole=True,  # all children can be looked at
        )
        self._forest = LatentForest([root], config)
        super().__init__(self._forest.result)
        self._noise: list[list[float]] | None = None
        if settings.add_noise:  # once: every search of the tree has the same
            drawn = Rng(seed).dirichlet(config.dirichlet_alpha, len(legal_actions))
            self._noise = [list(drawn)]
        self._answers: dict[int, NetworkOutput] = {}
        self._following: dict[int, dict[int, int]] = {}
        """The rows of the answers after a row, by action."""
        self._forest.limit(simulations=0)
        self._search(first)

    def fits(self, network: Any, settings: MCTSConfig) -> bool:
        """Whether a search with these would go on as this tree was begun."""
        same = replace(settings, num_simulations=self.settings.num_simulations) == self.settings
        return network is self.network and same

    def search(self, simulations: int) -> None:
        """Add simulations. If the network raises, those before it stay."""
        self._forest.limit(simulations=simulations)
        self._search(None)

    def _search(self, first: NetworkOutput | None) -> None:
        forest = self._forest
        forest.begin(self._noise)
        try:
            steps = forest.step(1)
            while steps is not None:
                output = first or self._ask(steps)
                self._answers[int(steps.rows[0])] = output
                value, reward, logits, _ = output
                numbers = np.array([[value], [reward]], np.float32)
                evaluations = Evaluations(logits[None], None, numbers[0], numbers[1], False)
                steps = forest.step(1, evaluations)
        except BaseException:  # also Ctrl-C
            forest.abandon()
            raise
        finally:
            self.refresh()

    def _ask(self, steps: Steps) -> NetworkOutput:
        """Ask the network for a step; meanwhile nodes show the tree as it stands."""
        self.refresh()
        row, action = int(steps.parents[0]), int(steps.actions[0])
        output = after(self.network, self._answers[row].hidden_state, action)
        self._following.setdefault(row, {})[action] = int(steps.rows[0])
        return output

    def _row(self, path: Path) -> int | None:
        """The row of the answer after some actions; None where the network was not asked."""
        row: int | None = 0
        for action in path:
            row = None if row is None else self._following.get(row, {}).get(action)
        return row

    def answer(self, path: Path) -> NetworkOutput | None:
        """What the network said after some actions; None where it was not asked."""
        row = self._row(path)
        return None if row is None else self._answers[row]

    def node(self, path: Path) -> NodeView | None:
        """The node after some actions, found without reading the thousands of edges above it."""
        return None if self._row(path) is None else NodeView(self.view, path)

    def reached(self, path: Path) -> list[int]:
        """The actions that simulations took at the node after some actions."""
        row = self._row(path)
        return [] if row is None else list(self._following.get(row, ()))


def _answered(node: Node, name: str, otherwise: Any) -> Any:
    """A part of what the network said of a node."""
    assert isinstance(node.tree, LatentTree)
    answer = node.tree.answer(node.path)
    return otherwise if answer is None else getattr(answer, name)


class Node(TreeNode):
    """A position of the tree, with the statistics of the action that led there.

    `value_sum` is for the player to move *here*; whoever chose the action reads it with the
    opposite sign. `reward` is what the step into this node paid the player who made it.

    >>> node = Node(0.5)
    >>> node.value(), node.expanded()
    (0.0, False)
    >>> node.visit_count, node.value_sum = 4, 1.0
    >>> node.value()
    0.25
    """

    visit_count = TreeNode.visits
    value_sum = TreeNode.total
    hidden_state = Statistic[Any](lambda node: _answered(node, "hidden_state", None))
    reward = Statistic[float](lambda node: _answered(node, "reward", 0.0))
    to_play = Statistic[int | None](
        lambda node: (node.tree.seat + len(node.path)) % node.tree.players
    )
    """The player to move, 0 or 1; a search follows it from the root on."""
    children: Mapping[int, Node]
    """By action."""

    def __init__(self, prior: float) -> None:
        """A node that was not visited."""
        super().__init__(prior)
        self._hidden_state: Any = None
        self._reward: float | None = 0.0
        self._to_play: int | None = None
        self.children = {}

    def show(self, tree: CoreTree, path: Path) -> None:
        """Show a node of the core from now on."""
        super().show(tree, path)
        self._hidden_state = self._reward = self._to_play = None
        self.children = Children(tree, path, Node, int)

    def core_total(self) -> float:
        """The sum of values for the player to move here."""
        assert self.tree is not None and self.to_play is not None
        node = self.tree.node(self.path)
        return 0.0 if node is None else node.W[self.to_play]

    def expanded(self) -> bool:
        """Whether it has children."""
        return len(self.children) > 0

    def value(self) -> float:
        """The mean value for the player to move here; 0 before the first visit."""
        return self.mean


class RootNode(Node):
    """The position that a search starts from."""

    def __init__(self, prior: float, hidden_state: Any) -> None:
        """A root; a search starts with player 0 unless `to_play` says otherwise."""
        super().__init__(prior)
        self.hidden_state = hidden_state


class Nodes(Mapping[Path, Node]):
    """The nodes that simulations have reached, by the actions that lead to them.

    It is no copy: it looks into the tree whenever it is asked.
    """

    def __init__(self, root: Node | None) -> None:
        """The nodes from a root on; none without a root."""
        self.root = root

    def __getitem__(self, path: Path) -> Node:
        node = self.root
        for action in path:
            node = None if node is None else node.children.get(action)
        if node is None or not node.visit_count:
            raise KeyError(path)
        return node

    def __iter__(self) -> Iterator[Path]:
        waiting: list[tuple[Path, Node]] = [] if self.root is None else [((), self.root)]
        while waiting:
            path, node = waiting.pop()
            if not node.visit_count:
                continue
            yield path
            below = node.children
            tried = below.reached() if isinstance(below, Children) else below.items()
            waiting += [((*path, action), child) for action, child in reversed(list(tried))]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{len(self)} nodes of a tree>"
