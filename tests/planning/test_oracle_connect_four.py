"""Connect Four against its exact solver, which shares no code with the search."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig, SearchResult
from sylvan.evaluators import Rollout
from sylvan.games import ConnectFour
from sylvan.games.connect_four import Solution, Solver

RULES = {
    "puct": SearchConfig(selection="puct"),
    "puct that explores, in flight": SearchConfig(c_puct=4.0, leaves_in_flight=8),
    "uct": SearchConfig(selection="uct"),
    "gumbel": SearchConfig(selection="gumbel", c_scale=0.01),
}
SOLVER = Solver()


def play_at_random(seed: int, stones: int, columns: int = 7, rows: int = 6) -> ConnectFour:
    """A position with so many stones in which nobody has won yet."""
    rng = random.Random(seed)
    while True:
        game = ConnectFour(columns=columns, rows=rows)
        while game.stones < stones and not game.is_terminal():
            game.apply(rng.choice(game.legal_actions()))
        if not game.is_terminal():
            return game


def outcome_of(solution: Solution, action: int) -> int:
    """Win, draw or loss after a move, for the seat that makes it."""
    score = solution.scores[action]
    assert score is not None
    return (score > 0) - (score < 0)


def check_bounds(result: SearchResult, solution: Solution) -> None:
    """Proven values of the root and of its moves equal the solver's."""
    if result.stopped_by == "proven":
        assert result.value == solution.outcome
        assert all(outcome_of(solution, a) == solution.outcome for a in result.policy.nonzero()[0])
    for edge in result.tree.root.edges:
        low, high = edge.bounds or (-1, 1)
        assert low <= outcome_of(solution, edge.action) <= high


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stones", [34, 28, 22])
def test_late_positions_are_proven_and_played_as_the_solver_says(rule, stones):
    games = [play_at_random(seed, stones) for seed in range(40)]
    forest = Forest(games, RULES[rule], simulations=10_000, seed=stones)
    forest.run(Rollout())
    proven = 0
    for game, result in zip(games, forest.results(), strict=True):
        solution = SOLVER.solve(game)
        check_bounds(result, solution)
        proven += result.stopped_by == "proven"
        assert outcome_of(solution, result.best) == solution.outcome, repr(game)
    assert proven >= (40 if stones == 34 else 30)


@given(
    columns=st.integers(1, 6),
    rows=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    empty=st.integers(1, 12),
    rule=st.sampled_from(sorted(RULES)),
)
def test_the_last_stones_of_any_board_are_proven_as_the_solver_says(
    columns, rows, seed, empty, rule
):
    game = play_at_random(seed % 997, max(0, columns * rows - empty), columns, rows)
    result = Search(Rollout(), RULES[rule], simulations=20_000, seed=seed).run(game)
    solution = SOLVER.solve(game)
    check_bounds(result, solution)
    # Twelve empty cells are too many for Gumbel, which draws its candidates: a move that is not
    # proven may be a slow loss.
    if result.stopped_by == "proven" or rule != "gumbel":
        assert outcome_of(solution, result.best) == solution.outcome
    # Moves proven to draw are still visited, so the proof of all others may come later than
    # this: with eight empty cells in an eighth of the positions, with seven in some.
    if empty <= 6:
        assert result.stopped_by == "proven"


@pytest.mark.parametrize("rule", RULES)
def test_the_only_move_is_found_though_it_has_the_lowest_prior(rule):
    """In positions where all moves but one lose; the rest of the tree is evaluated as nothing."""
    found = 0
    for seed in range(1000):
        game = play_at_random(seed, 29)
        solution, legal = SOLVER.solve(game), game.legal_actions()
        kept = [a for a in legal if outcome_of(solution, a) == solution.outcome]
        if len(kept) != 1 or solution.outcome == 1 or len(legal) < 4:
            continue

        def doubtful(leaves, key=legal.index(kept[0])):
            logits = np.zeros(len(leaves.actions), np.float32)
            if leaves.forest.batches == 1:  # the root
                logits[key] = -5.0
            return logits, np.zeros(len(leaves), np.float32)

        result = Search(doubtful, RULES[rule], simulations=6_000).run(game)
        edges = result.tree.root.edges
        assert min(edges, key=lambda edge: edge.P).action == kept[0]
        assert result.best == kept[0], repr(game)
        found += 1
        if found == 3:
            return
    pytest.fail("too few positions have an only move")


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["puct", "uct"])
def test_middle_games_keep_their_value_once_simulations_are_enough(rule):
    """From 14 stones on; a move that gives value away is searched again with ten times as many."""
    games = [play_at_random(seed, 14 + seed % 8) for seed in range(60)]
    for simulations in (20_000, 200_000, 2_000_000):
        forest = Forest(games, RULES[rule], simulations=simulations)
        forest.run(Rollout())
        wrong = []
        for game, result in zip(games, forest.results(), strict=True):
            solution = SOLVER.solve(game)
            check_bounds(result, solution)
            if outcome_of(solution, result.best) != solution.outcome:
                wrong.append(game)
        games = wrong
        if not games:
            return
    pytest.fail(f"{len(games)} positions are still misplayed: {games}")
