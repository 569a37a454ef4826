"""The notebooks run from the first cell to the last, in a small version, and have outputs."""

import json
import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
EXTRAS = {"your-own-game": ["torch", "matplotlib"]}
EXTRAS["muzero-on-cartpole"] = [*EXTRAS["your-own-game"], "gymnasium", "pygame"]
"""Optional packages that a notebook needs."""

named = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(notebook, kind):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def kinds(notebook):
    """The kinds of output of each cell of code; what is printed has the kind `stream`."""
    for cell in cells_of(notebook, "code"):
        outputs = [output.get("data", {"stream": ""}) for output in cell["outputs"]]
        yield {kind for output in outputs for kind in output}


@pytest.mark.slow
@named
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the client's own
def test_runs(path, tmp_path, monkeypatch):
    """In an empty folder; `SYLVAN_QUICK` makes trainings of seconds."""
    nbformat = pytest.importorskip("nbformat", reason="the extra dev is not installed")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for module in EXTRAS.get(path.stem, []):
        pytest.importorskip(module)
    monkeypatch.setenv("SYLVAN_QUICK", "1")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # pygame draws without a screen
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(path, 4)
    stored = list(kinds(notebook))
    runner = client.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    runner.execute()
    for before, after in zip(stored, kinds(notebook), strict=True):
        assert before - {"stream"} == after - {"stream"}, "the stored outputs are of other cells"
    assert os.listdir(tmp_path)


@named
def test_outputs_are_stored_in_order(path):
    """Readers see them without running anything; they come from one run, without an error."""
    notebook = json.loads(path.read_text())
    code = cells_of(notebook, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert path.stat().st_size < 400_000


@named
def test_no_path_of_a_machine_is_stored(path):
    text = path.read_text()
    assert not any(place in text for place in ("/home/", "/root/", "/tmp/", "/work/", "/Users/"))


def test_the_page_and_the_readme_link_all():
    root = NOTEBOOKS[0].parents[2]
    for page in (root / "README.md", root / "docs" / "index.md"):
        assert all(path.name in page.read_text() for path in NOTEBOOKS), page
