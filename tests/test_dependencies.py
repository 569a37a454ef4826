"""Every dependency is explained in docs/dependencies.md, and pinned in constraints.txt."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]


def canonical(requirement: str) -> str:
    """The name in a requirement, spelled as package indexes do: `open_spiel>=1.6` is open-spiel."""
    (name,) = re.findall(r"^[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name).lower()


REQUIREMENTS = [
    canonical(requirement)
    for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for requirement in group
    if not requirement.startswith("sylvan[")
]
CRATES = [name for name in CARGO["dependencies"] if not name.startswith("sylvan-")]
PINS = [
    line.partition("==")
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("name", REQUIREMENTS + CRATES)
def test_is_explained(name):
    words = {canonical(word) for word in re.findall(r"[\w-]*\w", PAGE)}
    assert canonical(name) in words


OURS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.split("## Ours where a library exists")[1].split("## ")[0].splitlines()
    if line.startswith("| ") and "`" in line
]


@pytest.mark.parametrize(("ours", "library", "reason", "command"), OURS, ids=lambda text: text[:16])
def test_our_own_code_has_a_measured_reason(ours, library, reason, command):
    """A file of ours, the library instead, figures, and the command that measures them."""
    (path,) = re.findall(r"`([\w/.-]+)`", ours)
    assert (ROOT / path).is_file() and library
    assert re.search(r"\d", reason)
    program = re.search(r"python -m ([\w.]+) (\w+)|--manifest-path (\S+)`", command)
    assert program is not None
    module, name, manifest = program.groups()
    if manifest:
        assert (ROOT / manifest).is_file()
    else:
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        assert re.search(rf"^def {name}\(", source, re.MULTILINE)


def test_all_four_are_there():
    assert len(OURS) == 4


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_is_pinned(name):
    assert name in {canonical(pinned) for pinned, _, _ in PINS}


def test_pins_are_exact():
    # Some packages have had no release but betas.
    assert all(equals and re.fullmatch(r"[\d.]+(b\d+)?", version) for _, equals, version in PINS)


def test_every_crate_dependency_comes_from_the_workspace():
    """Versions are in one place, the workspace; the crates only name them."""
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        for table in dependency_tables(tomllib.loads(manifest.read_text())):
            assert all(entry == {"workspace": True} for entry in table.values()), manifest


def dependency_tables(manifest: dict) -> list[dict]:
    platforms = manifest.get("target", {}).values()
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return [place[kind] for place in [manifest, *platforms] for kind in kinds if kind in place]
