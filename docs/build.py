"""Builds the documentation site: `make docs` runs it, and it writes to `out/site`.

The site has the pages of the repository at the same places, so that links between them are the
same in both; the API reference, a page per room, made from docstrings; and the notebooks. Zensical
renders it. Warnings, dead links and links to missing headings are errors, and so are requests that
would leave the site and public names that are missing.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import sylvan

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "out" / "site-source"
SITE = ROOT / "out" / "site"
NOTEBOOKS = ROOT / "examples" / "notebooks"

COPIED = [
    "*.md",
    "LICENSE",
    "docs/*.md",
    "docs/images/*",
    "docs/site.css",
    "benchmarks/*.md",
    "tests/*.md",
]
COPIED += ["examples/plugin/*.md"]

NO_API = ("sylvan.cli", "sylvan.moved")
"""Commands have a page of their own; moved names are old ones."""

WITHOUT_MEMBERS = [
    "    options:",
    "      members: false",
    "      show_root_heading: false",
    "      show_root_toc_entry: false",
]
"""Only the text of a module."""

ELEMENT = re.compile(r"<(script|img|iframe|link)\b[^>]*>")
ELSEWHERE = re.compile(r"""\b(?:src|href)=["']?(?:https?:)?//""")
"""For these elements a browser asks another server, except for some kinds of link."""


def main() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = SOURCE / "pages"
    for pattern in COPIED:
        for path in ROOT.glob(pattern):
            data = path.read_bytes()
            if path.suffix == ".md":  # notebooks are pages here
                data = data.replace(b".ipynb)", b".md)")
            write(pages / path.relative_to(ROOT), data)
    notebooks = {
        f"examples/notebooks/{path.stem}.md": path for path in sorted(NOTEBOOKS.glob("*.ipynb"))
    }
    for name, path in notebooks.items():
        for file, data in notebook_page(path).items():
            write((pages / name).parent / file, data)
    api = api_pages()
    for name, text in api.items():
        write(pages / name, text.encode())
    config = (ROOT / "docs" / "zensical.toml").read_text()
    config = with_entries(config, "API", api)
    config = with_entries(config, "Notebooks", notebooks)
    config = with_entries(config, "Benchmarks", sorted(benchmark_pages()))
    write(SOURCE / "zensical.toml", config.encode())
    render()
    use_own_shim()
    check_requests()
    check_names(api)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(SOURCE / "site", SITE)
    print(f"The site is in {SITE.relative_to(ROOT)}: open {SITE.relative_to(ROOT)}/index.html.")


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# --- The API reference -------------------------------------------------------------------------


def public_modules() -> Iterator[ModuleType]:
    """All modules of the package that have an API, packages before what they contain."""
    yield sylvan
    for found in pkgutil.walk_packages(sylvan.__path__, "sylvan."):
        if not found.name.startswith((*NO_API, "sylvan._")) and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def public_names(module: ModuleType) -> list[str]:
    """The public names of a module, without modules and dunders."""
    names = getattr(module, "__all__", [])
    found = [name for name in names if not name.startswith("__")]
    return [name for name in found if not isinstance(getattr(module, name), ModuleType)]


def api_pages() -> dict[str, str]:
    """The pages of the API as templates for mkdocstrings, by path: one per room."""
    seen: dict[int | str, str] = {}  # the place of each object
    rooms: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in public_modules():
            room = module.__name__.split(".")[1] if module is not sylvan else "sylvan"
            rooms.setdefault(room, []).extend(api_section(module, seen))
    pages = {f"api/{room}.md": "\n".join(lines) for room, lines in rooms.items() if len(lines) > 8}
    return {"api/index.md": api_index(pages), **pages}


def api_section(module: ModuleType, seen: dict[int | str, str]) -> list[str]:
    """A module's heading and text, then its names; those of earlier sections as links."""
    title = "#" if module.__name__.count(".") < 2 else "##"
    lines = [f"{title} {module.__name__}", "", f"::: {module.__name__}", *WITHOUT_MEMBERS, ""]
    elsewhere = []
    for name in public_names(module):
        place = f"{module.__name__}.{name}"
        found = getattr(module, name)
        # Equal constants are not the same constant: only classes and functions have an identity.
        unique = id(found) if inspect.isclass(found) or inspect.isroutine(found) else place
        if seen.setdefault(unique, place) == place:
            lines += [f"::: {place}", ""]
        else:
            elsewhere.append(f"[`{name}`][{seen[unique]}]")
    return [*lines, f"Described elsewhere: {', '.join(elsewhere)}.", ""] if elsewhere else lines


def api_index(pages: dict[str, str]) -> str:
    lines = ["# API reference", "", "Every public name, room by room, from the docstrings.", ""]
    for path in pages:
        room = Path(path).stem
        module = sylvan if room == "sylvan" else importlib.import_module(f"sylvan.{room}")
        first = (module.__doc__ or "").partition("\n")[0]
        lines.append(f"- [`{module.__name__}`]({room}.md): {first}")
    return "\n".join([*lines, ""])


def check_names(api: dict[str, str]) -> None:
    """Every name of the templates has its place in the built pages."""
    for path, text in api.items():
        page = (SOURCE / "site" / path).with_suffix(".html").read_text()
        places = set(re.findall(r'\bid="?([\w.]+)', page))
        wanted = re.findall(r"^::: (\S+)$(?!\n    options:)", text, re.MULTILINE)
        if missing := [name for name in wanted if name not in places]:
            sys.exit(f"error: {path} lacks {', '.join(missing)}")


# --- Notebooks and the list of pages -----------------------------------------------------------


def notebook_page(path: Path) -> dict[str, bytes]:
    """A notebook as a page, and its pictures, by name."""
    notebook = json.loads(path.read_text())
    files: dict[str, bytes] = {}
    lines = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source.replace(".ipynb)", ".md)"), ""]
            continue
        lines += ["```python", source, "```", ""]
        for output in cell["outputs"]:
            lines += [*output_lines(output, f"{path.stem}-{len(files)}", files), ""]
    return {f"{path.stem}.md": "\n".join(lines).encode(), **files}


def output_lines(output: dict, name: str, files: dict[str, bytes]) -> list[str]:
    """A cell's output as Markdown; a picture is added to `files`."""
    data = output.get("data", {})
    if "text/html" in data:
        page = "".join(data["text/html"])
        return [
            '<div class="output">',
            *(line for line in page.splitlines() if line.strip()),
            "</div>",
        ]
    if "image/svg+xml" in data:
        files[f"{name}.svg"] = "".join(data["image/svg+xml"]).encode()
        return [f"![]({name}.svg)"]
    if "image/png" in data:
        import base64

        files[f"{name}.png"] = base64.b64decode("".join(data["image/png"]))
        return [f"![]({name}.png)"]
    text = "".join(output.get("text", data.get("text/plain", "")))
    return ["```text", text.rstrip(), "```"] if text.strip() else []


def benchmark_pages() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in (ROOT / "benchmarks").glob("*.md")]


def with_entries(config: str, title: str, pages: object) -> str:
    """Fill an empty list of the navigation with pages, which are named by their headings."""
    empty = f'{{ "{title}" = [] }}'
    assert empty in config, title
    return config.replace(empty, f'{{ "{title}" = {json.dumps(list(pages))} }}')


# --- Zensical ----------------------------------------------------------------------------------


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
    write(SOURCE / "site" / own, (ROOT / "docs" / "iframe-worker.js").read_bytes())
    for path in (SOURCE / "site").rglob("*.html"):
        up = "../" * len(path.relative_to(SOURCE / "site").parts[:-1])
        path.write_text(path.read_text().replace("https://unpkg.com/iframe-worker/shim", up + own))


def check_requests() -> None:
    for path in (SOURCE / "site").rglob("*.html"):
        if found := requests_in(path.read_text()):
            sys.exit(f"error: {path.name} makes requests: {', '.join(found)}")


def requests_in(page: str) -> list[str]:
    """The elements for which a browser asks another server."""
    found = [match[0] for match in ELEMENT.finditer(page) if ELSEWHERE.search(match[0])]
    return [each for each in found if not re.search(r"rel=[\"']?(canonical|next|prev)", each)]


if __name__ == "__main__":
    main()
