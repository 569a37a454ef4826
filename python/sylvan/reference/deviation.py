"""Exploration by the deviation of values: look further where results differ, less where they agree.

    c(N) is multiplied by  1 + c_deviation * (deviation / usual_deviation - 1)
    deviation**2 = (2 * usual_deviation**2 + N * (S - Q**2)) / (N + 1)

Q is the mean value of the node's N visits for the seat to move, S the mean of their squares. At
first the deviation is the usual one, which counts like two visits. Idea: KataGo.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sylvan.reference.node import ONE, Node, f32

if TYPE_CHECKING:
    from sylvan.planning.config import SearchConfig


def record(node: Node, values: list[float]) -> None:
    """Add the values of this visit to a node where a seat moves; N counts it already."""
    if node.kind != "decision":
        return
    value = values[node.seat]
    node.square = f32(float(node.square) + (value * value - float(node.square)) / node.N)


def factor(node: Node, config: SearchConfig, scale: f32) -> f32:
    """Return the factor of exploration at a node; `scale` maps Q to the scale of scores."""
    share = config.c_deviation
    if not share:
        return ONE
    usual = config.usual_deviation / float(scale)
    mean = node.W[node.seat] / node.N
    spread = max(float(node.square) - mean * mean, 0.0)
    deviation = math.sqrt((2.0 * (usual * usual) + node.N * spread) / (node.N + 1))
    return f32(1.0 + share * (deviation / usual - 1.0))
