"""The solver's Python class: results, limits and interruption."""

from __future__ import annotations

import _thread
import random
import statistics
import threading
import time

import pytest

from sylvan.errors import ConfigError, SearchStateError, SolveTimeout
from sylvan.games import ConnectFour
from sylvan.games.connect_four import Solver


def minimax(game: ConnectFour, memory: dict[bytes, tuple[int, int]]) -> tuple[int, int]:
    """Outcome for the seat to move and plies to the end; the winner hurries, the loser delays."""
    key = game.key()
    if key not in memory:
        fates = []
        for action in game.legal_actions():
            child = game.clone()
            child.apply(action)
            outcome, plies = minimax(child, memory)
            fates.append((-outcome, plies + 1))
        end = (-1 if any(game.returns()) else 0, 0)
        memory[key] = max(fates, key=lambda fate: (fate[0], -fate[0] * fate[1]), default=end)
    return memory[key]


def test_it_agrees_with_minimax_on_a_small_board():
    game, memory = ConnectFour(columns=4, rows=3), {}
    solution = game.solve()
    assert (solution.outcome, solution.plies) == minimax(game, memory)
    for column, score in enumerate(solution.scores):
        child = game.clone()
        child.apply(column)
        outcome, _ = minimax(child, memory)
        assert score is not None and -outcome == (score > 0) - (score < 0)


def test_a_win_and_a_loss():
    win = ConnectFour("112233", columns=5, rows=3).solve()  # three below, the fourth cell free
    assert (win.score, win.outcome, win.plies, win.best) == (5, 1, 1, (3,))
    lost = ConnectFour("33442", columns=6, rows=2).solve()  # three below, both ends free
    assert (lost.score, lost.outcome, lost.plies) == (-3, -1, 2)
    assert lost.best == (0, 1, 4, 5)


def test_full_columns_and_finished_games_have_no_scores():
    full = ConnectFour("1111", columns=4, rows=4).solve()
    assert [score is None for score in full.scores] == [True, False, False, False]
    over = ConnectFour("1212121").solve()
    assert (over.score, over.outcome, over.plies, over.best) == (-18, -1, 0, ())
    assert over.scores == (None,) * 7
    assert "the game is over" in str(over)


def test_a_solver_remembers():
    solver, game = Solver(megabytes=8), ConnectFour(columns=5, rows=4)
    first, again = solver.solve(game), solver.solve(game)
    assert first.scores == again.scores == game.solve().scores
    assert again.nodes < first.nodes


def test_a_table_of_no_size():
    for megabytes in (0, -1, 1 << 40):
        with pytest.raises(ConfigError, match=f"megabytes.*{megabytes}"):
            Solver(megabytes)


def test_it_prints_as_a_table():
    head, scores, words = str(ConnectFour("112233", columns=5, rows=3).solve()).splitlines()
    assert head.split() == ["column", *"12345"]
    assert scores.split()[4] == "5"
    assert words == "The seat to move wins in 1 ply; best: 4."


@pytest.mark.alone
def test_time_that_runs_out():
    started = time.monotonic()
    with pytest.raises(SolveTimeout, match="time") as caught:
        ConnectFour().solve(timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert time.monotonic() - started < 1.0
    for timeout in (-1, float("nan")):
        with pytest.raises(ConfigError, match="timeout"):
            ConnectFour().solve(timeout=timeout)
    assert ConnectFour("112233", columns=5, rows=3).solve(timeout=float("inf")).score == 5


def random_position(rng: random.Random, stones: int) -> ConnectFour:
    """An unfinished position after some random moves."""
    game = ConnectFour()
    while game.stones < stones or game.is_terminal():
        if game.is_terminal():
            game = ConnectFour()
        game.apply(rng.choice(game.legal_actions()))
    return game


@pytest.mark.alone
def test_fourteen_stones_take_under_50_ms_in_the_median():
    rng, times = random.Random(1), []
    for _ in range(60):
        game, started = random_position(rng, 14), time.perf_counter()
        game.solve()
        times.append(time.perf_counter() - started)
    assert statistics.median(times) < 0.050


@pytest.mark.alone
def test_an_interrupt_is_heard_at_once():
    asked = []

    def interrupt() -> None:
        time.sleep(0.3)
        asked.append(time.monotonic())
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ConnectFour().solve()
    heard = time.monotonic()
    thread.join()
    assert heard - asked[0] < 0.1


def test_other_threads_run_meanwhile():
    solver = Solver(megabytes=1)
    refused = []

    def meanwhile() -> None:
        time.sleep(0.1)
        try:
            solver.solve(ConnectFour("112233"))
        except SearchStateError as error:
            refused.append(error)

    thread = threading.Thread(target=meanwhile)
    thread.start()
    with pytest.raises(SolveTimeout):
        solver.solve(ConnectFour(), timeout=0.5)
    thread.join()
    assert refused and "one per thread" in str(refused[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "rows", "outcome", "plies"), [(7, 4, 0, 28), (6, 5, 0, 30), (5, 6, 0, 30)]
)
def test_middling_boards_end_as_published(columns, rows, outcome, plies):
    """From J. Tromp's table of board sizes."""
    solution = ConnectFour(columns=columns, rows=rows).solve()
    assert (solution.outcome, solution.plies) == (outcome, plies)
