"""Draws the pictures of `architecture.md`: `python docs/draw.py` writes them to `docs/images`.

The rooms come from the table in the page; the tree's memory comes from `BLOCKS`, which follows
the heads of `memory/node.rs`, `memory/edges.rs` and `memory/family.rs`. A test checks that the
files are up to date.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
WIDTH = 880
ROW = re.compile(r"^\| (\w+) \| `([\w./-]+)` \| (.+) \|$", re.MULTILINE)
COLOURS = {
    "core": "#f6d5c3",
    "native": "#f3e3bd",
    "base": "#e4e4e4",
    "games": "#d7ead2",
    "search": "#cfe4ea",
    "training": "#d6d9f0",
    "programs": "#ead5ea",
}

Words = list[tuple[str, int]]
"""Words of a box, and how many of a row's units each takes."""

# Kind, title, then rows of words; a row is one unit of 16 bytes.
BLOCKS: list[tuple[str, str, list[Words]]] = [
    (
        "core",
        "node: 2 units",
        [
            [("W: value sum", 8), ("N: visits", 4), ("P: prior", 4)],
            [
                ("action", 4),
                ("edges or family", 4),
                ("in flight", 2),
                ("index", 2),
                ("edges", 2),
                ("flags", 2),
            ],
        ],
    ),
    (
        "games",
        "edges: a code per action",
        [[("quantised priors of unvisited actions, 0 once visited", 12), ("best action", 4)]],
    ),
    (
        "search",
        "family: 2 units, then 3 per four children",
        [
            [("best prior", 4), ("sum of priors", 4), ("edges", 4), ("unfinished, best", 4)],
            [("next: cached choice", 4), ("slot, children", 4), ("node", 4), ("action", 4)],
            [(f"Q of child {i}", 4) for i in range(4)],
            [(f"P/(1+n) of {i}", 4) for i in range(4)],
            [(f"link to {i}", 4) for i in range(4)],
        ],
    ),
]


def svg(height: int, title: str, parts: list[str]) -> str:
    """A whole picture."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">\n<title>{escape(title)}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def box(x: float, y: float, width: float, height: float, colour: str, text: str) -> str:
    """A box with a word in its middle."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{colour}" '
        f'stroke="#666"/><text x="{x + width / 2:g}" y="{y + height / 2 + 4.5:g}" '
        f'text-anchor="middle">{escape(text)}</text>'
    )


def label(x: float, y: float, text: str) -> str:
    """A word in bold."""
    return f'<text x="{x:g}" y="{y:g}" font-weight="bold">{escape(text)}</text>'


def architecture(page: str) -> str:
    """The rooms by group; higher groups stand above lower ones, and later rooms to the right."""
    groups: dict[str, list[str]] = {}
    for group, path, _ in ROW.findall(page):
        groups.setdefault(group, []).append(Path(path).stem)
    parts, top = [], 36
    for group, rooms in reversed(groups.items()):
        language = "Rust" if group in ("core", "native") else "Python"
        parts.append(label(16, top + 21, group))
        parts.append(f'<text x="96" y="{top + 21}" fill="#666">{language}</text>')
        width = (WIDTH - 160 - 8 * (len(rooms) - 1)) / len(rooms)
        for i, room in enumerate(rooms):
            parts.append(box(144 + i * (width + 8), top, width, 32, COLOURS[group], room))
        top += 44
    note = "a room imports rooms to its left and in the rows below"
    parts.insert(0, f'<text x="144" y="22" fill="#666">{note}</text>')
    return svg(top + 8, "The rooms of Sylvan", parts)


def tree_memory() -> str:
    """The chunks of an arena, a row of 16 bytes each, and how they point to each other."""
    left, unit, line = 200, (WIDTH - 230) / 16, 30
    parts, top = [f'<text x="{left}" y="18" fill="#666">16 bytes per row</text>'], 28
    for group, title, rows in BLOCKS:
        for i, text in enumerate(title.split(": ")):
            shown = label if i == 0 else note
            parts.append(shown(16, top + 20 + 17 * i, text))
        for row in rows:
            at = 0
            for word, size in row:
                x = left + at * unit
                parts.append(box(x, top, size * unit, line, COLOURS[group], word))
                at += size
            assert at == 16, f"a row of {title} has {at} bytes"
            top += line
        top += 24
    lines = (
        "an evaluated leaf: node → edges",
        "a node with children: node → family → edges that are left",
        "link: the child's family if it has one, else its node",
    )
    for text in lines:
        parts.append(note(left, top, text))
        top += 18
    return svg(top, "The memory of a tree", parts)


def note(x: float, y: float, text: str) -> str:
    """A remark in grey."""
    return f'<text x="{x:g}" y="{y:g}" fill="#666">{escape(text)}</text>'


def pictures() -> dict[Path, str]:
    """Every picture by its file."""
    page = (DOCS / "architecture.md").read_text()
    return {
        DOCS / "images" / "architecture.svg": architecture(page),
        DOCS / "images" / "tree-memory.svg": tree_memory(),
    }


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text)
