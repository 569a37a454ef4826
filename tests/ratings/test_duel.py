"""Parallel games between two players: fair, reproducible, equal to sequential games."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sylvan
from sylvan.errors import ConfigError
from sylvan.evaluators import HashRandom
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.players.player import RandomPlayer
from sylvan.ratings.duel import duel
from sylvan.ratings.yardsticks import NetworkSide, PlayerSide, SearchSide, yardstick

EXAMPLES = Path(__file__).parents[2] / "examples"
CONNECT4, TICTACTOE = GameSpec("connect4"), GameSpec("tictactoe")


class First:
    """Takes the first legal action."""

    name = "first"

    def choose(self, states, seeds):
        return [state.legal_actions()[0] for state in states]


class Last:
    """Takes the last legal action, and records the calls."""

    name = "last"

    def __init__(self):
        self.asked = []

    def choose(self, states, seeds):
        assert len(states) == len(seeds) == len(set(seeds))
        self.asked.append(len(states))
        return [state.legal_actions()[-1] for state in states]


def search(simulations=20):
    return SearchSide("search", HashRandom(), SearchConfig(simulations=simulations))


def test_games_of_a_pair_share_their_opening_and_swap_seats():
    played = duel(CONNECT4, First(), PlayerSide(RandomPlayer()), 20, seed=3, opening_plies=4).games
    for one, other in zip(played[::2], played[1::2], strict=True):
        assert one.actions[:4] == other.actions[:4]
        assert one.sides == other.sides[::-1]
    assert len({tuple(game.actions[:4]) for game in played}) == 10
    assert {game.sides for game in played} == {(0, 1), (1, 0)}


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_swapping_the_players_swaps_the_scores(seed):
    """Two deterministic players: in the other order, each pair has the other scores."""
    one = duel(CONNECT4, First(), Last(), 8, seed).scores
    other = duel(CONNECT4, Last(), First(), 8, seed).scores
    swapped = [1 - score for pair in zip(other[1::2], other[::2], strict=True) for score in pair]
    assert list(one) == swapped


def test_equal_players_share_the_points_of_every_pair():
    scores = duel(CONNECT4, search(), search(), 10, seed=1).scores
    assert [sum(pair) for pair in zip(scores[::2], scores[1::2], strict=True)] == [1] * 5


def test_parallel_games_equal_sequential_games(monkeypatch):
    together = duel(CONNECT4, search(), First(), 8, seed=5)
    monkeypatch.setattr("sylvan.ratings.duel.WIDTH", 1)
    alone = duel(CONNECT4, search(), First(), 8, seed=5)
    assert [game.actions for game in together.games] == [game.actions for game in alone.games]
    assert together.scores == alone.scores


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (TICTACTOE, "rollout:simulations=10"),
        (GameSpec("blob", {"players": 3, "cards": 3}), "rollout:simulations=6"),
        (
            GameSpec("blob", {"players": 3, "cards": 2}),
            "rollout:simulations=6,hidden=determinised,deals=2",
        ),
    ],
    ids=["rollouts", "hidden", "determinised"],
)
def test_parts_of_a_duel_are_the_duel(spec, text):
    """Also with players that draw random numbers: a game has its own."""
    sides = yardstick(text, spec), yardstick("random", spec)
    whole = duel(spec, *sides, 8, seed=5, opening_plies=1).games
    parts = [duel(spec, *sides, 3, 5, opening_plies=1, first=first).games for first in (0, 3)]
    parts.append(duel(spec, *sides, 2, 5, opening_plies=1, first=6).games)
    assert [game.actions for game in whole] == [game.actions for part in parts for game in part]


def test_parts_of_a_duel_of_one_seat_are_the_duel():
    spec = GameSpec(f"{EXAMPLES / 'triangle.py'}:Triangle")
    sides = yardstick("random", spec), First()
    whole = duel(spec, *sides, 6, seed=5, opening_plies=0)
    parts = [duel(spec, *sides, count, 5, opening_plies=0, first=6 - count) for count in (4, 2)]
    assert whole.scores[2:] == parts[0].scores and whole.scores[4:] == parts[1].scores
    assert len(set(whole.scores)) > 1


def test_a_player_gets_all_its_games_in_one_call():
    last = Last()
    duel(CONNECT4, First(), last, 64, opening_plies=2)
    assert last.asked[0] == 32


def test_the_same_seed_gives_the_same_games():
    def games(seed):
        players = yardstick("rollout:simulations=10", TICTACTOE), yardstick("random", TICTACTOE)
        return [game.actions for game in duel(TICTACTOE, *players, 10, seed).games]

    assert games(1) == games(1) != games(2)


def test_results_are_those_of_the_rules():
    """Replayed by hand."""
    played = duel(TICTACTOE, yardstick("random", TICTACTOE), First(), 30, seed=2, opening_plies=1)
    for score, game in zip(played.scores, played.games, strict=True):
        state = TICTACTOE.first()
        for action in game.actions:
            state.apply(action)
        assert state.is_terminal() and game.ending == "end"
        assert score == (1 + state.returns()[game.sides.index(0)]) / 2
    elo = played.elo
    assert (elo.wins, elo.draws, elo.losses) == tuple(map(played.scores.count, (1, 0.5, 0)))
    low, high = played.interval
    assert low < played.score < high


def test_a_long_game_ends_at_the_limit():
    played = duel(CONNECT4, First(), Last(), 4, opening_plies=0, max_plies=5)
    assert {game.ending for game in played.games} == {"limit"}
    assert {len(game.actions) for game in played.games} == {5}
    assert set(played.scores) == {0.5}


def test_an_opening_that_always_ends_the_game_is_refused():
    with pytest.raises(ConfigError, match="9 random plies"):
        duel(TICTACTOE, First(), Last(), 2, opening_plies=9)
    with pytest.raises(ConfigError, match=r"games.*0"):
        duel(TICTACTOE, First(), Last(), 0)


def test_three_seats_are_shared_fairly():
    spec = GameSpec(f"{EXAMPLES / 'three_seats.py'}:ThreeSeats")
    played = duel(spec, First(), First(), 12, opening_plies=0)
    assert sorted({sum(game.sides) for game in played.games}) == [1, 2]  # one seat against two
    assert played.score == 0.5
    assert len({game.sides for game in played.games}) == 6


def test_chance_is_the_same_for_both_of_a_pair():
    spec = GameSpec(f"{EXAMPLES / 'pig.py'}:Pig")
    played = duel(spec, First(), First(), 6, seed=4, opening_plies=0).games
    for one, other in zip(played[::2], played[1::2], strict=True):
        assert one.actions == other.actions
    assert len({tuple(game.actions) for game in played}) == 3


def test_one_seat_is_played_by_each_and_compared():
    """Right, right, ... pays 3 + 4 + 9 + 6 + 2; left, left, ... 7 + 1 + 2 + 3 + 1."""
    spec = GameSpec(f"{EXAMPLES / 'triangle.py'}:Triangle")
    played = duel(spec, Last(), First(), 2, opening_plies=0)
    assert [game.totals for game in played.games[:2]] == [[24.0], [14.0]]
    assert played.scores == (1.0, 1.0)


# --- yardsticks -----------------------------------------------------------------------------------


def test_stronger_yardsticks_win():
    def score(spec, a, b, games):
        return duel(spec, yardstick(a, spec), yardstick(b, spec), games, seed=1).score

    assert score(CONNECT4, "rollout:simulations=40", "random", 60) > 0.85
    assert score(CONNECT4, "rollout:simulations=60,selection=uct", "random", 40) > 0.85
    assert score(GameSpec("chess"), "material:simulations=30", "random", 6) > 0.9


def test_a_perfect_player_never_loses_from_the_start():
    played = duel(
        TICTACTOE,
        yardstick("solver", TICTACTOE),
        yardstick("random", TICTACTOE),
        60,
        seed=1,
        opening_plies=0,
    )
    assert 0 not in played.scores and played.score > 0.8


def test_the_solver_keeps_the_value_on_any_board():
    spec = GameSpec("connect4", {"columns": 5, "rows": 4})
    played = duel(spec, yardstick("solver", spec), yardstick("random", spec), 10, opening_plies=0)
    assert 0 not in played.scores  # a draw under perfect play


def test_a_network_without_search_plays_its_most_likely_action():
    def evaluate(leaves):
        logits = np.tile(np.arange(7, dtype=np.float32), (len(leaves), 1))
        return logits, np.zeros(len(leaves), np.float32)

    one = duel(CONNECT4, NetworkSide("net", evaluate), First(), 6, seed=1)
    assert one.scores == duel(CONNECT4, Last(), First(), 6, seed=1).scores


def test_a_chess_program_is_a_yardstick():
    engine = Path(__file__).parents[1] / "players" / "fake_engine.py"
    chess = GameSpec("chess")
    text = f"uci:{sys.executable} {engine} good; nodes=10"
    played = duel(chess, yardstick("material:simulations=20", chess), yardstick(text, chess), 2)
    assert {game.ending for game in played.games} == {"end"}


@pytest.mark.parametrize(
    ("text", "spec", "message"),
    [
        ("solver", GameSpec("chess"), "chess"),
        ("uci:stockfish nodes=10", CONNECT4, "stockfish|connect4"),
        ("material", CONNECT4, "chess"),
        ("gnome", CONNECT4, "'gnome'"),
    ],
)
def test_yardsticks_that_do_not_fit_are_refused(text, spec, message):
    with pytest.raises(sylvan.errors.SylvanError, match=f"(?i){message}"):
        yardstick(text, spec)
