"""Values as colours.

A picture shows all values for one seat, the seat to move at the root, so that the numbers of a line
can be compared. Colours run from orange (the lowest return) over a near-white grey to blue (the
highest): readers with red-green blindness can distinguish them, and dark text is legible on all.
Colours change faster near the middle, because most values are close to it.
"""

import math
from dataclasses import dataclass

from sylvan.views.schema import Row, Snapshot

Colour = tuple[int, int, int]

# From the lowest value to the highest, at equal distances; the middle one is neutral.
STOPS: tuple[Colour, ...] = (
    (0xE0, 0x7B, 0x2E),
    (0xF4, 0xBC, 0x85),
    (0xEE, 0xEC, 0xE7),
    (0xA6, 0xCF, 0xEC),
    (0x4A, 0x9A, 0xD8),
)


@dataclass(frozen=True)
class Scale:
    """The seat of a picture's values, and their range `low … high`."""

    seat: int
    low: float
    high: float

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Scale":
        """Return the scale of the seat to move at the root (seat 0 if chance moves there)."""
        seat = snapshot["nodes"][0]["seat"] or 0
        side = cls(seat, -1.0, 1.0)
        low, high = snapshot["value_range"] or (-1.0, 1.0)
        shown = [v for row in snapshot["nodes"] if (v := side.value(row, snapshot)) is not None]
        return cls(seat, min([low, *shown]), max([high, *shown]))

    def value(self, row: Row, snapshot: Snapshot) -> float | None:
        """Return the proven or the mean value of a row for this seat, or `None` if unknown.

        An action without a node has no values per seat, only `Q` for the seat that chose it.
        """
        per_seat = row["proven"] or row["values"]
        if per_seat is not None:
            return per_seat[self.seat]
        chooser = None if row["parent"] is None else snapshot["nodes"][row["parent"]]["seat"]
        return row["Q"] if chooser == self.seat else None

    def colour(self, value: float) -> str:
        """Return the colour of a value, as `#rrggbb`."""
        middle, reach = (self.low + self.high) / 2, (self.high - self.low) / 2
        return blend((value - middle) / reach if reach > 0 else 0.0)


def blend(offset: float) -> str:
    """Return the colour at an offset from the middle of the range, -1 to 1, as `#rrggbb`."""
    offset = min(max(offset, -1.0), 1.0)
    stretched = math.copysign(abs(offset) ** 0.6, offset)
    position = (stretched + 1) / 2 * (len(STOPS) - 1)
    below = min(int(position), len(STOPS) - 2)
    rest = position - below
    pairs = zip(STOPS[below], STOPS[below + 1], strict=True)
    return "#" + "".join(f"{round(a + (b - a) * rest):02x}" for a, b in pairs)
