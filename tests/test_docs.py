"""Code in README.md and docs/ runs.

The ```python blocks of a page share one namespace and run in order, in an empty folder; in a
```console block every line `$ sylvan ...` is run and must succeed, or, if a line `error: ...`
follows, fail with this line. A block right after the comment
`<!-- not run: reason -->` is not run; one after `<!-- file: name -->` is also written to that file.

The commands run as in an activated environment with all extras. So other tests check that the pages
say how to activate one, and which extras they need.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sylvan.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"```(\w*)")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
FILE = re.compile(r"<!-- file: ([\w.]+) -->")


# Commands that a shell runs: with files for input and output, with signals and processes of their
# own, or with the shell's own files.
BY_SHELL = re.compile(r"[<>|]|\bsylvan uci\b|--cluster|--install-completion")

# Pages that take more than a few seconds.
LONG = {
    "command-line",
    "analyse-a-game",
    "play-and-match",
    "networks",
    "resume-compare-export",
    "train-your-own-game",
    "muzero-on-your-environment",
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def marks(page: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if page.stem in LONG else []


@dataclass
class Block:
    language: str
    line: int  # the number of its first line of code, from 1
    code: str
    file: str | None = None  # the file to save it in


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page that must run."""
    lines = enumerate(text.splitlines(), start=1)
    before = ""  # the last line that was not empty
    for number, line in lines:
        if fence := FENCE.match(line):
            code = []
            for _, inside in lines:
                if inside.startswith("```"):
                    break
                code.append(inside)
            if not NOT_RUN.fullmatch(before):
                saved = FILE.fullmatch(before)
                yield Block(fence[1], number + 1, "\n".join(code), saved and saved[1])
        if line.strip():
            before = line.strip()


def commands(code: str) -> list[tuple[str, str | None]]:
    """The `sylvan` commands of a console block, each with the error that the next line has; a
    backslash continues a line.
    """
    lines = code.replace("\\\n", " ").splitlines()
    return [
        (line[2:], after if after.startswith("error: ") else None)
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("$ sylvan")
    ]


def run_command(command: str, where: str, error: str | None = None) -> None:
    """Run a command: in this process, which has the modules already, or by a shell."""
    if BY_SHELL.search(command):
        code, stdout, stderr = run_by_shell(command)
    else:
        words = shlex.split(command, comments=True)[1:]
        found = CliRunner().invoke(app, words, prog_name="sylvan")
        code, stdout, stderr = found.exit_code, found.stdout, found.stderr
    shown = f"{where}: {command}\n{stdout}{stderr}"
    if error is None:
        assert code == 0, shown
    else:
        assert (code, stderr.strip()) == (2, error), shown


def run_by_shell(command: str) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=name(page), marks=marks(page)) for page in PAGES]
)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page.read_text()):
        if block.file is not None:
            Path(block.file).write_text(block.code + "\n")
        if block.language == "python":
            # Blank lines in front make a traceback point at the page's own line.
            source = "\n" * (block.line - 1) + block.code
            exec(compile(source, str(page), "exec"), namespace)
        elif block.language == "console":
            for command, error in commands(block.code):
                run_command(command, f"{page.relative_to(ROOT)}:{block.line}", error)


@pytest.mark.parametrize(
    "page", [pytest.param(ROOT / page, id=page) for page in ("README.md", "docs/tutorial.md")]
)
def test_the_environment_is_activated_before_sylvan_is_called(page):
    """`make demo` installs into `.venv`, whose commands a new shell does not find."""
    before, activated, _ = page.read_text().partition("source .venv/bin/activate")
    assert activated
    assert "make demo" in before
    assert "$ sylvan" not in before


NEEDS = {
    "train": r"sylvan (train|pretrain|practise|runs)\b|benchmarks\.selfplay",
    "torch": r"\bimport torch|from torch\b|build_network|export_onnx|backend=\"torch\"",
    "gym": r"gymnasium|gym:",
    "openspiel": r"open_spiel:",
    "web": r"sylvan web\b",
    "cluster": r"--cluster\b",
    "notebook": r"\.widget\(",
}
"""By extra, what needs it in the code of a page."""


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])
def test_a_page_names_the_extras_that_it_needs(page):
    text = page.read_text()
    code = "\n".join(
        re.findall(r"^```(?:python|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    )
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"extras?(?=\W)[^.]*", text))))
    if "train" in named:
        named.add("torch")
    assert {extra for extra, code_of in NEEDS.items() if re.search(code_of, code)} <= named


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])
def test_installing_by_name_is_never_the_only_way(page):
    """`pip install 'sylvan[train]'` fails on a clean clone: Sylvan is on no package index."""
    text = page.read_text()
    assert "pip install sylvan" not in text
    if re.search(r"pip install ['\"]sylvan", text):
        assert re.search(r"pip install -e '\.\[", text)


def test_the_files_of_the_search_exist():
    """Every file that "How the search works" names, and every name in it that it points to."""
    page = (ROOT / "docs" / "how-the-search-works.md").read_text()
    places = {"rs": ROOT / "crates/sylvan-core/src", "py": ROOT / "python/sylvan/reference"}
    found = 0
    for lines in re.findall(r"^Files: (.+?)\n\n", page, re.MULTILINE | re.DOTALL):
        for file, ending, remark in re.findall(r"`([\w/]+\.(rs|py))`(?: \(([^)]*)\))?", lines):
            place = ROOT / "python/sylvan" if file.startswith("planning/") else places[ending]
            if file.startswith("examples/"):
                place = ROOT
            text = (place / file).read_text()
            for name in re.findall(r"`(\w+)`", remark):
                assert re.search(rf"\b(fn|struct|enum|def|class) {name}\b", text), (file, name)
                found += 1
    assert found > 15


def test_every_page_is_in_the_index():
    index = ROOT / "docs" / "index.md"
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index.read_text()))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == linked | {index.name}


def test_every_command_is_in_the_table():
    from sylvan.cli import COMMANDS

    page = (ROOT / "docs" / "command-line.md").read_text()
    table = set(re.findall(r"^\| \[`sylvan ([\w-]+)`\]\(", page, re.MULTILINE))
    assert table == {command.__name__.replace("_", "-") for command in COMMANDS} | {"runs"}


def test_a_reason_leaves_one_block_out():
    text = "<!-- not run: needs a network -->\n\n```python\na\n```\ntext\n```python\nb\n```\n"
    assert list(blocks(text)) == [Block("python", 8, "b")]


def test_a_file_is_saved_and_run():
    text = "<!-- file: game.py -->\n```python\na\n```\n"
    assert list(blocks(text)) == [Block("python", 3, "a", "game.py")]


def test_only_our_commands_are_run():
    code = "$ make demo\n$ sylvan bench \\\n    --json\nsylvan 0.1\n$ sylvan doctor"
    assert commands(code) == [("sylvan bench      --json", None), ("sylvan doctor", None)]


def test_a_failing_command_is_a_failure():
    with pytest.raises(AssertionError, match=r"page\.md:3: sylvan no-such-command"):
        run_command("sylvan no-such-command", "page.md:3")


def test_a_documented_error_is_compared():
    ((command, error),) = commands("$ sylvan play conect4\nerror: There is no game")
    with pytest.raises(AssertionError, match="did you mean 'connect4'"):
        run_command(command, "page.md:3", error)
    with pytest.raises(AssertionError):
        run_command("sylvan --version", "page.md:3", error)
