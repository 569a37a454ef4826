"""Prepares our docstrings for the site: a Griffe extension, loaded by mkdocstrings.

Docstrings are Markdown with a few habits that Markdown or Google's style would misread:

| in a docstring | on the site |
|---|---|
| `:param name: text`, `:raises Error: text` | the tables that Google's sections become |
| lines of `>>>` | a block of Python |
| lines of a name in backticks, spaces and a text | a list |
"""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

FIELD = re.compile(r":(param|raises)\s+([^:]+):\s*(.*)")
LISTED = re.compile(r"(`[\w/.]+`)\s{2,}(\S.*)")
SECTIONS = {"param": "Args", "raises": "Raises"}


class Docstrings(griffe.Extension):
    """Rewrites every docstring when its object is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = prepared(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show a setting's default and description; omit the value of `self.name = name`."""
        if "class-attribute" not in attr.labels and "instance-attribute" in attr.labels:
            attr.value = None
        elif (described := field(str(attr.value))) is not None:
            attr.value, description = described
            attr.docstring = attr.docstring or griffe.Docstring(description, parent=attr)

    def on_module_members(
        self, *, node: ast.AST | griffe.ObjectNode, mod: griffe.Module, **_: Any
    ) -> None:
        """Add the names of `A, B = 1, 2`, which Griffe omits."""
        for each in getattr(node, "body", []):
            match each:
                case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                    for name in targets:
                        if isinstance(name, ast.Name) and not name.id.startswith("_"):
                            mod.set_member(name.id, griffe.Attribute(name.id, parent=mod))


def prepared(text: str) -> str:
    """Convert a docstring to Markdown with sections in Google's style."""
    text, fields = without_fields(text)
    text = "\n".join(listed(fenced(text.splitlines())))
    for kind, title in SECTIONS.items():
        lines = [f"    {name}: {words}" for which, name, words in fields if which == kind]
        if lines:
            text += "\n".join(["\n", f"{title}:", *lines])
    return text


def field(value: str) -> tuple[str | None, str] | None:
    """The default and the description in pydantic's `Field(...)`; None for another value."""
    if not value.startswith("Field("):
        return None
    call = ast.parse(value, mode="eval").body
    assert isinstance(call, ast.Call)
    words = {each.arg: each.value for each in call.keywords}
    default = call.args[0] if call.args else words.get("default", words.get("default_factory"))
    description = words.get("description")
    text = ast.literal_eval(description) if isinstance(description, ast.Constant) else ""
    return ast.unparse(default) if default is not None else None, text


def without_fields(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Split a docstring into its text, and its fields as kind, name and words."""
    kept: list[str] = []
    fields: list[tuple[str, str, str]] = []
    inside = False
    for line in text.splitlines():
        if match := FIELD.fullmatch(line):
            fields.append((match[1], match[2], match[3]))
            inside = True
        elif inside and line.startswith(" "):
            kind, name, words = fields[-1]
            fields[-1] = (kind, name, f"{words} {line.strip()}")
        else:
            inside = False
            kept.append(line)
    return "\n".join(kept).rstrip(), fields


def fenced(lines: list[str]) -> list[str]:
    """Put fences around examples: from `>>>` to the next empty line."""
    done: list[str] = []
    indent: str | None = None
    for line in lines:
        if indent is None and line.lstrip().startswith(">>>"):
            indent = line[: len(line) - len(line.lstrip())]
            done.append(f"{indent}```pycon")
        elif indent is not None and not line.strip():
            done.append(f"{indent}```")
            indent = None
        done.append(line)
    return done if indent is None else [*done, f"{indent}```"]


def listed(lines: list[str]) -> list[str]:
    """Make lists of columns of names and texts."""
    done: list[str] = []
    before = False
    for line in lines:
        match = LISTED.fullmatch(line)
        if match and not before and done and done[-1]:
            done.append("")
        done.append(f"- {match[1]} {match[2]}" if match else line)
        before = match is not None
    return done
