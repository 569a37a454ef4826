"""Pictures and tables of a search: data to keep, trees to look at, rankings to read.

    views.save(result, "tree.svg")
    views.save(result, "tree.json", visits=10)
    views.to_svg(views.load_json("tree.json"), theme="dark")

Everything reads a result or the root of a tree through `protocol.py`; order of reading:
`snapshot` (which nodes), `picture` (what is drawn), `layout` and `scale` (where, in which
colour), `svg` and `dot`; `ranking`, then `table` and `html`.
"""

from sylvan.errors import SnapshotError
from sylvan.views.dot import to_dot
from sylvan.views.html import to_html
from sylvan.views.save import save
from sylvan.views.schema import Snapshot
from sylvan.views.snapshot import load_json, save_json, snapshot
from sylvan.views.svg import to_svg
from sylvan.views.table import table

__all__ = [
    "Snapshot",
    "SnapshotError",
    "load_json",
    "save",
    "save_json",
    "snapshot",
    "table",
    "to_dot",
    "to_html",
    "to_svg",
]
