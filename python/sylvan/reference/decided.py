"""Stopping early: a search ends when no other action can overtake the most visited one.

    first - second > left

`first` and `second` are the most visits of open edges of the root, those in flight included, `left`
is the number of simulations that may still start. Each adds one visit to one edge, so the rule
changes the chosen action only if a proof would have closed its edge. An edge without a rival is
chosen at once. The next look is due when the inequality may hold: a simulation brings its sides
closer by at most two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def decided(search: Search) -> bool:
    """Return whether the choice at the root cannot change; looks only when it is due."""
    if search.config.simulations is None or search.started < search.next_look:
        return False
    counts = sorted((edge.started for edge in search.open_edges(search.root)), reverse=True)
    left = search.config.simulations - search.started
    if len(counts) == 1:
        return True
    lead = counts[0] - counts[1]
    search.next_look = search.started + max(left - lead, 0) // 2 + 1
    return lead > left
