"""`import sylvan` is fast: NumPy and pydantic take most of the time."""

import resource
import subprocess
import sys

import pytest

LIMIT = 2.5
"""CPU time of `import sylvan` divided by that of `import numpy, pydantic`."""


def seconds(code):
    """CPU time of a Python process that runs some code."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([sys.executable, "-c", code], check=True)
    return spent() - before


@pytest.mark.alone
def test_import_is_quick():
    least = min(seconds("import numpy, pydantic") for _ in range(5))
    assert min(seconds("import sylvan") for _ in range(5)) < LIMIT * least


def test_what_import_loads():
    """Slow modules are imported on first use."""
    code = "import sys, sylvan; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names = set(loaded.stdout.split())
    dear = {"chess", "hypothesis", "jax", "matplotlib", "mctx", "pyspiel", "pytest", "rich"}
    dear |= {"asyncio", "graphviz", "http", "markdown_it", "torch", "typer", "xml"}
    assert not names & dear
    ours = {"numpy", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "sylvan"}
    outside = {name for name in names - ours - set(sys.stdlib_module_names) if name[0] != "_"}
    assert outside <= {"typing_extensions", "distutils", "sitecustomize", "usercustomize"}


def test_the_rooms_load_when_they_are_used():
    code = (
        "import sys, sylvan; print(*(name for name in sys.modules if name.startswith('sylvan.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    rooms = {name.split(".")[1] for name in loaded.stdout.split()}
    assert rooms <= {
        "_native",
        "errors",
        "lazy",
        "evaluators",
        "games",
        "moved",
        "planning",
        "registry",
        "settings",
    }
