"""Solved positions: the sets, and counts of mistakes on them."""

import numpy as np
import pytest

from benchmarks.connect_four_sets import sampled
from sylvan.errors import ConfigError
from sylvan.evaluators import HashRandom, Rollout
from sylvan.games import ConnectFour, TicTacToe
from sylvan.games.connect_four import Solver
from sylvan.games.connect_four_sets import (
    SETS,
    SolvedPosition,
    held_out,
    position_key,
    read_set,
    set_of,
)
from sylvan.games.naming import GameSpec
from sylvan.games.tic_tac_toe_states import reachable_states, tic_tac_toe_set
from sylvan.planning import SearchConfig
from sylvan.ratings.mistakes import (
    mistake_rates,
    network_choices,
    searched_choices,
    solved_sets,
)

CONNECT4, TICTACTOE = GameSpec("connect4"), GameSpec("tictactoe")


class Knows:
    """An evaluator that prefers the correct moves of a set, or the wrong ones."""

    def __init__(self, part, *, well):
        self.rows = {state.key(): row for state, row in zip(part.states, part.keeps, strict=True)}
        self.well = well

    def __call__(self, leaves):
        rows = np.array([self.rows[leaves.state(i).key()] for i in range(len(leaves))])
        return (rows == self.well).astype(np.float32), np.zeros(len(leaves), np.float32)


# --- tic-tac-toe --------------------------------------------------------------------------------


def test_tic_tac_toe_has_its_known_number_of_states():
    states = reachable_states().values()
    assert len(states) == 5478
    ends = [state for state in states if state.is_terminal()]
    assert len(ends) == 958
    results = [state.returns()[0] for state in ends]
    assert [results.count(result) for result in (1, -1, 0)] == [626, 316, 16]
    assert len(tic_tac_toe_set()) == 5478 - 958


def test_tic_tac_toe_values_by_hand():
    part = tic_tac_toe_set()
    keeps = dict(zip((state.key() for state in part.states), part.keeps, strict=True))
    assert keeps[TicTacToe().key()].all()  # every first move draws
    assert list(np.flatnonzero(keeps[TicTacToe([0]).key()])) == [
        4
    ]  # after a corner only the centre draws
    assert list(np.flatnonzero(keeps[TicTacToe([4]).key()])) == [0, 2, 6, 8]  # and vice versa
    assert list(np.flatnonzero(keeps[TicTacToe([0, 3, 1, 4]).key()])) == [2]  # wins at once
    assert list(np.flatnonzero(keeps[TicTacToe([0, 4, 8]).key()])) == [1, 3, 5, 7]  # no corner


# --- Connect Four -------------------------------------------------------------------------------


def test_the_line_of_a_set_is_read_and_written():
    line = "444444 -2,-1,1,.,-2,-3,-1"
    assert str(SolvedPosition.parse(line)) == line
    assert list(SolvedPosition.parse(line).values) == [-1, -1, 1, -2, -1, -1, -1]
    assert SolvedPosition.parse("4 -2,-3,.,-1,-2,-1,-1").is_forced


@pytest.mark.parametrize("name", SETS)
def test_positions_of_a_set_are_what_it_says(name):
    """Plies to the end from the score: a second version of the solver's `plies_to_end`."""
    for position in read_set(name):
        game = position.game
        score = max(score for score in position.scores if score is not None)
        last = 42 if score == 0 else 44 - 2 * abs(score)  # the later stone with this score
        if score != 0 and (last % 2 != game.stones % 2) != (score > 0):
            last -= 1
        assert set_of(last - game.stones) == name
        assert 9 <= game.stones <= 14 and not game.is_terminal()
        legal = [column for column, score in enumerate(position.scores) if score is not None]
        assert legal == game.legal_actions()


def test_no_position_comes_twice_not_even_mirrored():
    keys = [position_key(position.game) for name in SETS for position in read_set(name)]
    assert len(keys) == len(set(keys))


def test_the_sets_are_what_their_command_finds():
    """In the order of the sequence; no position is skipped until the first set is full."""
    places = {sampled(1, number): number for number in reversed(range(7000))}
    found = {name: [places[position.moves] for position in read_set(name)] for name in SETS}
    assert all(numbers == sorted(numbers) for numbers in found.values())
    kept = {position_key(position.game) for name in SETS for position in read_set(name)}
    for number in range(min(numbers[-1] for numbers in found.values())):
        assert position_key(ConnectFour(sampled(1, number))) in kept


def _solved_again(positions):
    solver = Solver(64)
    for position in positions:
        assert solver.solve(position.game).scores == position.scores


def test_scores_are_the_solvers():
    late = [p for p in (*read_set("easy"), *read_set("medium")) if len(p.moves) >= 13]
    _solved_again(late[:: max(1, len(late) // 12)])


@pytest.mark.parametrize(
    ("stones", "count"),
    [pytest.param(13, 4, marks=pytest.mark.slow), pytest.param(11, 30, marks=pytest.mark.soak)],
)
def test_scores_are_the_solvers_in_hard_positions_too(stones, count):
    _solved_again([p for p in read_set("hard") if len(p.moves) >= stones][:count])


def test_held_out_positions_are_known_however_they_are_reached():
    position = read_set("medium")[0]
    mirrored = "".join(str(8 - int(column)) for column in position.moves)
    games = [ConnectFour(position.moves), ConnectFour(mirrored), ConnectFour(), ConnectFour("4")]
    assert held_out(games) == [True, True, False, False]


def test_an_unknown_set_is_refused():
    with pytest.raises(ConfigError, match="'harder'"):
        read_set("harder")


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [CONNECT4, TICTACTOE], ids=lambda spec: spec.name)
def test_who_knows_makes_none_and_who_knows_worst_makes_all(spec):
    for part in solved_sets(spec):
        best = part.judge(network_choices(Knows(part, well=True), part.states))
        worst = part.judge(network_choices(Knows(part, well=False), part.states))
        assert best.mistakes == 0 and best.positions == len(part)
        assert worst.mistakes == worst.open > 0
        assert worst.open_rate == 1.0 and 0 < worst.rate < 1


def test_a_network_chooses_among_legal_actions_only():
    """The highest logits are those of full columns."""

    def evaluate(leaves):
        return np.where(leaves.mask, 0, 9).astype(np.float32), np.zeros(len(leaves), np.float32)

    states = [ConnectFour("444444"), ConnectFour("111111"), ConnectFour()]
    assert list(network_choices(evaluate, states)) == [0, 1, 0]


def test_positions_searched_together_are_searched_as_each_alone():
    states = solved_sets(CONNECT4)[1][:6].states
    config = SearchConfig(simulations=60)
    together = searched_choices(HashRandom(), states, config)
    alone = [searched_choices(HashRandom(), [state], config)[0] for state in states]
    assert list(together) == alone


def test_search_makes_fewer_mistakes_than_no_search():
    rates = mistake_rates(Rollout(), TICTACTOE, 100, positions=400)
    assert set(rates) == {"states/network", "states/search"}
    assert rates["states/search"].rate < rates["states/network"].rate / 2
    assert rates["states/search"].positions == 400
    assert rates["states/network"].positions == 4520


def test_a_part_of_a_set_is_a_fair_sample():
    """A random tenth of tic-tac-toe's states has the same share with few marks."""
    part = tic_tac_toe_set()
    marks = [sum(state.mark(cell) is not None for cell in range(9)) for state in part.states]
    assert np.mean(marks[:450]) == pytest.approx(np.mean(marks), abs=0.2)


def test_games_without_a_solution_have_no_sets():
    assert solved_sets(GameSpec("chess")) == []
    assert solved_sets(GameSpec("connect4", {"columns": 5, "rows": 4})) == []
