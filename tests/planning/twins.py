"""Searches side by side: what one of them went through must not show in what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sylvan import Forest, SearchResult
from sylvan.planning import NodeView


def numbers(node: NodeView, depth: int = 99) -> Any:
    """All statistics of a tree, to the bit."""
    edges = sorted(node.edges, key=lambda edge: edge.action)
    below = [
        (edge.action, edge.N, edge.W, edge.P, edge.bounds)
        + ((numbers(edge.child, depth - 1),) if edge.child is not None and depth > 1 else ())
        for edge in edges
    ]
    return node.kind, node.seat, node.N, node.W, node.proven, below


def found(result: SearchResult, depth: int = 99) -> Any:
    """Everything that a search found, its time apart."""
    return (
        numbers(result.tree.root, depth),
        result.policy.tolist(),
        (result.best, result.action, result.pv, result.value),
        (result.simulations, result.nodes, result.depth, result.stopped_by),
    )


def everything(forest: Forest, depth: int = 99) -> Any:
    """The same for every tree of a forest."""
    return [found(result, depth) for result in forest.results()]


def finish(forest: Forest, evaluate: Any, leaves: Any = None) -> Forest:
    """Search to the end; `leaves` wait already."""
    if leaves is not None:
        forest.update(*evaluate(leaves))
    while (leaves := forest.select()) is not None:
        forest.update(*evaluate(leaves))
    return forest


def flat(leaves: Any) -> tuple[np.ndarray, np.ndarray]:
    """Equal logits of the legal actions, and zeros."""
    seats = leaves.forest.num_players
    return np.zeros(len(leaves.actions), np.float32), np.zeros((len(leaves), seats), np.float32)


def skewed(leaves: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values that depend on what is seen, from outside Rust."""
    seen = np.asarray(leaves.observations, np.float64).reshape(len(leaves), -1)
    weights = np.sin(np.arange(1, seen.shape[1] + 1))
    values = np.tanh(np.sin(seen @ weights))
    logits = np.cos(np.outer(seen @ weights, np.arange(leaves.forest.num_actions)))
    return logits.astype(np.float32), values.astype(np.float32)
