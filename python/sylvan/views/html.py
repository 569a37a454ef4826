"""A result as HTML, for notebooks: the position, the ranked moves, the top of the tree.

One self-contained fragment: style rules are scoped to a class, pictures are inline, there are no
external resources and no scripts. The board is an `<img>`, so that scripts in a game's picture
cannot run.
"""

from base64 import b64encode
from html import escape

from sylvan.views.board import SIZE, board_svg
from sylvan.views.protocol import Result
from sylvan.views.ranking import Move, Ranking, ranking, summary
from sylvan.views.svg import to_svg
from sylvan.views.text import counted, percent

_STYLE = """
.sylvan-result{font:13px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}
.sylvan-result .top{display:flex;flex-wrap:wrap;gap:20px;align-items:flex-start}
.sylvan-result p{margin:0 0 2px}
.sylvan-result .found{font-size:16px;font-weight:600}
.sylvan-result .took,.sylvan-result .more{opacity:.7}
.sylvan-result table{font:inherit;color:inherit;border-collapse:collapse;\
margin:8px 0 4px;font-variant-numeric:tabular-nums}
.sylvan-result th,.sylvan-result td{padding:3px 10px 3px 0;border:0;text-align:right;\
white-space:nowrap;background:none}
.sylvan-result th{font-weight:400;opacity:.7;border-bottom:1px solid #8888}
.sylvan-result .word{text-align:left}
.sylvan-result .line{text-align:left;opacity:.75;white-space:normal}
.sylvan-result .best td{font-weight:600}
.sylvan-result .bar{display:inline-block;width:64px;height:9px;margin-right:6px;background:#8883}
.sylvan-result .bar i{display:block;height:100%;background:#4a9ad8}
.sylvan-result .tree{margin-top:12px;overflow-x:auto}
"""


def to_html(
    result: Result,
    *,
    rows: int | None = 10,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int | None = None,
) -> str:
    """Return a notebook's view of a result: board, table of at most `rows` moves, and tree.

    `depth`, `nodes` and `visits` bound the tree as in `snapshot`; default: 24 nodes, at most 5
    deep.
    """
    if depth is nodes is visits is None:
        depth, nodes, visits = 5, 24, 1
    found, took = map(escape, summary(result))
    tree = to_svg(result, depth=depth, nodes=nodes, visits=visits)
    return (
        f'<div class="sylvan-result"><style>{_STYLE}</style><div class="top">{_board(result)}'
        f'<div><p class="found">{found}</p><p class="took">{took}</p>'
        f"{_table(ranking(result, rows), len(result.values))}</div></div>"
        f'<div class="tree">{tree}</div></div>'
    )


def _board(result: Result) -> str:
    svg = board_svg(result)
    if svg is None:
        return ""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="the position" width="{SIZE}" src="data:image/svg+xml;base64,{data}">'


def _table(ranked: Ranking, seats: int) -> str:
    has_proofs = any(move.proof for move in ranked.moves)
    names = ["N", "share", "Q", "P"]
    head = "".join(f"<th>{name}</th>" for name in names)
    head += '<th class="word">proven</th>' if has_proofs else ""
    head += '<th class="word">value by seat</th>' if seats > 2 else ""
    body = "".join(_row(move, has_proofs, seats) for move in ranked.moves)
    more = f"… {ranked.more:,} more with {counted(ranked.more_N, 'visit')}"
    return (
        f'<table><tr><th class="word">move</th>{head}<th class="word">line</th></tr>{body}</table>'
        + (f'<p class="more">{more}</p>' if ranked.more else "")
    )


def _row(move: Move, has_proofs: bool, seats: int) -> str:
    share = f'<span class="bar"><i style="width:{100 * (move.share or 0):.1f}%"></i></span>'
    cells = [
        f'<td class="word">{escape(move.label)}</td><td>{move.N:,}</td>',
        f"<td>{share}{percent(move.share)}</td><td>{move.Q}</td><td>{move.P}</td>",
        f'<td class="word">{move.proof}</td>' if has_proofs else "",
        f'<td class="word">{"&ensp;".join(move.values)}</td>' if seats > 2 else "",
        f'<td class="line">{escape(move.line)}</td>',
    ]
    return f"<tr{' class=best' if move.is_best else ''}>{''.join(cells)}</tr>"
