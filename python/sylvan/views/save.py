"""Save a tree in the format of the file's suffix."""

from os import PathLike
from pathlib import Path

from sylvan.errors import ConfigError
from sylvan.files import write_text
from sylvan.planning import SearchResult
from sylvan.views.analysis_file import SUFFIX, read_analysis, write_analysis
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
    """Save a result's or root's tree: `.json`, `.dot` or `.gv` (Graphviz), `.svg`;
    `.sylvan` is a whole result that `load` reads.

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
    elif suffix == SUFFIX:
        if not isinstance(searched, SearchResult) or depth is not None or visits or width:
            raise ConfigError(f"{path}: an analysis has a whole result; only nodes bounds it")
        write_analysis(searched, path, nodes=nodes)
    else:
        raise ConfigError(
            f"{path} has an unknown suffix: save a tree as .json, .dot, .gv, .svg or .sylvan"
        )


def load(path: str | PathLike[str], game: str | None = None) -> SearchResult:
    """Read the result in an analysis file (`.sylvan`).

    :raises SnapshotError: the file is damaged, or of another game.
    """
    return read_analysis(path, game).result
