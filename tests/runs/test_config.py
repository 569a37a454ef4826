"""One typed configuration from presets, files and the command line; wrong names are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError, GameContractError
from sylvan.runs.config import (
    SECTIONS,
    TrainingConfig,
    differences,
    merged,
    overrides,
    sectioned,
)
from sylvan.runs.presets import MACHINES, preset_settings
from sylvan.settings.file import _toml, plain_settings, read_settings, toml_text

GAME = {"name": "connect4"}


def test_every_setting_has_a_description():
    for section in SECTIONS.values():
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lerner": {}}, r"'lerner' in training.*'learner'"),
        ({"learner": {"lerning_rate": 1}}, r"'lerning_rate' in learner.*'learning_rate'"),
        ({"search": {"c_puckt": 1}}, r"'c_puckt'.*'c_puct'"),
        ({"selfplay": {"games": 0}}, r"selfplay\.games.*0.*1"),
        ({"run": {"minutes": -1}}, r"run\.minutes.*-1.*0"),
        ({"search": {"c_puct": "x"}}, r"c_puct.*'x'"),
        ({"run": 3}, r"training\.run.*3"),
    ],
)
def test_invalid_settings_raise_one_sentence(settings, sentence):
    with pytest.raises(ConfigError, match=rf"^(?-s:.*{sentence}.*)$"):
        TrainingConfig(**{"game": GAME} | settings)


def test_a_game_is_needed():
    with pytest.raises(ConfigError, match=r"training\.game"):
        TrainingConfig()


def test_searches_of_self_play_are_short_and_explore():
    assert TrainingConfig(game=GAME).search.simulations == 64
    config = TrainingConfig(game=GAME, search={"num_simulations": 9, "c_puct": 2.0})
    assert (config.search.simulations, config.search.noise, config.search.c_puct) == (9, True, 2.0)


def test_aliases_of_settings():
    settings = sectioned(
        {
            "c_puct": 1.25,
            "dirichlet_alpha": 0.3,
            "dirichlet_epsilon": 0.2,
            "simulations_per_move": 400,
            "temp_threshold": 30,
        }
    )
    config = TrainingConfig(game=GAME, **settings)
    assert config.search.c_puct == 1.25
    assert config.search.dirichlet_alpha == 0.3
    assert config.search.dirichlet_fraction == 0.2
    assert config.search.simulations == 400
    assert config.selfplay.temperature_plies == 30
    assert sectioned({"selfplay": {"temp_threshold": 5}}) == {"selfplay": {"temperature_plies": 5}}


def test_the_section_can_be_omitted_if_the_name_is_unique():
    assert overrides(["learning_rate=0.01", "seed=3", "size=2x16"]) == {
        "learner": {"learning_rate": 0.01},
        "run": {"seed": 3},
        "network": {"size": "2x16"},
    }
    with pytest.raises(ConfigError, match=r"selfplay\.games.*arena\.games"):
        overrides(["games=3"])
    with pytest.raises(ConfigError, match=r"'learner\.learning_rate'"):
        overrides(["lerning_rate=3"])
    with pytest.raises(ConfigError, match="'qqqq'"):
        overrides(["qqqq=1"])
    with pytest.raises(ConfigError, match="section"):
        overrides(["learner=1"])
    with pytest.raises(ConfigError, match="value"):
        overrides(["learner.batch"])


def test_values_are_read_as_json_else_as_text():
    texts = ["run.minutes=null", "search.noise=false", 'arena.yardsticks=["random"]', "fpu=loss"]
    assert overrides(texts) == {
        "run": {"minutes": None},
        "search": {"noise": False, "fpu": "loss"},
        "arena": {"yardsticks": ["random"]},
    }


def test_later_layers_win_setting_by_setting():
    below = {"run": {"seed": 1, "steps": 2}, "game": {"params": {"rows": 5}}}
    above = {"run": {"seed": 3}, "game": {"params": {"columns": 4}}, "learner": {"batch": 8}}
    assert merged(below, above) == {
        "run": {"seed": 3, "steps": 2},
        "game": {"params": {"rows": 5, "columns": 4}},
        "learner": {"batch": 8},
    }
    assert below["run"]["seed"] == 1


# --- files ---------------------------------------------------------------------------------------


def full(**settings):
    return TrainingConfig(game=GAME, **settings)


CONFIGS = [
    full(),
    full(run={"steps": 7}, search={"simulations": None, "seconds": 0.5, "bytes": None}),
    full(network={"settings": {"norm": "fixed", "value_hidden": 32}, "value": "scalar"}),
    full(search={"value_range": (-2.0, 3.5), "fpu": 0.25, "c_base": 19652.0}),
    TrainingConfig(game={"name": "connect4", "params": {"columns": 5, "rows": 4}}),
    TrainingConfig(game={"name": 'games/a "quoted" näme.py:Nim', "params": {"sizes": [1, 2]}}),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_saved_configuration_is_read_back(config, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(toml_text(config, "two\nlines"), encoding="utf-8")
    again = TrainingConfig(**sectioned(read_settings(path)))
    assert again == config and differences(config, again) == {}


def test_a_saved_configuration_contains_descriptions():
    text = toml_text(full(), "The head.")
    assert text.startswith("# The head.\n\n[run]\n# seed of all random choices")
    assert all(len(line) <= 100 for line in text.splitlines())
    for name, section in SECTIONS.items():
        assert f"\n[{name}]\n" in text
        assert all(f"\n{setting} = " in text for setting in section.model_fields)


def test_yaml_and_toml_give_equal_settings(tmp_path):
    (tmp_path / "a.yaml").write_text("c_puct: 2.0\nrun:\n  seed: 4\n  minutes: null\n")
    (tmp_path / "a.toml").write_text('c_puct = 2.0\n[run]\nseed = 4\nminutes = "none"\n')
    one, two = (
        TrainingConfig(game=GAME, **sectioned(read_settings(tmp_path / name)))
        for name in ("a.yaml", "a.toml")
    )
    assert one == two and one.search.c_puct == 2.0 and one.run.minutes is None


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", "{}", r"\.toml"),
        ("a.toml", "[run\n", "read"),
        ("a.yaml", "a: [", "read"),
        ("a.yaml", "- 1", "settings"),
        ("a.toml", None, "file"),
    ],
)
def test_files_that_cannot_be_read(name, text, sentence, tmp_path):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        read_settings(path)


def test_yaml_cannot_run_code(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("run: !!python/object/apply:os.getpid []\n")
    with pytest.raises(ConfigError, match="read"):
        read_settings(path)


PLAIN = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_any_plain_value_survives_toml(value):
    import tomllib

    assert tomllib.loads(f"x = {_toml(value)}") == {"x": value}


# --- presets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("game", ["tictactoe", "connect4", "chess"])
def test_presets_are_configurations_with_a_budget(game, machine):
    config = TrainingConfig(**preset_settings(game, machine))
    assert config.game.name == game
    assert (config.run.minutes is None) != (config.run.steps is None)
    assert math.isfinite(config.learner.learning_rate)


def test_a_users_game_gets_suitable_layers(tmp_path):
    path = tmp_path / "line.py"
    path.write_text(LINE)
    settings = preset_settings(f"{path}:Line", "cpu")
    assert settings["network"]["size"] == "mlp3x128"
    assert settings["search"]["dirichlet_alpha"] == 1.0
    assert TrainingConfig(**settings).game.name == f"{path}:Line"


def test_an_unknown_preset_is_named():
    with pytest.raises(ConfigError, match="'huge'"):
        preset_settings("connect4", "huge")
    with pytest.raises(ConfigError, match=r"'conect4'.*'connect4'"):
        preset_settings("conect4", "cpu")


def test_a_game_that_fails_in_its_first_state_raises_one_sentence(tmp_path):
    path = tmp_path / "line.py"
    path.write_text(LINE.replace("return np.eye", "return 1 / 0 * np.eye"))
    with pytest.raises(GameContractError, match="ZeroDivisionError"):
        preset_settings(f"{path}:Line", "cpu")


LINE = """
import numpy as np
import sylvan

class Line(sylvan.Game):
    num_players, num_actions = 2, 3
    def __init__(self): self.left, self.seat = 7, 0
    def legal_actions(self): return [n for n in range(3) if n < self.left]
    def apply(self, action): self.left -= action + 1; self.seat ^= 1
    def clone(self):
        other = Line(); other.left, other.seat = self.left, self.seat; return other
    def to_play(self): return self.seat
    def is_terminal(self): return self.left == 0
    def returns(self): return [1.0, -1.0] if self.seat else [-1.0, 1.0]
    def observation(self): return np.eye(8, dtype=np.float32)[self.left]
"""


def test_machine_dependent_settings_are_filled_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = TrainingConfig(game={"name": "line.py:Line"}).resolved()
    assert config.run.threads is not None and config.run.device in ("cpu", "cuda")
    assert config.game.name == f"{tmp_path}/line.py:Line"
    assert config.resolved() == config
    assert plain_settings(config)["run"]["threads"] == config.run.threads
