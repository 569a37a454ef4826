"""The result of a search of one tree."""

from __future__ import annotations

import io
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.planning.display import views, widget
from sylvan.planning.roots import as_root
from sylvan.planning.tree import TreeView, label

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig
    from sylvan.planning.trees import Trees

__all__ = ["SearchResult"]


class SearchResult:
    """The result of a search of one tree.

    It prints as a table; a notebook displays it as board, table and tree.
    """

    game: Game
    """A copy of the position that was searched."""
    best: int
    """The best action: proofs first, then most visits (Gumbel: the last one left)."""
    action: int
    """The action sampled with the search's temperature; `best` at temperature 0."""
    policy: NDArray[np.float32]
    """`[num_actions]` the training target: shares of the visits (Gumbel: the improved policy),
    without temperature."""
    values: tuple[float, ...]
    """The root's value per seat: the proven one if there is one, else the mean."""
    value: float
    """The root's value for the seat to move."""
    pv: list[int]
    """The principal variation: the expected actions from the root on."""
    stopped_by: str
    """The limit that ended the search: `simulations`, `seconds`, `nodes`, `depth`, `bytes`,
    `proven`, `stop`, or `interrupted` (an error or Ctrl-C)."""
    simulations: int
    """Simulations of this search, without those of earlier searches of the tree."""
    nodes: int
    bytes: int
    """Memory of the tree."""
    depth: int
    """The greatest depth of a simulation of this search."""
    seconds: float
    """Duration of the search."""
    evaluator: str
    """The name of the evaluator."""
    config: SearchConfig
    tree: TreeView

    def __init__(self, trees: Trees, tree: int) -> None:
        """Read the result of tree number `tree`."""
        outcome = trees._native.outcome(tree)
        if outcome is None:
            raise trees._no_result(tree)
        actions, policy, self.best, self.pv = outcome
        self.game = trees.state(tree).clone()
        self.config = trees.config
        self.seconds = trees.seconds
        self.evaluator = trees._evaluator_name
        self.action = trees._native.pick(tree) if self.config.temperature > 0 else self.best
        self.policy = np.zeros(self.game.num_actions, np.float32)
        self.policy[actions] = policy
        progress = trees.progress(tree)
        self.simulations, self.nodes, self.depth = (
            progress.simulations,
            progress.nodes,
            progress.depth,
        )
        self.bytes = progress.bytes
        self.stopped_by = progress.stopped_by or "interrupted"
        self.tree = trees.tree(tree)
        root = self.tree.root  # read now, so that the result outlives the tree
        self.values = root.values
        self.value = self.values[root.seat or 0]

    @classmethod
    def restored(
        cls,
        game: Game,
        config: SearchConfig,
        tree: TreeView,
        policy: NDArray[np.float32],
        facts: dict[str, Any],
    ) -> SearchResult:
        """A result that was saved; `facts` are its other attributes."""
        result = cls.__new__(cls)
        result.game, result.config, result.tree, result.policy = game, config, tree, policy
        for name, value in facts.items():
            setattr(result, name, value)
        result.action = result.best
        root = tree.root
        result.values = root.values
        result.value = root.values[root.seat or 0]
        return result

    @cached_property
    def pv_labels(self) -> list[str]:
        """The principal variation in the game's notation."""
        state, labels = as_root(self.game), []
        for action in self.pv:
            labels.append(label(state, action))
            state.apply(action)
        return labels

    @property
    def best_label(self) -> str:
        """The best action in the game's notation."""
        return label(self.tree.game, self.best)

    def to_json(self, *, moves: int | None = None) -> dict[str, Any]:
        """The result as JSON data with at most `moves` actions."""
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

    def save(self, path: str | PathLike[str], **limits: int | None) -> None:
        """Write the tree to a `.json`, `.dot`, `.svg` or `.sylvan` file.

        `limits` are the largest `depth`, the most `nodes` and the fewest `visits` to write. `load`
        reads `.sylvan` files; they are limited by `nodes` only.
        """
        views().save(self, path, **limits)

    @classmethod
    def load(cls, path: str | PathLike[str], game: str | None = None) -> SearchResult:
        """Read a `.sylvan` file: the result with the top of its tree; `Search.resume` goes on.

        :param game: the game that it is of; needed for a game that is a Python file.
        :raises SnapshotError: the file is damaged, or of another game.
        """
        return views().load(path, game)

    def widget(self) -> Any:
        """The result to touch, in a notebook: board, table and tree. It stays in the notebook.

        :raises MissingExtra: anywidget is not installed (the extra `notebook`).
        """
        return widget(self)

    def __rich__(self) -> RenderableType:
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
