"""Save a tree in the format of the file's suffix."""

from os import PathLike
from pathlib import Path

from sylvan.errors import ConfigError
from sylvan.files import write_text
from sylvan.views.dot import to_dot
from sylvan.views.schema import Limits
from sylvan.views.snapshot import Searched, save_json, snapshot
from sylvan.views.svg import to_svg

JSON_NODES = 10_000


def save(
    searched: Searched,
    path: str | PathLike[str],
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int | None = None,
    width: int | None = None,
) -> None:
    """Save a result's or root's tree: `.json`, `.dot` or `.gv` (Graphviz), `.svg`.

    The bounds are those of `snapshot`. Default: a picture has 40 nodes, at most 8 deep; JSON has
    the 10,000 most visited nodes (`save_json(snapshot(searched), path)` writes all of them). The
    file is written atomically.
    """
    suffix = Path(path).suffix.lower()
    bounds = Limits(depth=depth, nodes=nodes, visits=visits, width=width)
    if suffix == ".json":
        if depth is nodes is visits is width is None:
            bounds["nodes"] = JSON_NODES
        save_json(snapshot(searched, **bounds), path)
    elif suffix in (".dot", ".gv"):
        write_text(path, to_dot(searched, **bounds))
    elif suffix == ".svg":
        write_text(path, to_svg(searched, **bounds))
    else:
        raise ConfigError(f"{path} has an unknown suffix: save a tree as .json, .dot, .gv or .svg")
