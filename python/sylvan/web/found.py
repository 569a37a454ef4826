"""What a running search, or an analysis from a file, has found so far."""

from __future__ import annotations

from dataclasses import dataclass

from sylvan.planning import Forest, SearchResult
from sylvan.planning.tree import TreeView

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
        """What the search found; without one, what the file has."""
        if forest is not None:
            done, nodes, size, depth, _ = forest.progress()
            return cls(forest.tree(), done, forest.seconds, nodes, size, depth, None)
        if shown is None:
            return None
        facts = shown.simulations, shown.seconds, shown.nodes, shown.bytes, shown.depth
        return cls(shown.tree, *facts, shown.evaluator)
