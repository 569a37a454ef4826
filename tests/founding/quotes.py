"""Short quotations of the founding documents, kept beside the tests."""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path

DOCUMENTS = Path(__file__).parent / "documents"


def quote(document: str, heading: str) -> str:
    """The code block, or the formula between backquotes, under a heading of a document."""
    text = (DOCUMENTS / f"{document}.md").read_text()
    _, found, rest = text.partition(f"# {heading}\n")
    assert found, f"{document}.md has no heading {heading!r}"
    block = re.search(r"```python\n(.*?)```|`([^`]+)`", rest, re.DOTALL)
    return block[1] or block[2]


def without_imports(code: str) -> str:
    return "\n".join(line for line in code.splitlines() if not re.match(r"(from|import) ", line))


def parameters(header: str) -> dict[str, object]:
    """Names and defaults of a quoted `def`; those without a default have `Parameter.empty`."""
    arguments = ast.parse(f"{header.rstrip().rstrip(':')}: ...").body[0].args
    names = [argument.arg for argument in arguments.args]
    empty = [inspect.Parameter.empty] * (len(names) - len(arguments.defaults))
    defaults = [getattr(node, "value", None) for node in arguments.defaults]
    return dict(zip(names, empty + defaults, strict=True))


def own_parameters(function: Callable[..., object]) -> dict[str, object]:
    """The same of a function of ours; what may only be given by name comes on top."""
    found = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in found if p.kind is p.POSITIONAL_OR_KEYWORD}
