"""Pictures and tables of a search.

    views.save(result, "tree.svg")
    views.save(result, "tree.json", visits=10)
    views.to_svg(views.load_json("tree.json"), theme="dark")

In the order in which data flows:

`protocol`  the interface of results and trees that the views read
`schema`    the snapshot format, and its validation
`text`      labels and numbers as text
`snapshot`  a bounded part of a tree as plain data
`scale`     values as colours
`picture`   the boxes of a drawing
`layout`    columns and heights of the boxes
`theme`     light and dark style rules
`svg`       a tree as SVG
`dot`       a tree as Graphviz source
`ranking`   the moves at the root, ranked
`table`     a result as a table for the terminal
`board`     the position as SVG
`html`      a result as HTML for notebooks
`analysis_file`  a result and the top of its tree in one file, `.sylvan`
`save`      save a tree in the format of the file's suffix
`frames`    images of an episode as GIF, MP4 or PNG files
"""

from sylvan.errors import SnapshotError
from sylvan.views.dot import to_dot
from sylvan.views.html import to_html
from sylvan.views.save import load, save
from sylvan.views.schema import Snapshot
from sylvan.views.snapshot import load_json, save_json, snapshot
from sylvan.views.svg import to_svg
from sylvan.views.table import table

__all__ = [
    "Snapshot",
    "SnapshotError",
    "load",
    "load_json",
    "save",
    "save_json",
    "snapshot",
    "table",
    "to_dot",
    "to_html",
    "to_svg",
]
