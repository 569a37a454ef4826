"""`check_game` accepts correct games and names every broken rule."""

from __future__ import annotations

import math
import random
import re
import traceback
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan.games
from sylvan.errors import GameContractError
from sylvan.games import Game
from sylvan.testing import check_game
from tests.games.broken_games import BROKEN, NeverEnds, NothingLegal
from tests.games.sound_games import Dice, Row, Wild


@pytest.mark.parametrize(("game", "method", "said"), BROKEN)
def test_finds(game: type[Game], method: str, said: str) -> None:
    random.seed(1)  # for games with forbidden randomness
    with pytest.raises(GameContractError) as caught:
        check_game(game, max_plies=500)
    message = str(caught.value)
    assert message.startswith(f"{game.__name__}.{method}"), message
    assert said in message
    assert re.search(r"\((after .*actions.* \[.+\]|in the first state)\)\.$", message)


def test_the_actions_show_the_mistake() -> None:
    with pytest.raises(GameContractError) as caught:
        check_game(NothingLegal)
    state: Row = NothingLegal()
    for action in caught.value.actions:
        state.apply(action)
    assert not state.is_terminal() and not state.legal_actions()


def test_a_long_path_is_told_short() -> None:
    with pytest.raises(GameContractError) as caught:
        check_game(NeverEnds, max_plies=500)
    assert len(caught.value.actions) == 500
    assert len(str(caught.value)) < 300 and "after 500 actions, the last are" in str(caught.value)


def test_there_is_a_broken_game_for_every_method() -> None:
    named = {param.values[1].split("(")[0] for param in BROKEN}
    # These methods have no contract that could be broken.
    free = {
        "set_root",
        "encoding",
        "encoded",
        "default_evaluator",
        "fallback_evaluator",
        "native_views",
        "is_repetition",
        "is_forcing",
    }
    contract = {name for name in vars(Game) if not name.startswith("_")} - free
    assert contract | {"num_players", "num_actions"} == named


def test_row_keeps_the_contract() -> None:
    report = check_game(Row, games=50)
    assert (report.games, report.finished, report.states) == (50, 50, 250)
    assert report.mean_length == 4.0
    assert report.branching == (4 + 3 + 2 + 1) / 4
    assert report.key_pairs > 20 and report.symmetries == 1
    assert "Row: 2 seat(s)" in str(report) and "equal keys" in str(report)


def test_dice_keeps_the_contract() -> None:
    report = check_game(Dice, games=50)
    assert report.chance_states > 20 and report.key_pairs == 0
    assert report.branching == 2.0


@pytest.mark.slow
@given(seats=st.integers(1, 8), actions=st.integers(1, 200), seed=st.integers(0, 10**9))
def test_no_false_alarm(seats: int, actions: int, seed: int) -> None:
    report = check_game(Wild(seats, actions, seed), games=3, seed=seed)
    assert report.finished == 3 and report.num_players == seats


def test_same_seed_same_plays() -> None:
    assert check_game(Dice, seed=3) == check_game(Dice, seed=3)
    assert check_game(Dice, seed=3) != check_game(Dice, seed=4)


def test_takes_a_state_and_leaves_it_alone() -> None:
    row = Row()
    row.apply(1)  # no longer its own mirror image, so symmetry cannot be compared
    report = check_game(row)
    assert report.mean_length == 3.0 and report.symmetries == 0
    assert row.legal_actions() == [0, 2, 3]


def test_takes_a_function() -> None:
    assert check_game(lambda: Row([1, 0, 0, 0], 1), games=2).name == "Row"


def test_long_game_that_promises_an_end_is_cut() -> None:
    class Patient(Row):
        max_length = 10**6

        def apply(self, action: int) -> None:
            self.seat = 1 - self.seat

    report = check_game(Patient, games=2, max_plies=50)
    assert report.finished == 0 and report.mean_length == 50.0


def test_unknown_range_is_not_checked() -> None:
    class Rich(Dice):
        value_range = (-math.inf, math.inf)

        def rewards(self) -> Sequence[float]:
            return (1e9 * self.paid,)

    check_game(Rich)


def test_own_traceback_is_kept() -> None:
    class Fails(Row):
        def legal_actions(self) -> list[int]:
            raise KeyError("no such key")

    with pytest.raises(GameContractError) as caught:
        check_game(Fails)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "no such key" in "".join(traceback.format_exception(caught.value.__cause__))
    assert str(caught.value).startswith("Fails.legal_actions() raised KeyError")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Game, "Game lacks apply(), clone()"),
        (dict, "dict makes a dict, which is not a game (it lacks apply"),
        (lambda: Row(cells="?"), "raised ValueError"),
    ],
)
def test_not_a_game(made: Any, said: str) -> None:
    with pytest.raises(GameContractError, match=re.escape(said)):
        check_game(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Chess", "ConnectFour", "TicTacToe"])
def test_our_own_games(name: str) -> None:
    report = check_game(getattr(sylvan.games, name), games=5)
    assert report.finished == 5
