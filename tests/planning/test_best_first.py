"""Edges come best first: the best action, and no action that a proof rules out before another."""

import json

import pytest
from typer.testing import CliRunner

import sylvan
from sylvan.cli import app
from sylvan.games import Chess, ConnectFour, TicTacToe

OVERRULED = "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1"
"""A position in which proofs overrule the visits of the root's moves."""


@pytest.mark.parametrize(
    "simulations", [50, 2000, 20_000, pytest.param(100_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
def test_the_first_edge_is_the_best_action(simulations, selection):
    """With evaluators that are quick: the network of chess would take minutes."""
    for game, evaluator in (
        (Chess(OVERRULED), "material"),
        (ConnectFour("44444"), "rollout"),
        (TicTacToe([0, 4, 8]), "rollout"),
    ):
        result = sylvan.search(
            game, evaluator=evaluator, simulations=simulations, selection=selection
        )
        assert result.tree.root.edges[0].action == result.best
        assert result.to_json(moves=1)["moves"][0]["move"] == result.best_label


def test_the_best_move_is_among_those_that_analyze_prints():
    for simulations in ("2000", "100000", "200000", "400000"):
        words = ["analyze", OVERRULED, "--top", "3", "--json", "--evaluator", "material"]
        words += ["--simulations", simulations]
        facts = json.loads(CliRunner().invoke(app, words).stdout)
        assert facts["moves"][0]["move"] == facts["best"]


def test_moves_that_are_proven_lost_come_last():
    """Seat 1 must block at 2; the other moves were visited more often before they were refuted."""
    result = sylvan.search(TicTacToe([0, 4, 1]), simulations=3000, evaluator="uniform")
    edges = result.tree.root.edges
    assert edges[0].action == 2
    proven = [edge.proven for edge in edges]
    assert -1.0 in proven
    assert all(value == -1.0 for value in proven[proven.index(-1.0) :])


def test_below_the_root_too():
    """Of a node's edges, those that are proven worse than another come last."""
    result = sylvan.search(Chess(OVERRULED), evaluator="material", simulations=20_000)
    waiting, ordered = [result.tree.root], 0
    while waiting:
        node = waiting.pop()
        waiting += [edge.child for edge in node.edges if edge.child is not None]
        if node.proven is None or node.kind != "decision":
            continue
        value = node.proven[node.seat]
        achieve = [edge.bounds is not None and edge.bounds[0] >= value for edge in node.edges]
        if any(achieve):
            assert achieve == sorted(achieve, reverse=True)
            visits = [edge.N for edge in node.edges]
            ordered += visits != sorted(visits, reverse=True)
    assert ordered, "a proof never overruled the visits"
