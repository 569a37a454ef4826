"""The result so far of a running search, or of an analysis from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sylvan.games import Chess
from sylvan.planning import Forest, SearchResult
from sylvan.planning.tree import TreeView
from sylvan.players.score import Score

__all__ = ["Found"]


@dataclass(frozen=True)
class Found:
    """A tree and what it cost."""

    tree: TreeView
    simulations: int
    seconds: float
    nodes: int
    bytes: int
    depth: int
    evaluator: str | None
    """None: the page's own."""

    @classmethod
    def of(cls, forest: Forest | None, shown: SearchResult | None) -> Found | None:
        """The result of the search; without one, that of the file."""
        if forest is not None:
            done, nodes, size, depth, _ = forest.progress()
            return cls(forest.tree(), done, forest.seconds, nodes, size, depth, None)
        if shown is None:
            return None
        facts = shown.simulations, shown.seconds, shown.nodes, shown.bytes, shown.depth
        return cls(shown.tree, *facts, shown.evaluator)

    def figures(self) -> dict[str, Any]:
        """The fields of a `Search` message that are about the root."""
        root = self.tree.root
        value = root.values[root.seat or 0]
        return {
            "simulations": root.N - 1,
            "per_second": self.simulations / max(self.seconds, 1e-9),
            "nodes": self.nodes,
            "bytes": self.bytes,
            "depth": self.depth,
            "value": value,
            "values": list(root.values),
            "wdl": list(Score(value).wdl) if isinstance(self.tree.game, Chess) else None,
            "proven": root.proven is not None,
            "best": self.tree.best,
            "pv": self.tree.line_after(()),
        }
