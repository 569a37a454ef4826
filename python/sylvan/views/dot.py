r"""A search tree as Graphviz source, for custom layout and style.

Every node of the snapshot is drawn once, with its own id, even if its position repeats in the tree.
Lines are labelled with the action, nodes with `N`, `Q` (for the seat to move at the root) and `P`.
The principal variation is bold; children left out appear as one "+12 more" node.

In a quoted string, `\`, `"` and `&` have a meaning for Graphviz, so they are escaped in labels.
"""

import math

from sylvan.views.picture import Drawable, More, Picture, picture
from sylvan.views.schema import Row
from sylvan.views.text import exact, percent, shorten, signed
from sylvan.views.theme import INK

LONGEST_LABEL = 40  # letters
_HEAD = """\
digraph search {
  rankdir=LR;
  bgcolor="#ffffff";
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#9aa4ae"];
  edge [arrowhead=none, fontname="Helvetica", fontsize=11, color="#b4bcc5"];"""


def to_dot(
    source: Drawable,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int | None = None,
    width: int | None = None,
) -> str:
    """Return Graphviz source of a result, a tree or a snapshot.

    The bounds are those of `snapshot`; default: 40 nodes, at most 8 deep.
    """
    pic = picture(source, depth=depth, nodes=nodes, visits=visits, width=width)
    lines = [_HEAD]
    lines += [_node(row, pic) for row in pic.rows if "same_as" not in row]
    lines += [_link(row, pic) for row in pic.rows[1:]]
    lines += [_more(number, more) for number, more in enumerate(pic.more)]
    return "\n".join([*lines, "}\n"])


def _node(row: Row, pic: Picture) -> str:
    value = pic.values[row["id"]]
    mean = f"= {exact(value)} (proven)" if row["proven"] and value is not None else signed(value)
    words = [f"N {row['N']:,}", f"Q {mean}"]
    if row["P"] is not None:
        words.append(f"P {percent(row['P'])}")
    fill = "#f2f2f2" if value is None else pic.scale.colour(value)
    extra = f', color="{INK}", penwidth=2.5' if row["pv"] else ""
    if row["proven"]:
        extra += ", peripheries=2"
    if row["kind"] == "chance":
        extra += ", shape=ellipse"
    return f'  n{row["id"]} [label={quoted(*words)}, fillcolor="{fill}"{extra}];'


def _link(row: Row, pic: Picture) -> str:
    label = quoted(shorten(row["label"] or "", LONGEST_LABEL))
    share = row["N"] / max(pic.rows[0]["N"], 1)
    thickness = max(1.0, 8 * math.sqrt(min(share, 1.0)))
    extra = f', color="{INK}", fontname="Helvetica-Bold"' if row["pv"] else ""
    end = row.get("same_as", row["id"])
    return f"  n{row['parent']} -> n{end} [label={label}, penwidth={thickness:.2f}{extra}];"


def _more(number: int, more: More) -> str:
    return (
        f'  m{number} [label="{more.label}", shape=plaintext, style="", fontcolor="#616b77"];\n'
        f"  n{more.parent} -> m{number} [style=dotted];"
    )


def quoted(*lines: str) -> str:
    """Join lines to one quoted Graphviz string."""
    escaped = (
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
    return '"' + "\\n".join(escaped) + '"'
