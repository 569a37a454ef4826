"""Every registered OpenSpiel game keeps our contract, or is refused for a known reason."""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sylvan
from sylvan.errors import ConfigError, GameContractError, GameOver, IllegalAction, MissingExtra
from sylvan.games import Game, OpenSpielGame, from_open_spiel
from sylvan.testing import check_game

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed (sylvan[openspiel])")

HIDDEN = "hidden information"
AT_ONCE = "simultaneous"
MEAN_FIELD = "mean-field"
OWN_CHANCE = "chance"
NEEDS_PARAMETERS = "OpenSpiel"

# Games with hidden information that OpenSpiel can sample.
DEALT = {
    "bargaining",
    "blackjack",
    "bridge",
    "colored_trails",
    "euchre",
    "gin_rummy",
    "hearts",
    "kuhn_poker",
    "leduc_poker",
    "oh_hell",
    "universal_poker",
}

# Games that OpenSpiel calls perfect-information, but that are refused.
EXCEPTIONS = {
    "capture_the_flag": AT_ONCE,
    "goofspiel": AT_ONCE,
    "laser_tag": AT_ONCE,
    "markov_soccer": AT_ONCE,
    "oshi_zumo": AT_ONCE,
    "snake": AT_ONCE,
    "mfg_crowd_modelling": MEAN_FIELD,
    "mfg_crowd_modelling_2d": MEAN_FIELD,
    "mfg_dynamic_routing": MEAN_FIELD,
    "mfg_garnet": MEAN_FIELD,
    "stones_and_gems": OWN_CHANCE,
    "efg_game": NEEDS_PARAMETERS,  # a file: see test_game_from_a_file
    "repeated_game": NEEDS_PARAMETERS,  # and it is simultaneous
}

# Parameters that change the kind of game; wrappers that need another game.
VARIANTS = [
    "pig(players=8,winscore=20)",
    "yacht(players=1,num_dice=2)",
    "yacht(players=3,num_dice=2)",
    "chinese_checkers(players=6)",
    "quoridor(board_size=5)",
    "maedn(players=4)",
    "dots_and_boxes(utility_margin=true)",
    "backgammon(scoring_type=full_scoring)",
    "go(board_size=5)",
    "misere(game=tic_tac_toe())",
    "start_at(game=connect_four(),history=3;3;2)",
    "add_noise(epsilon=0.5,seed=1,game=nim())",
    "zerosum(game=tic_tac_toe())",
]

# Games of OpenSpiel that break their own rules, and the method that shows it.
BROKEN = {
    "quoridor(players=4,board_size=5)": r"\.apply\(\d+\) raised SpielError",  # of a legal action
}


def perfect_information() -> list[str]:
    perfect = pyspiel.GameType.Information.PERFECT_INFORMATION
    return [kind.short_name for kind in pyspiel.registered_games() if kind.information == perfect]


def hidden_information() -> list[str]:
    return sorted(set(pyspiel.registered_names()) - set(perfect_information()))


PLAYED = sorted(set(perfect_information()) - set(EXCEPTIONS))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED + VARIANTS)
def test_keeps_the_contract_to_the_end(name: str) -> None:
    report = check_game(lambda: from_open_spiel(name), games=2, seed=1, max_plies=10**6)
    assert report.finished == 2 and report.states > 2


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_are_exact(name: str) -> None:
    assert name in perfect_information(), "no longer an exception to anything"
    with pytest.raises(ConfigError, match=EXCEPTIONS[name]):
        from_open_spiel(name)


def test_what_is_no_game_is_refused() -> None:
    with pytest.raises(ConfigError, match="The game is 3: give a name of OpenSpiel"):
        from_open_spiel(3)
    with pytest.raises(IllegalAction, match="no seat 7: seats are 0 to 1"):
        from_open_spiel("kuhn_poker").observe(7)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_broken_games_are_exact(name: str) -> None:
    with pytest.raises(GameContractError, match=BROKEN[name]):
        check_game(lambda: from_open_spiel(name), games=200)


@pytest.mark.slow
def test_hidden_information_is_refused() -> None:
    """Unless OpenSpiel can sample it. Every other game raises an error with the reason."""
    default = {kind.short_name for kind in pyspiel.registered_games() if kind.default_loadable}
    reasons = {name: HIDDEN if name in default else "OpenSpiel" for name in hidden_information()}
    for name in DEALT:
        game = from_open_spiel(name)
        assert type(game).__name__.startswith("HiddenSpiel")
    for name in reasons.keys() - DEALT:
        with pytest.raises(ConfigError, match=f"{reasons[name]}|{AT_ONCE}|{OWN_CHANCE}"):
            from_open_spiel(name)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "oh_hell(players=3)"])
def test_hidden_games_keep_the_contract(name: str) -> None:
    """Including views."""
    game = from_open_spiel(name)
    while game.is_chance():
        game.apply(game.chance_outcomes()[0][0])
    check_game(game, games=5)


def test_too_many_players() -> None:
    with pytest.raises(ConfigError, match=r"pig\(players=9\)"):
        from_open_spiel("pig(players=9)")


def test_unknown_game_and_parameter() -> None:
    with pytest.raises(ConfigError, match=r"'tick_tack_toe'.*tic_tac_toe"):
        from_open_spiel("tick_tack_toe")
    with pytest.raises(ConfigError, match=r"'pig\(winscoree=3\)'"):
        from_open_spiel("pig(winscoree=3)")


def test_one_player_moves_at_once_with_nobody() -> None:
    game = from_open_spiel("pathfinding")
    assert game.num_players == 1 and game.to_play() == 0


def test_takes_a_loaded_game() -> None:
    assert from_open_spiel(pyspiel.load_game("nim")).num_actions == 29


def test_game_from_a_file(tmp_path: Path) -> None:
    """Seat 0 chooses, then seat 1, which sees it: Gambit's format for extensive games."""
    tree = """EFG 2 R "In turn" { "One" "Two" }
p "" 1 1 "a" { "L" "R" } 0
p "" 2 1 "b" { "l" "r" } 0
t "" 1 "1" { 3 1 }
t "" 2 "2" { 0 0 }
p "" 2 2 "c" { "l" "r" } 0
t "" 3 "3" { 2 2 }
t "" 4 "4" { 1 3 }
"""
    file = tmp_path / "tree.efg"
    file.write_text(tree)
    game = from_open_spiel(f"efg_game(filename={file})")
    check_game(game)
    assert game.zero_sum is False and game.value_range == (0.0, 3.0)
    for name in ("R", "r"):
        game.apply(game.string_to_action(name))
    assert list(game.returns()) == [1.0, 3.0]


@pytest.mark.parametrize("name", ["2048", "cliff_walking", "pathfinding", "connect_four", "pig"])
def test_pays_what_openspiel_pays(name: str) -> None:
    """Rewards and returns add up to OpenSpiel's utility; nothing is paid twice."""
    rng = random.Random(5)
    game, paid = from_open_spiel(name), 0.0
    state = game.spiel.new_initial_state()
    while not game.is_terminal():
        chance = game.is_chance()
        codes = [a for a, _ in game.chance_outcomes()] if chance else list(game.legal_actions())
        assert sorted(codes) == sorted(state.legal_actions())
        assert game.is_chance() == state.is_chance_node()
        assert chance or game.to_play() == state.current_player()
        action = rng.choice(codes)
        game.apply(action)
        state.apply_action(action)
        paid += game.rewards()[0]
    assert state.is_terminal()
    assert paid + game.returns()[0] == pytest.approx(state.returns()[0])
    has_rewards = type(game).rewards is not Game.rewards
    assert has_rewards == (name in ("2048", "cliff_walking", "pathfinding"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED + VARIANTS)
def test_can_be_searched(name: str) -> None:
    game = from_open_spiel(name)
    while game.is_chance():
        game.apply(game.chance_outcomes()[0][0])
    result = sylvan.search(game, simulations=25, evaluator="rollout", seed=0)
    assert result.best in game.legal_actions()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("tic_tac_toe", [4]),
        ("tic_tac_toe", [4, 1]),
        ("misere(game=tic_tac_toe())", [0, 1, 4]),
        ("nim(pile_sizes=1;2;3)", []),
        ("nim(pile_sizes=2;2;1,is_misere=false)", []),
        ("clobber(rows=2,columns=4)", []),
        ("dots_and_boxes(num_rows=2,num_cols=2)", [0, 3, 7, 9]),  # closing a box moves again
        ("connect_four(rows=3,columns=4,x_in_row=3)", []),
    ],
)
def test_search_proves_what_minimax_says(name: str, opening: list[int]) -> None:
    game = from_open_spiel(name)
    for action in opening:
        game.apply(action)

    @cache
    def value(history: tuple[int, ...]) -> float:
        """For seat 0, by OpenSpiel's own states."""
        state = game.spiel.new_initial_state()
        for action in history:
            state.apply_action(action)
        if state.is_terminal():
            return float(state.player_return(0))
        best = max if state.current_player() == 0 else min
        return best(value((*history, action)) for action in state.legal_actions())

    result = sylvan.search(game, simulations=200_000, evaluator="uniform", seed=0)
    assert result.stopped_by == "proven"
    assert result.values[0] == value(tuple(opening)) == value((*opening, result.best))


def test_observation_is_the_movers_tensor() -> None:
    game = from_open_spiel("connect_four(egocentric_obs_tensor=True)")
    assert game.observation().shape == (3, 6, 7)
    game.apply(3)
    state = game.spiel.new_initial_state()
    state.apply_action(3)
    assert np.array_equal(game.observation().ravel(), state.observation_tensor(1))
    assert not np.array_equal(game.observation().ravel(), state.observation_tensor(0))


def test_observation_without_a_tensor_is_the_history() -> None:
    game = from_open_spiel("morpion_solitaire")
    first = game.legal_actions()[0]
    assert game.observation().shape == (game.max_length,) and not game.observation().any()
    game.apply(first)
    assert game.observation()[0] == first + 1 and not game.observation()[1:].any()


def test_illegal_action_changes_nothing() -> None:
    game = from_open_spiel("tic_tac_toe")
    game.apply(4)
    with pytest.raises(IllegalAction, match=r"action 4.*0, 1, 2, 3, 5"):
        game.apply(4)
    assert game.to_play() == 1 and len(game.legal_actions()) == 8
    with pytest.raises(IllegalAction, match="action 400"):
        game.apply(400)


def test_finished_game() -> None:
    game = from_open_spiel("tic_tac_toe")
    for action in (0, 3, 1, 4, 2):
        game.apply(action)
    with pytest.raises(GameOver, match=r"tic_tac_toe\(\)"):
        game.apply(8)
    assert list(game.returns()) == [1.0, -1.0]


def test_names_and_text() -> None:
    game = from_open_spiel("tic_tac_toe")
    assert game.action_to_string(4) == "x(1,1)" and game.string_to_action("x(1,1)") == 4
    assert str(game).count(".") == 9
    assert repr(game) == "<tic_tac_toe() after []>"
    assert isinstance(game, OpenSpielGame)


def test_without_openspiel(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(MissingExtra, match=r"'sylvan\[openspiel\]'"):
        from_open_spiel("tic_tac_toe")
