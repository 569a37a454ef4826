"""docs/training-settings.md lists every setting of a run, generated from the classes.

`python -m tests.runs.test_settings_page` regenerates the page.
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sylvan.runs.config import FIXED, OTHER_NAMES, SECTIONS, SELF_PLAY_SEARCH, TrainingConfig
from sylvan.runs.presets import MACHINES, preset_settings

PAGE = Path(__file__).parents[2] / "docs" / "training-settings.md"

HEAD = """\
# Training settings

Every setting of a run. Give them on the command line, `--set learner.learning_rate=0.01`, or in a
file, `--config my.toml` (or `.yaml`), section by section:

```toml
[search]
simulations = 32

[learner]
learning_rate = 0.01
```

Settings come from a preset for the game and the machine, then a file, then the command line; the
later wins. The result is saved in the run's folder as `config.toml`. TOML has no null: a setting
that is off is `"none"`.

The section can be omitted if no other section has the name, and for settings of `run` and `search`.
Names of other programs are accepted: those of [searches](settings.md#other-names), and
{others}.

An unknown name is refused, and the closest valid one is suggested:

```python
from sylvan.errors import ConfigError
from sylvan.runs.config import TrainingConfig

try:
    TrainingConfig(game={{"name": "connect4"}}, learner={{"lerning_rate": 0.1}})
except ConfigError as error:
    assert "did you mean 'learning_rate'?" in str(error)
```

When a run is resumed, all settings may change except {fixed}.

<!-- The tables are generated from the classes: python -m tests.runs.test_settings_page -->
"""

SEARCH = """
## search

The search of each move in self-play: the [settings of a search](settings.md). Here
{defaults} by default.
"""

PRESETS = """
## Presets

The settings of `--preset`. `auto` chooses `cpu` without a GPU, `big` with a GPU of 40 GB or more,
else `gpu8`. Any other game gets the machine's sizes, a network for its observation and noise for
its number of moves.
"""


def page() -> str:
    """Generate the page."""
    others = ", ".join(f"`{name}` for `{ours}`" for name, ours in OTHER_NAMES.items())
    fixed = ", ".join(f"`{name}`" for name in FIXED[:-1]) + f" and `{FIXED[-1]}`"
    parts = [HEAD.format(others=others, fixed=fixed)]
    for name, section in SECTIONS.items():
        if name == "search":
            defaults = " and ".join(f"`{k}` is `{v!r}`" for k, v in SELF_PLAY_SEARCH.items())
            parts.append(SEARCH.format(defaults=defaults))
        else:
            parts.append(f"\n## {name}\n\n{(section.__doc__ or '').splitlines()[0]}\n\n")
            parts.append("| setting | default | meaning |\n|---|---|---|\n")
            parts += [row(section, setting) for setting in section.model_fields]
    return "".join(parts) + presets()


def row(section: type[BaseModel], name: str) -> str:
    field = section.model_fields[name]
    value = (
        "needed"
        if field.is_required()
        else f"`{shown(field.get_default(call_default_factory=True))}`"
    )
    meaning = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `{name}` | {value} | {meaning} |\n"


def shown(value: Any) -> str:
    return "none" if value is None else str(value)


def presets() -> str:
    """A table: a line per setting, a column per game and machine."""
    games = {game: [preset_settings(game, machine) for machine in MACHINES] for game in GAMES}
    flat = {game: [flattened(each) for each in found] for game, found in games.items()}
    names = list(dict.fromkeys(n for found in flat.values() for each in found for n in each))
    lines = [PRESETS]
    for game, found in flat.items():
        lines.append(f"\n### {game}\n\n| setting | {' | '.join(MACHINES)} |\n|---|---|---|---|\n")
        for name in names:
            if any(name in each for each in found):
                cells = " | ".join(
                    f"`{shown(each[name])}`" if name in each else "" for each in found
                )
                lines.append(f"| `{name}` | {cells} |\n")
    return "".join(lines)


GAMES = ("connect4", "tictactoe", "chess", "blob")


def flattened(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{name}": value
        for section, values in settings.items()
        for name, value in values.items()
        if section != "game"
    }


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run `python -m tests.runs.test_settings_page`"


def test_all_sections_are_there():
    assert list(SECTIONS) == list(TrainingConfig.model_fields)
    assert all(f"\n## {name}\n" in page() for name in SECTIONS)


if __name__ == "__main__":
    PAGE.write_text(page())
