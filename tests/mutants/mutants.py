"""The list of mutants, and how one is put into a copy of the sources."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = Path("crates/sylvan-core/src")


@dataclass(frozen=True)
class Mutant:
    """One deliberate mistake: in `file`, `old` becomes `new`."""

    name: str
    why: str
    file: str
    old: str
    new: str

    def source(self, root: Path) -> Path:
        return root / CORE / self.file

    def apply(self, root: Path) -> str:
        """Break the sources under `root`; returns the text of the file as it was."""
        path = self.source(root)
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(
                f"mutant {self.name}: {self.old!r} occurs {text.count(self.old)} times in "
                f"{self.file}, must occur once: quote it as it stands there now"
            )
        path.write_text(text.replace(self.old, self.new))
        return text


def load() -> list[Mutant]:
    text = Path(__file__).with_name("mutants.toml").read_text()
    return [Mutant(**entry) for entry in tomllib.loads(text)["mutant"]]
