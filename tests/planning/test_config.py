"""`SearchConfig`: every setting documented, frozen, changed by `replace`, complete for the core."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Search, SearchConfig, _native
from sylvan.errors import ConfigError
from sylvan.games import ConnectFour, TicTacToe
from sylvan.planning.config import ALIASES, GUMBEL_MOST
from tests.planning.settings import configs

FIELDS = sorted(SearchConfig.model_fields)


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_does(name):
    description = SearchConfig.model_fields[name].description
    assert description and not description.endswith(".")


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_is_allowed(name):
    field = SearchConfig.model_fields[name]
    assert not field.is_required()
    assert getattr(SearchConfig(**{name: field.default}), name) == field.default


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_every_alias_sets_its_setting(alias, name):
    assert alias not in FIELDS
    value = True if name == "noise" else {"bytes": 2**20}.get(name, 1)
    assert getattr(SearchConfig(**{alias: value}), name) == value
    assert SearchConfig().replace(**{alias: value}) == SearchConfig(**{name: value})


@given(configs())
def test_a_config_survives_the_way_through_json(config):
    assert SearchConfig.model_validate_json(config.model_dump_json()) == config
    assert SearchConfig(**config.model_dump()) == config


@pytest.mark.slow
@given(configs(), configs(), st.sampled_from(FIELDS))
def test_replace_changes_what_it_names_and_nothing_else(config, other, name):
    try:
        changed = config.replace(**{name: getattr(other, name)})
    except ConfigError:  # two settings that do not go together
        return
    assert getattr(changed, name) == getattr(other, name)
    assert changed.model_dump(exclude={name}) == config.model_dump(exclude={name})


@pytest.mark.parametrize("number", [1e9, 1e12])
def test_a_number_that_is_too_large_gets_a_true_sentence(number):
    """1e9 itself is refused, so the sentence must not call the range closed."""
    with pytest.raises(ConfigError, match="1e9"):
        SearchConfig(temperature=number)
    assert SearchConfig(temperature=9e8).temperature == 9e8


def test_replace_with_nothing_is_the_same_config():
    config = SearchConfig(simulations=3)
    assert config.replace() is config


@pytest.mark.parametrize("name", FIELDS)
def test_settings_are_frozen(name):
    config = SearchConfig()
    before = config.model_dump()
    with pytest.raises(ConfigError, match="frozen"):
        setattr(config, name, 1)
    assert config.model_dump() == before


def test_configs_are_values():
    assert SearchConfig(simulations=7) == SearchConfig(num_simulations=7)
    assert len({SearchConfig(), SearchConfig(), SearchConfig(seed=1)}) == 2


@given(configs())
def test_native_settings_cover_every_field(config):
    """The reductions travel inside the two first-play urgencies; all else goes by its name."""
    native = config.native((-1.0, 1.0))
    inside = {"fpu_reduction", "fpu_root_reduction"}
    assert set(FIELDS) - native.keys() == {"deals"}  # dealt before the core comes in
    assert native.keys() - set(FIELDS) == {"value_bounds", "fpu_number", "fpu_root_number"}
    own = set(FIELDS) - inside - {"fpu", "fpu_root", "value_range", "collisions", "deals"}
    assert all(native[name] == getattr(config, name) for name in own)
    assert native["collisions"] == (
        config.leaves_in_flight if config.collisions is None else config.collisions
    )


def test_the_core_reads_every_native_setting():
    """A setting that the core does not read would be ignored silently."""
    native = SearchConfig().native((-1.0, 1.0))
    asked = set()

    class Watched(dict):
        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

    rules = [{"selection": rule} for rule in ("puct", "uct", "gumbel")]
    for change in [*rules, {"noise": True}, {"widening": 1.0}]:
        _native.Forest([TicTacToe()], Watched({**native, **change}))
    reductions = {"fpu_reduction", "fpu_root_reduction"}  # already in fpu_number
    assert asked == native.keys() - reductions


@pytest.mark.parametrize("name", ["selection", "hidden", "fpu", "fpu_root", "value_range"])
def test_the_core_refuses_an_unknown_choice(name):
    """It once fell back to a default without a word."""
    native = SearchConfig().native((-1.0, 1.0))
    with pytest.raises(ValueError, match=f"^{name} is .*foo"):
        _native.Forest([TicTacToe()], {**native, name: "foo"})


@pytest.mark.parametrize(
    ("settings", "root", "expected"),
    [
        ({}, False, ("reduction", 0.3)),
        ({}, True, ("reduction", 0.3)),
        ({"fpu_root_reduction": 0.0}, True, ("reduction", 0.0)),
        ({"fpu_root_reduction": 0.1}, False, ("reduction", 0.3)),
        ({"fpu_root": "loss"}, True, ("loss", 0.0)),
        ({"fpu_root": "loss"}, False, ("reduction", 0.3)),
        ({"fpu": "parent"}, True, ("parent", 0.0)),
        ({"fpu": "zero"}, False, ("value", 0.0)),
        ({"fpu": -0.5}, False, ("value", -0.5)),
        ({"fpu": "parent", "fpu_root": 0}, True, ("value", 0.0)),
    ],
)
def test_first_play_urgency_at_the_root_and_inside(settings, root, expected):
    assert SearchConfig(**settings).fpu_rule(root=root) == expected


@pytest.mark.parametrize(
    ("value_range", "game_range", "expected"),
    [
        ("game", (-1.0, 1.0), (-1.0, 1.0)),
        ("game", (0.0, math.inf), None),
        ("game", (2.0, 2.0), None),
        ("tree", (-1.0, 1.0), None),
        ("siblings", (-1.0, 1.0), None),
        ((-3.0, 5.0), (-1.0, 1.0), (-3.0, 5.0)),
    ],
)
def test_the_known_range_of_values(value_range, game_range, expected):
    config = SearchConfig(value_range=value_range)
    assert config.bounds(game_range) == expected
    native = config.native(game_range)
    assert native["value_bounds"] == expected
    learned = "siblings" if value_range == "siblings" else "tree"
    assert native["value_range"] == ("known" if expected else learned)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(2**70), 2**70)


@given(name=st.sampled_from(FIELDS), value=NUMBERS | st.text(max_size=5) | st.none())
def test_any_value_is_taken_or_refused_in_one_sentence(name, value):
    """No number gets past the checks that the core could not hold."""
    refusal, config = "", SearchConfig()
    try:
        config = SearchConfig(**{name: value})
    except ConfigError as error:
        refusal = str(error)
    assert re.fullmatch(r"|[^\n]+[.?]", refusal)
    _native.Forest([TicTacToe()], config.native((-1.0, 1.0)))


def test_a_gumbel_search_is_planned_within_reason():
    assert SearchConfig(selection="gumbel", simulations=GUMBEL_MOST)
    with pytest.raises(ConfigError, match=r"at most \d+"):
        SearchConfig(selection="gumbel", simulations=GUMBEL_MOST + 1)


EXTREMES = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([0.0, 1e-300, 1.0, 9e8])
        for name in ("c_puct", "c_factor", "c_uct", "gumbel_scale", "c_visit", "c_scale")
    }
    | {name: st.sampled_from([1e-300, 9e8]) for name in ("c_base", "dirichlet_alpha")}
    | {
        "selection": st.sampled_from(["puct", "uct", "gumbel"]),
        "fpu": st.sampled_from(["loss", "reduction", -9e8, 9e8]),
        "fpu_reduction": st.just(9e8),
        "value_range": st.sampled_from(["tree", "siblings", (-9e8, 9e8), (0.0, 1e-6)]),
        "discount": st.sampled_from([0.0, 1e-300]),
        "noise": st.just(True),
        "temperature": st.sampled_from([1e-300, 9e8]),
    },
)


@given(EXTREMES, st.sampled_from([TicTacToe(), ConnectFour()]))
def test_every_setting_that_is_taken_gives_numbers(extremes, game):
    search = Search("hash_random", simulations=40, **extremes)
    result = search.run(game)
    assert result.simulations == 40 or result.stopped_by == "proven"
    assert result.policy.sum() == pytest.approx(1, abs=1e-4)
    assert math.isfinite(result.value) and result.action in game.legal_actions()
