"""A search tree as SVG, without other packages; the same tree gives the same bytes.

The tree grows to the right, the principal variation is the top row (`layout.py`). A card shows the
action, its value for the seat to move at the root, its visits and its prior. The card's colour is
the value (`scale.py`), the thickness of the line into it the share of the root's visits. A tooltip
has all numbers. The page is light or dark (`theme.py`).
"""

import math
from dataclasses import dataclass
from html import escape

from sylvan.views.layout import BoxPosition, layout
from sylvan.views.picture import Drawable, More, Picture, picture
from sylvan.views.scale import blend
from sylvan.views.schema import Row
from sylvan.views.text import clean, counted, exact, percent, short_count, shorten, signed, width
from sylvan.views.theme import Theme, style

SCOPE = "sylvan-tree"

# Lengths are in pixels at the picture's natural size.
MARGIN = 22.0
HEADER = 104.0  # title, principal variation, legend
CARD, SLIM = 40.0, 20.0  # heights: a visited node's card; an unvisited action, a "+12 more"
GAP, FAMILY_GAP, GUTTER = 8.0, 16.0, 44.0  # between siblings, other boxes of a column, columns
LETTER, FIGURE, SMALL = 8.8, 7.7, 6.7  # mean widths: labels (13, bold), figures (12), the rest
LEGEND_LETTER = 6.0
PADDING = 10.0  # inside a card
CHIP = 20.0  # the seat that chose, before the label
LONGEST_LABEL = 24  # letters
THICKEST = 9.0
BEND = 10.0  # radius where a line turns


def to_svg(
    source: Drawable,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int | None = None,
    width: int | None = None,
    theme: Theme = "auto",
) -> str:
    """Draw a result, a tree or a snapshot as a stand-alone SVG document.

    The bounds are those of `snapshot`; default: 40 nodes, at most 8 deep.
    """
    drawing = _Drawing.of(picture(source, depth=depth, nodes=nodes, visits=visits, width=width))
    w, h = _n(drawing.width), _n(drawing.height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" role="img" '
            f'width="{w}" height="{h}" viewBox="0 0 {w} {h}">',
            f"<title>{escape(_headline(drawing.picture))}</title>",
            f"<style>\n{style(theme, SCOPE)}\n</style>",
            f'<rect class="page" width="{w}" height="{h}" rx="8"/>',
            *_header(drawing),
            *_links(drawing),
            *(_card(drawing, row) for row in drawing.picture.rows),
            *(_more(drawing, index, more) for index, more in enumerate(drawing.picture.more)),
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class _Drawing:
    """A picture with the positions of its boxes."""

    picture: Picture
    positions: list[BoxPosition]
    lefts: list[float]  # per column
    widths: list[float]  # per column

    @classmethod
    def of(cls, pic: Picture) -> "_Drawing":
        heights = [CARD if _is_full(row) else SLIM for row in pic.rows] + [SLIM] * len(pic.more)
        positions = layout(pic.children, heights, gap=GAP, family_gap=FAMILY_GAP)
        widths = [0.0] * (1 + max(position.column for position in positions))
        wanted = [_card_width(row, pic) for row in pic.rows]
        wanted += [2 * PADDING + SMALL * len(more.label) for more in pic.more]
        for position, want in zip(positions, wanted, strict=True):
            widths[position.column] = max(widths[position.column], want)
        lefts = [MARGIN + sum(widths[:c]) + GUTTER * c for c in range(len(widths))]
        return cls(pic, positions, lefts, widths)

    @property
    def width(self) -> float:
        _, legend = _legend(self.picture, 0.0)
        return max(legend, self.lefts[-1] + self.widths[-1]) + MARGIN

    @property
    def height(self) -> float:
        return HEADER + max(position.y for position in self.positions) + CARD / 2 + MARGIN

    def box(self, number: int) -> tuple[float, float, float]:
        """Return left edge, centre line and width of a box."""
        position = self.positions[number]
        return self.lefts[position.column], HEADER + position.y, self.widths[position.column]


def _is_full(row: Row) -> bool:
    return row["kind"] != "unvisited"


def _card_width(row: Row, pic: Picture) -> float:
    chip = CHIP if pic.shows_choosers and row["parent"] is not None else 0.0
    label = LETTER * width(_label(row)) + chip
    value = FIGURE * len(_value_text(row, pic))
    return max(112.0, 2 * PADDING + label + 14 + value)


def _label(row: Row) -> str:
    label = "root" if row["label"] is None else shorten(row["label"], LONGEST_LABEL) or "·"
    return f"{label} \u21b7" if "same_as" in row else label


def _value_text(row: Row, pic: Picture) -> str:
    value = pic.values[row["id"]]
    if value is not None and row["proven"]:
        return f"= {exact(value)}"
    return signed(value)


def _headline(pic: Picture) -> str:
    root = pic.rows[0]
    best = f"Best {_label(pic.pv[0])}  ·  " if pic.pv else ""
    value = f"{_value_text(root, pic).replace('=', 'proven')} for {pic.names[pic.scale.seat]}"
    return f"{best}{value}  ·  {counted(root['N'], 'visit')}"


def _header(drawing: _Drawing) -> list[str]:
    pic = drawing.picture
    room = int((drawing.width - 2 * MARGIN) / SMALL)
    line = shorten("  ".join(_label(row) for row in pic.pv), room)
    legend, _ = _legend(pic, 78)
    return [
        _text(MARGIN, 34, _headline(pic), "words", 16, bold=True),
        _text(MARGIN, 54, line or "nothing below the root", "quiet", 12),
        *legend,
    ]


def _legend(pic: Picture, y: float) -> tuple[list[str], float]:
    """Return the legend (colours, thickness, principal variation, proven nodes), and its right
    edge.
    """
    low, high = exact(pic.scale.low), exact(pic.scale.high)
    bar = MARGIN + LEGEND_LETTER * len(low) + 6
    words = f"{high}  value for {pic.names[pic.scale.seat]}"
    x = bar + 5 * 25 + 6
    parts = [_text(MARGIN, y, low, "quiet", 10.5), _text(x, y, words, "quiet", 10.5)]
    for step in range(25):
        parts.append(
            f'<rect x="{_n(bar + 5 * step)}" y="{_n(y - 9)}" width="5.3" height="10" '
            f'fill="{blend(step / 12 - 1)}"/>'
        )
    x += LEGEND_LETTER * len(words) + 26
    for share, words in ((0.01, "1%"), (0.1, "10%"), (1.0, "100% of visits")):
        parts.append(
            f'<path class="link" d="M{_n(x)} {_n(y - 4)}h20" stroke-width="{_n(_thick(share))}"/>'
        )
        parts.append(_text(x + 25, y, words, "quiet", 10.5))
        x += 25 + LEGEND_LETTER * len(words) + 12
    parts.append(f'<path class="pv" d="M{_n(x + 14)} {_n(y - 4)}h20" stroke-width="3"/>')
    parts.append(_text(x + 39, y, "best line", "quiet", 10.5))
    x += 39 + LEGEND_LETTER * 9 + 32
    parts += [_badge(x, y - 4), _text(x + 11, y, "proven", "quiet", 10.5)]
    return parts, x + 11 + LEGEND_LETTER * 6


def _links(drawing: _Drawing) -> list[str]:
    """Draw the lines: thick ones first, the principal variation on top."""
    pic = drawing.picture
    total = max(pic.rows[0]["N"], 1)
    links: list[tuple[bool, float, int, int]] = []
    for parent, children in enumerate(pic.children):
        for child in children:
            row = pic.rows[child] if child < len(pic.rows) else None
            n = row["N"] if row else pic.more[child - len(pic.rows)].N
            on_pv = row is not None and row["pv"]
            links.append((on_pv, -_thick(n / total), parent, child))
    return [_link(drawing, *link) for link in sorted(links)]


def _link(drawing: _Drawing, on_pv: bool, minus_thickness: float, parent: int, child: int) -> str:
    left, y1, w = drawing.box(parent)
    x1, (x2, y2, _) = left + w, drawing.box(child)
    turn = (x1 + x2) / 2
    r = min(BEND, abs(y2 - y1) / 2)
    down = f"H{_n(turn - r)}q{_n(r)} 0 {_n(r)} {_n(r)}V{_n(y2 - r)}q0 {_n(r)} {_n(r)} {_n(r)}"
    bend = "" if y1 == y2 else down
    return (
        f'<path class="{"pv" if on_pv else "link"}" d="M{_n(x1)} {_n(y1)}{bend}H{_n(x2)}" '
        f'stroke-width="{_n(-minus_thickness)}"/>'
    )


def _thick(share: float) -> float:
    """Return a line's thickness: by the square root, so that 1 % of the visits is still visible."""
    return max(1.0, THICKEST * math.sqrt(min(share, 1.0)))


def _card(drawing: _Drawing, row: Row) -> str:
    """Draw a node: frame, text and tooltip."""
    draw = _full_card if _is_full(row) else _slim_card
    parts = draw(row, drawing.picture, *drawing.box(row["id"]))
    return f"<g><title>{escape(_tooltip(row, drawing.picture))}</title>{''.join(parts)}</g>"


def _slim_card(row: Row, _: Picture, x: float, y: float, w: float) -> list[str]:
    """Draw an unvisited action: its name and its prior."""
    return [
        f'<rect class="ghost" {_shape(x, y, w, SLIM, 7)}/>',
        _text(x + PADDING, y + 4, _label(row), "quiet", 12),
        _text(x + w - PADDING, y + 4, f"P {percent(row['P'])}", "quiet", 10.5, end=True),
    ]


def _full_card(row: Row, pic: Picture, x: float, y: float, w: float) -> list[str]:
    """Draw a visited node: round for chance, angular with a bar on the right for terminal."""
    value = pic.values[row["id"]]
    fill = "#f2f2f2" if value is None else pic.scale.colour(value)
    corner = {"terminal": 0.0, "chance": CARD / 2}.get(row["kind"], 7.0)
    dash = ' stroke-dasharray="4 3"' if row["kind"] == "dropped" else ""
    frame = "pvframe" if row["pv"] else "frame"
    parts = [f'<rect class="{frame}" {_shape(x, y, w, CARD, corner)} fill="{fill}"{dash}/>']
    top, left, right = y - CARD / 2, x + PADDING, x + w - PADDING
    if row["kind"] == "terminal":
        parts.append(f'<path class="end" d="M{_n(x + w - 2.5)} {_n(top + 1)}v{_n(CARD - 2)}"/>')
    parts.append(_text(left, y + 13, f"N {short_count(row['N'])}", "faint", 10.5))
    if row["P"] is not None:
        parts.append(_text(right, y + 13, f"P {percent(row['P'])}", "faint", 10.5, end=True))
    if row["parent"] is not None and pic.shows_choosers:
        parts.append(_chip(left + 7, y - 7, pic.chooser(row), pic))
        left += CHIP
    parts.append(_text(left, y - 2.5, _label(row), "ink", 13, bold=True))
    parts.append(_text(right, y - 2.5, _value_text(row, pic), "ink", 12, end=True))
    return [*parts, _badge(x + w - 1, top + 1)] if row["proven"] else parts


def _shape(x: float, y: float, w: float, h: float, corner: float) -> str:
    """Return the attributes of a rectangle around the centre line `y`."""
    return f'x="{_n(x)}" y="{_n(y - h / 2)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(corner)}"'


def _more(drawing: _Drawing, index: int, more: More) -> str:
    x, y, _ = drawing.box(len(drawing.picture.rows) + index)
    visits = f"{more.children:,} more with {counted(more.N, 'visit')} in all"
    return f"<g><title>{visits}</title>{_text(x + 5, y + 4, more.label, 'quiet', 11)}</g>"


def _chip(x: float, y: float, seat: int | None, pic: Picture) -> str:
    """Draw the chooser: a disc with the seat's number or first letter, a diamond for chance."""
    if seat is None:
        return f'<path class="faint" d="M{_n(x)} {_n(y - 5.5)}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>'
    disc = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="7" class="ink" fill-opacity="0.16"/>'
    return disc + _text(
        x, y + 3.5, pic.names[seat].removeprefix("seat ")[:1], "ink", 10, middle=True
    )


def _badge(x: float, y: float) -> str:
    return (
        f'<circle class="words" cx="{_n(x)}" cy="{_n(y)}" r="7"/>'
        f'<path d="M{_n(x - 3.2)} {_n(y)}l2.4 2.6l4.2 -5" fill="none" class="tick" '
        'stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/>'
    )


def _tooltip(row: Row, pic: Picture) -> str:
    lines = [clean(row["label"]) if row["label"] is not None else "root", f"N = {row['N']:,}"]
    chooser = pic.chooser(row)
    if row["parent"] is not None:
        who = "chance" if chooser is None else pic.names[chooser]
        lines += [f"Q = {signed(row['Q'])} for {who}", f"P = {percent(row['P'])}"]
    for name in ("values", "proven"):
        if per_seat := row[name]:
            lines.append(f"{name}: {', '.join(map(signed, per_seat))} by seat")
    if row["bounds"]:
        low, high = row["bounds"]
        lines.append(f"bounds: {signed(low)} … {signed(high)}")
    to_move = "" if row["seat"] is None else f", {pic.names[row['seat']]} to move"
    again = ["a known position: its box is on another line"] if "same_as" in row else []
    return "\n".join([*lines, row["kind"] + to_move, *again])


def _text(
    x: float,
    y: float,
    words: str,
    kind: str,
    size: float,
    *,
    bold: bool = False,
    end: bool = False,
    middle: bool = False,
) -> str:
    anchor = ' text-anchor="end"' if end else ' text-anchor="middle"' if middle else ""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{weight}{anchor}>'
        f"{escape(words)}</text>"
    )


def _n(x: float) -> str:
    """Format a length with at most one decimal."""
    return f"{x:.1f}".removesuffix(".0")
