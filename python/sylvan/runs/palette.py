"""The colours of a run's plots and live view, shared with the tree views."""

from sylvan.views.scale import STOPS
from sylvan.views.theme import INK

__all__ = ["BLUE", "INK", "LINE", "ORANGE", "PARTS_PAINT", "QUIET", "RUNS", "SAND", "SKY"]

ORANGE, SAND, _, SKY, BLUE = (f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in STOPS)
QUIET, LINE = "#616b77", "#ccd3da"

PARTS_PAINT = {"network": BLUE, "search": SKY, "learner": ORANGE, "arena": SAND}
"""The colours of the parts of a run's time."""

RUNS = (BLUE, ORANGE, INK, "#8a63b0", "#2f9d83", "#b8456b", QUIET)
"""The colours of several runs, or of several lines in one plot, used cyclically."""
