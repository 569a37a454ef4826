"""`Node` and `RootNode` of the document `muzero-chess`.

Either may be built and changed by hand. Those of a tree that the core grew read their numbers from
it when they are asked for: below the root every action has a node, 4672 of them in chess, and most
are never looked at. While a search is under way they show it as it stands.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.classic.network_outputs import Asked
    from sylvan.planning import LatentSearch

__all__ = ["Grown", "Node", "Nodes", "RootNode"]

Path = tuple[int, ...]
NUMBERS = ("value_sum", "visit_count", "hidden_state", "reward")


class Node:
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

    value_sum: float
    visit_count: int
    hidden_state: Any
    reward: float
    children: MutableMapping[int, Node]
    """By action."""

    def __init__(self, prior: float) -> None:
        """A node that was not visited."""
        self.prior = prior
        self.value_sum = 0.0
        self.visit_count = 0
        self.children = {}
        self.hidden_state = None
        self.reward = 0.0
        self.to_play: int | None = None
        """The player to move, 0 or 1; a search follows it from the root on."""

    def expanded(self) -> bool:
        """Whether it has children."""
        return len(self.children) > 0

    def value(self) -> float:
        """The mean value for the player to move here; 0 before the first visit."""
        return self.value_sum / self.visit_count if self.visit_count else 0.0

    def read_from(self, tree: Grown, path: Path) -> None:
        """Take the place of a node that the core has."""
        self.__dict__["_tree"], self.__dict__["_path"] = tree, path
        for name in NUMBERS if path else NUMBERS[:2]:  # a root keeps its own state
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """What the core has and was not asked for yet."""
        tree: Grown | None = self.__dict__.get("_tree")
        if tree is None or name not in (*NUMBERS, "children"):
            raise AttributeError(f"{type(self).__name__} has no {name!r}.")
        for known, value in tree.read(self, name).items():
            self.__dict__.setdefault(known, value)  # what was set by hand stays
        return self.__dict__[name]


class RootNode(Node):
    """The position that a search starts from."""

    noisy = False
    """Whether its priors have noise, which is mixed in once."""

    def __init__(self, prior: float, hidden_state: Any) -> None:
        """A root; a search starts with player 0 unless `to_play` says otherwise."""
        super().__init__(prior)
        self.hidden_state = hidden_state


class Grown:
    """A tree in the core, as its nodes read it."""

    def __init__(self, search: LatentSearch, model: Asked) -> None:
        self.search, self.model = search, model
        self.version = 0
        """Grows when the tree does."""
        self._shown: list[Node] | None = []
        self._last: tuple[Path, int, Any] = ((), -1, None)

    def grow(self, root: Node, *, last: bool = False) -> None:
        """Let nodes forget what they have read, for the tree has grown since, or is about to."""
        if not self.version:
            data = self.core(())
            if data is None:  # not evaluated: the root stays as it was
                return
            root.read_from(self, ())
            for action, _, _, prior, *_ in data[5]:
                root.children[action].prior = prior  # with the noise
                root.children[action].read_from(self, (action,))
                del root.children[action].children
        for node in self._shown or ():
            for name in NUMBERS:
                node.__dict__.pop(name, None)
            if not node.__dict__.get("children"):
                node.__dict__.pop("children", None)
        self._shown = None if last else []
        self.version += 1

    def core(self, path: Path) -> Any:
        """Kind, seat, visits, value sums and so on, and edges of a node; None: not visited."""
        if self._last[:2] != (path, self.version):  # numbers and children are read in turn
            forest = self.search.forest
            data = None if forest is None else forest._native.node(0, list(path))
            self._last = path, self.version, data if data is not None and data[2] else None
        return self._last[2]

    def read(self, node: Node, name: str) -> dict[str, Any]:
        """Numbers of a node, or its children."""
        path = node.__dict__["_path"]
        data = self.core(path)
        if self._shown is not None:
            self._shown.append(node)
        if name == "children":
            return {"children": {} if data is None else Children(self, path, int(data[1]))}
        if data is None:
            return dict(zip(NUMBERS, (0.0, 0, None, 0.0), strict=True))
        said = self.model.at(path)
        return dict(
            zip(NUMBERS, (data[3][data[1]], data[2], said.hidden_state, said.reward), strict=True)
        )


class Children(MutableMapping[int, Node]):
    """The children of a node in the core, made when they are asked for."""

    def __init__(self, tree: Grown, path: Path, seat: int) -> None:
        self._tree, self._path = tree, path
        self._seat = (seat + 1) % tree.search.num_players
        self._made: dict[int, Node] = {}
        self._removed: set[int] = set()

    def _edges(self) -> list[Any]:
        """The core's action, visits, value and prior of each, as they are now."""
        edges: list[Any] = self._tree.core(self._path)[5]
        return edges

    def reached(self) -> Iterator[int]:
        """Actions that were tried: few of many."""
        core = (edge for edge in self._edges() if edge[1])
        for action, _, _, prior, *_ in list(core):
            if action not in self._removed:
                self._made.setdefault(action, self._node(action, prior))
        return iter([action for action, node in self._made.items() if node.visit_count])

    def _node(self, action: int, prior: float) -> Node:
        node = Node(prior)
        del node.children
        node.to_play = self._seat
        node.read_from(self._tree, (*self._path, action))
        return node

    def __getitem__(self, action: int) -> Node:
        if action not in self._made:
            found = [edge for edge in self._edges() if edge[0] == action]
            if not found or action in self._removed:
                raise KeyError(action)
            self._made[found[0][0]] = self._node(found[0][0], found[0][3])
        return self._made[action]

    def __setitem__(self, action: int, node: Node) -> None:
        self._made[action] = node

    def __delitem__(self, action: int) -> None:
        self[action]
        del self._made[action]
        self._removed.add(action)

    def __iter__(self) -> Iterator[int]:
        known = [edge[0] for edge in self._edges() if edge[0] not in self._removed]
        return iter(dict.fromkeys([*known, *self._made]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> ItemsView[int, Node]:
        """All of them, made in one go."""
        for action, _, _, prior, *_ in self._edges():
            if action not in self._made and action not in self._removed:
                self._made[action] = self._node(action, prior)
        return super().items()

    def values(self) -> ValuesView[Node]:
        """All of them, made in one go."""
        self.items()
        return super().values()


class Nodes(Mapping[Path, Node]):
    """The nodes that simulations have reached, by the actions that lead to them.

    It is no copy: it looks into the tree whenever it is asked.
    """

    def __init__(self, root: Node | None) -> None:
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
            tried = list(below.reached() if isinstance(below, Children) else below)
            waiting += [((*path, action), below[action]) for action in reversed(tried)]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{len(self)} nodes of a tree>"
