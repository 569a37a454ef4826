"""Notebooks as pages: their text, their code, and the outputs that are stored in them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any


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


def output_lines(output: dict[str, Any], name: str, files: dict[str, bytes]) -> list[str]:
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
        files[f"{name}.png"] = base64.b64decode("".join(data["image/png"]))
        return [f"![]({name}.png)"]
    text = "".join(output.get("text", data.get("text/plain", "")))
    return ["```text", text.rstrip(), "```"] if text.strip() else []
