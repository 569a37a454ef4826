#!/usr/bin/env python3
"""Check a wheel: its size and contents, then in empty environments, away from the source tree.

    .ci/check_wheel.py dist/sylvan-0.2.0-....whl

The environments are of the oldest and the newest Python here that Sylvan supports, and have nothing
but the wheel and its dependencies. A wheel for another processor is only read, not installed.
Needs only Python's standard library.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
SIZE = 12e6
"""The most bytes a wheel may have."""

CARRIED = [
    "py.typed",
    "_native.pyi",
    "_native.abi3.so",
    *(f"web/static/app.{kind}" for kind in ("css", "js")),
    *(f"web/static/{name}" for name in ("index.html", "icon.svg", "widget.js")),
    *(f"nets/{game}.onnx" for game in ("blob", "chess", "connect4", "tictactoe")),
    *(f"games/data/connect_four_{level}.txt" for level in ("easy", "medium", "hard")),
]

SEARCH = """
import sys
import sylvan
from sylvan.games import Chess

assert sylvan.__file__.startswith(sys.prefix), sylvan.__file__
back_rank = Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
result = sylvan.search(back_rank, simulations=1000)
assert back_rank.action_to_string(result.best) == "a1a8"
print(result)
"""


def main(wheel: Path) -> None:
    check_contents(wheel)
    if not wheel.stem.endswith(platform.machine()):
        print(f"{wheel.name} is for another processor: it is not installed here")
        return
    for python in pythons():
        check_installed(wheel, python)


def check_contents(wheel: Path) -> None:
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB")
    if size > SIZE:
        sys.exit(f"error: the wheel has more than {SIZE / 1e6:.0f} MB")
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in CARRIED if f"sylvan/{name}" not in names]
    if missing:
        sys.exit(f"error: the wheel lacks {', '.join(missing)}")


def pythons() -> list[str]:
    """The oldest and the newest Python on the path or of pyenv; one, if there is only one."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], OLDEST[1] + 10)]
    pyenv = sorted(Path.home().glob(".pyenv/versions/*/bin/python"))
    found: dict[tuple[int, int], str] = {}
    for python in [*map(str, pyenv), *names, "python3", sys.executable]:
        code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
        try:
            asked = subprocess.run([python, "-c", code], capture_output=True, text=True)
        except FileNotFoundError:
            continue
        # A shim of pyenv fails for versions that are not chosen.
        if version := re.fullmatch(r"(\d+) (\d+)", asked.stdout.strip()):
            found.setdefault((int(version[1]), int(version[2])), python)
    supported = sorted(version for version in found if version >= OLDEST)
    return [found[version] for version in dict.fromkeys([supported[0], supported[-1]])]


def check_installed(wheel: Path, python: str) -> None:
    """Install a wheel into an empty environment, and search with it."""
    with tempfile.TemporaryDirectory() as folder:
        away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        away["PATH"] = f"{folder}/venv/bin{os.pathsep}{os.environ['PATH']}"

        def run(*command: str | Path, text: str | None = None) -> None:
            words = (Path(word).name if "/" in str(word) else str(word) for word in command)
            print("$", *(word for word in words if "\n" not in word), flush=True)
            subprocess.run(command, cwd=folder, env=away, input=text, text=True, check=True)

        run(python, "-m", "venv", f"{folder}/venv")
        pip: list[str | Path] = [f"{folder}/venv/bin/python", "-m", "pip", "install", "--quiet"]
        run(*pip, "-c", ROOT / "constraints.txt", wheel.resolve())
        commands = f"{folder}/venv/bin/sylvan"
        run(commands, "--version")
        run(commands, "doctor")
        run(commands, "analyze", "--simulations", "2000", "--tree", "tree.svg")
        run(f"{folder}/venv/bin/sylvan-uci", text="uci\ngo nodes 100\nquit\n")
        run(f"{folder}/venv/bin/python", "-c", SEARCH)
        check_missing_extra(commands, folder, away)


def check_missing_extra(command: str, folder: str, env: dict[str, str]) -> None:
    """Training needs PyTorch, which is absent: one line must name the extra to install."""
    asked = subprocess.run(
        [command, "train", "tictactoe", "--minutes", "0.1"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    print("$ sylvan train tictactoe\n" + asked.stderr.strip(), flush=True)
    one_line = asked.stderr.startswith("error: ") and asked.stderr.count("\n") == 1
    if asked.returncode != 2 or not one_line or "sylvan[train]" not in asked.stderr:
        sys.exit("error: without PyTorch, `sylvan train` must say which extra to install")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
