"""Builds the documentation site: `make docs` runs it, and it writes to `out/site`.

The site has the pages of the repository at the same paths, so that links between them are the
same in both; the API reference, a page per room, made from docstrings; and the notebooks. Zensical
renders it. Warnings, dead links and links to missing headings are errors, and so are requests that
would leave the site and public names that are missing.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from docs.site.api import api_pages
from docs.site.notebooks import notebook_page

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SOURCE = ROOT / "out" / "site-source"
SITE = ROOT / "out" / "site"
PAGES = SOURCE / "pages"

COPIED = [
    "*.md",
    "LICENSE",
    "docs/*.md",
    "docs/images/*",
    "docs/site/site.css",
    "benchmarks/*.md",
    "tests/*.md",
    "examples/plugin/*.md",
]

SHIM = re.compile(r"https://[\w./-]+/iframe-worker/shim")

ELEMENT = re.compile(r"<(script|img|iframe|link)\b[^>]*>")
ELSEWHERE = re.compile(r"""\b(?:src|href)=["']?(?:https?:)?//""")
"""For these elements a browser asks another server, except for some kinds of link."""


def main() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    copy_pages()
    notebooks = make_notebook_pages()
    api = api_pages()
    for name, text in api.items():
        write(PAGES / name, text.encode())
    config = (HERE / "zensical.toml").read_text()
    config = with_entries(config, "API", api)
    config = with_entries(config, "Notebooks", notebooks)
    config = with_entries(config, "Benchmarks", benchmark_pages())
    write(SOURCE / "zensical.toml", config.encode())
    render()
    use_own_shim()
    check_requests()
    check_names(api)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(SOURCE / "site", SITE)
    print(f"The site is in {SITE.relative_to(ROOT)}: open {SITE.relative_to(ROOT)}/index.html.")


def copy_pages() -> None:
    for pattern in COPIED:
        for path in ROOT.glob(pattern):
            data = path.read_bytes()
            if path.suffix == ".md":  # notebooks are pages here
                data = data.replace(b".ipynb)", b".md)")
            write(PAGES / path.relative_to(ROOT), data)


def make_notebook_pages() -> list[str]:
    """Write the notebooks' pages and pictures; return the pages."""
    folder = Path("examples/notebooks")
    notebooks = sorted((ROOT / folder).glob("*.ipynb"))
    for path in notebooks:
        for file, data in notebook_page(path).items():
            write(PAGES / folder / file, data)
    return [str(folder / f"{path.stem}.md") for path in notebooks]


def benchmark_pages() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "benchmarks").glob("*.md"))


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def with_entries(config: str, title: str, pages: Iterable[str]) -> str:
    """Fill an empty list of the navigation with pages, which are named by their headings."""
    empty = f'{{ "{title}" = [] }}'
    assert empty in config, title
    return config.replace(empty, f'{{ "{title}" = {json.dumps(list(pages))} }}')


def render() -> None:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
    report = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    if done.returncode or re.search(r"^(griffe|mkdocstrings|autorefs):", report, re.MULTILINE):
        report = report.partition("Traceback (most recent call last)")[0]
        sys.exit(f"{report}\nerror: the site is not built: mend the warnings above")


def use_own_shim() -> None:
    """Search in a folder needs a script that Zensical links from elsewhere: take our copy."""
    own = "assets/javascripts/iframe-worker.js"
    write(SOURCE / "site" / own, (HERE / "iframe-worker.js").read_bytes())
    for path in (SOURCE / "site").rglob("*.html"):
        up = "../" * len(path.relative_to(SOURCE / "site").parts[:-1])
        path.write_text(SHIM.sub(up + own, path.read_text()))


def check_requests() -> None:
    for path in (SOURCE / "site").rglob("*.html"):
        if found := requests_in(path.read_text()):
            sys.exit(f"error: {path.name} makes requests: {', '.join(found)}")


def requests_in(page: str) -> list[str]:
    """The elements for which a browser asks another server."""
    found = [match[0] for match in ELEMENT.finditer(page) if ELSEWHERE.search(match[0])]
    return [each for each in found if not re.search(r"rel=[\"']?(canonical|next|prev)", each)]


def check_names(api: dict[str, str]) -> None:
    """Every name of the templates has its place in the built pages."""
    for path, text in api.items():
        page = (SOURCE / "site" / path).with_suffix(".html").read_text()
        ids = set(re.findall(r'\bid="?([\w.]+)', page))
        wanted = re.findall(r"^::: (\S+)$(?!\n    options:)", text, re.MULTILINE)
        if missing := [name for name in wanted if name not in ids]:
            sys.exit(f"error: {path} lacks {', '.join(missing)}")


if __name__ == "__main__":
    main()
