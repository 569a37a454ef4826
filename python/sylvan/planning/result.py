"""What a search found."""

from __future__ import annotations

import io
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import SearchStateError
from sylvan.planning.display import views
from sylvan.planning.roots import as_root, need_turn
from sylvan.planning.tree import TreeView, label

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig
    from sylvan.planning.forest import Forest

__all__ = ["SearchResult"]


class SearchResult:
    """The outcome of one search of one tree.

    It prints as a table and shows itself as board, table and tree in a notebook.
    """

    game: Game
    """The position that was searched, as a copy."""
    best: int
    """The action with most visits, proofs first (Gumbel: the one that survived)."""
    action: int
    """The action picked at the search's temperature; `best` at temperature 0."""
    policy: NDArray[np.float32]
    """Training target `[num_actions]`: visit shares (Gumbel: improved policy), not tempered."""
    values: tuple[float, ...]
    """The root's value per seat: proven if it is, else the mean."""
    value: float
    """The same for the seat to move."""
    pv: list[int]
    """The expected line of actions."""
    stopped_by: str
    """What ended the search: `simulations`, `seconds`, `nodes`, `depth`, `bytes`, `proven`, `stop`;
    `interrupted` if an error or Ctrl-C did."""
    simulations: int
    """Simulations of this search; on a reused tree new ones only."""
    nodes: int
    bytes: int
    """Memory of the tree."""
    depth: int
    """The greatest depth that a simulation of this search reached."""
    tree: TreeView

    def __init__(self, forest: Forest, tree: int, seconds: float, evaluator: str) -> None:
        """Read the result of tree number `tree`."""
        native = forest._native
        outcome = native.outcome(tree)
        if outcome is None:
            need_turn(forest.state(tree), f"The root of tree {tree}")
            raise SearchStateError(
                f"The root of tree {tree} is not evaluated yet: search before reading a result."
            )
        actions, policy, self.best, self.pv = outcome
        self.game = forest.state(tree).clone()
        self.config: SearchConfig = forest.config
        self.seconds = seconds
        self.evaluator = evaluator
        self.action = native.pick(tree) if self.config.temperature > 0 else self.best
        self.policy = np.zeros(self.game.num_actions, np.float32)
        self.policy[actions] = policy
        self.simulations, self.nodes, self.bytes, self.depth, stop = native.progress(tree)
        self.stopped_by = stop or "interrupted"
        generation = forest.generation
        self.tree = TreeView(
            lambda path: native.node(tree, list(path)),
            as_root(self.game),
            lambda: forest.generation == generation,
            lambda path: native.line(tree, list(path)),
            self.best,
        )
        root = self.tree.root
        self.values = root.values
        self.value = self.values[root.seat or 0]
        _ = root.edges  # read now, so that the result outlives the tree

    @cached_property
    def pv_labels(self) -> list[str]:
        """The expected line as people write it."""
        state, labels = as_root(self.game), []
        for action in self.pv:
            labels.append(label(state, action))
            state.apply(action)
        return labels

    @property
    def best_label(self) -> str:
        """The best action as people write it."""
        return label(self.tree.game, self.best)

    def to_json(self, *, moves: int | None = None) -> dict[str, Any]:
        """The result as plain data; `moves` bounds the number of actions listed."""
        edges = self.tree.root.edges[:moves]
        return {
            "best": self.best_label,
            "best_action": self.best,
            "value": self.value,
            "values": list(self.values),
            "proven": self.tree.root.proven is not None,
            "pv": self.pv_labels,
            "stopped_by": self.stopped_by,
            "simulations": self.simulations,
            "seconds": self.seconds,
            "nodes": self.nodes,
            "bytes": self.bytes,
            "depth": self.depth,
            "evaluator": self.evaluator,
            "moves": [
                {
                    "move": edge.label,
                    "action": edge.action,
                    "N": edge.N,
                    "Q": edge.Q if edge.N else None,
                    "P": edge.P,
                    "policy": float(self.policy[edge.action]),
                    "proven": edge.proven,
                }
                for edge in edges
            ],
        }

    def save(self, path: Any, **limits: int | None) -> Any:
        """Write the tree to a `.json`, `.dot` or `.svg` file.

        :param limits: `depth`, `nodes`, `visits` or `width`: see `sylvan.views.snapshot`.
        """
        return views().save(self, path, **limits)

    def __rich__(self) -> Any:
        return views().table(self)

    def _repr_html_(self) -> str:
        return views().to_html(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=100, highlight=False)
        console.print(self.__rich__())
        text = console.file.getvalue()  # type: ignore[attr-defined]
        return str(text).rstrip()

    def __repr__(self) -> str:
        return (
            f"<SearchResult best={self.best_label} value={self.value:+.3f} "
            f"simulations={self.simulations} stopped_by={self.stopped_by}>"
        )
