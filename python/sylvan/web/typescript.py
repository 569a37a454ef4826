"""The protocol's types in TypeScript: `python -m sylvan.web.typescript > web/src/protocol.ts`."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from sylvan.web import protocol

__all__ = ["typescript"]

_HEAD = """\
// Made from python/sylvan/web/protocol.py by `python -m sylvan.web.typescript`: do not edit.
"""


def typescript() -> str:
    """The types of all messages; a test compares them with the file in the repository."""
    parts = [_HEAD]
    for name, union in (("Request", protocol.Request), ("Message", protocol.Message)):
        # Requests may leave defaults out; messages are complete.
        mode: Literal["validation", "serialization"]
        mode = "validation" if name == "Request" else "serialization"
        adapter: TypeAdapter[Any] = TypeAdapter(union)  # type: ignore[arg-type]
        schema = adapter.json_schema(mode=mode)
        whole = mode == "serialization"
        parts += [_interface(key, each, whole) for key, each in schema["$defs"].items()]
        parts.append(f"export type {name} = {' | '.join(_names(union))};\n")
    return "\n".join(dict.fromkeys(parts))


def _names(union: UnionType) -> list[str]:
    return [each.__name__ for each in get_args(union)]


def _interface(name: str, schema: dict[str, Any], whole: bool) -> str:
    required = schema.get("required", [])
    lines = [
        f"  {key}{'' if whole or key in required else '?'}: {_type(each)};"
        for key, each in schema["properties"].items()
    ]
    about = str(schema.get("description", "")).partition("\n")[0]
    return "\n".join([f"/** {about} */", f"export interface {name} {{", *lines, "}", ""])


def _type(schema: dict[str, Any]) -> str:
    """A JSON schema as a type."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(map(_type, schema[union])))
    kind = schema["type"]
    if kind == "array":
        item = _type(schema["items"])
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object":
        return f"Record<string, {_type(schema['additionalProperties'])}>"
    plain = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
    return plain.get(kind, "string")


if __name__ == "__main__":
    print(typescript(), end="")
