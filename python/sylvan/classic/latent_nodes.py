"""`Node` and `RootNode` of the document `muzero-chess`, which read the tree in the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sylvan.classic.latent_tree import LatentTree
from sylvan.classic.network_outputs import HiddenState
from sylvan.classic.tree_node import CoreTree, Path, Statistic, TreeNode

__all__ = ["Node", "Nodes", "RootNode"]


def _answered(node: Node, name: str, otherwise: Any) -> Any:
    """A part of the network's answer at a node."""
    assert isinstance(node.tree, LatentTree)
    answer = node.tree.answer(node.path)
    return otherwise if answer is None else getattr(answer, name)


class Node(TreeNode):
    """A position of the tree, with the statistics of the action that led there.

    `value_sum` is for the player to move *here*; the player who chose the action reads it with the
    opposite sign. `reward` is for the step into this node and the player who made it.

    >>> node = Node(0.5)
    >>> node.value(), node.expanded()
    (0.0, False)
    >>> node.visit_count, node.value_sum = 4, 1.0
    >>> node.value()
    0.25
    """

    visit_count = TreeNode.visits
    value_sum = TreeNode.total
    hidden_state = Statistic[HiddenState](lambda node: _answered(node, "hidden_state", None))
    reward = Statistic[float](lambda node: _answered(node, "reward", 0.0))
    to_play = Statistic[int | None](
        lambda node: (node.tree.seat + len(node.path)) % node.tree.players
    )
    """The player to move, 0 or 1; a search sets it from the root on."""
    children: Mapping[int, Node]
    """By action."""

    def __init__(self, prior: float) -> None:
        """Create an unvisited node."""
        super().__init__(prior)
        self._hidden_state: HiddenState = None
        self._reward: float | None = 0.0
        self._to_play: int | None = None
        self.children = {}

    def show(self, tree: CoreTree, path: Path) -> None:
        """Show a node of the core from now on."""
        assert isinstance(tree, LatentTree)
        super().show(tree, path)
        self._hidden_state = self._reward = self._to_play = None
        self.children = Children(tree, path)

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

    def __init__(self, prior: float, hidden_state: HiddenState) -> None:
        """Create a root; player 0 is to move unless `to_play` is set."""
        super().__init__(prior)
        self.hidden_state = hidden_state


class Children(Mapping[int, Node]):
    """The children of a node in the core, by action; each is made when it is looked at."""

    def __init__(self, tree: LatentTree, path: Path) -> None:
        """Children of the node at a path."""
        self._tree, self._path = tree, path
        self._made: dict[int, Node] = {}
        self._actions: list[int] = []

    def __getitem__(self, action: int) -> Node:
        if action not in self._made:
            if action not in self._tree.edges(self._path):
                raise KeyError(action)
            node = self._made[action] = Node(0.0)
            node.show(self._tree, (*self._path, action))
        return self._made[action]

    def __iter__(self) -> Iterator[int]:
        if not self._actions:  # they stay the same once the node is expanded
            self._actions = sorted(self._tree.edges(self._path))
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._tree.edges(self._path))

    def reached(self) -> list[tuple[int, Node]]:
        """The few actions that were taken, also by hand, and their nodes."""
        by_hand = [action for action, node in self._made.items() if node.visits]
        actions = sorted({*self._tree.reached(self._path), *by_hand})
        return [(action, self[action]) for action in actions]


class Nodes(Mapping[Path, Node]):
    """The visited nodes, by the actions that lead to them: a live view of the tree."""

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
            tried = below.reached() if isinstance(below, Children) else list(below.items())
            waiting += [((*path, action), child) for action, child in reversed(tried)]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{len(self)} nodes of a tree>"
