"""Actions by name, what trees and packages show of themselves, copies of results."""

import copy
import importlib
import inspect
import pickle
import pkgutil

import numpy as np
import pytest

import sylvan
from sylvan.errors import IllegalAction, SearchStateError
from sylvan.games import Blob, Chess, ConnectFour, TicTacToe

# --- actions by name ------------------------------------------------------------------------------


def test_search_advances_by_name():
    by_name, by_code = (sylvan.Search("material", simulations=300) for _ in "ab")
    for search in (by_name, by_code):
        search.run(Chess())
    game = Chess()
    codes = []
    for move in ("e4", "e7e5", "Nf3"):
        codes.append(game.string_to_action(move))
        game.apply(codes[-1])
    by_name.advance("e4", "e7e5", "Nf3")
    by_code.advance(*codes)
    assert by_name.state.fen() == by_code.state.fen() == game.fen()
    by_name.advance("Nc6", code_after(game, "Nc6", "d4"))
    assert by_name.state.moves[-2:] == ["b8c6", "d2d4"]


def code_after(game, first, second):
    state = game.clone()
    state.apply(state.string_to_action(first))
    return state.string_to_action(second)


def test_a_wrong_name_changes_nothing():
    search = sylvan.Search("uniform", simulations=50)
    search.run(TicTacToe())
    with pytest.raises(IllegalAction, match="x9"):
        search.advance("4", "x9")
    assert search.state == TicTacToe()


def test_edges_by_name():
    root = sylvan.search(Chess(), simulations=200).tree.root
    edge = root.edge("e4")
    assert edge.action == root.edge("e2e4").action and edge.label == "e4"
    reply = root.edges[0].child.edges[0]
    assert root.edges[0].child.edge(reply.label).action == reply.action
    with pytest.raises(IllegalAction, match="e5"):
        root.edge("e5")


def test_search_takes_its_evaluator_by_either_name():
    for search in (sylvan.Search(evaluator="uniform"), sylvan.Search(evaluate="uniform")):
        assert search.evaluate.name == sylvan.Search("uniform").evaluate.name == "uniform"
    with pytest.raises(sylvan.errors.ConfigError, match="evaluator and evaluate"):
        sylvan.Search(evaluator="uniform", evaluate="rollout")


# --- what they show -------------------------------------------------------------------------------


def test_a_tree_says_something():
    result = sylvan.search(Chess(), simulations=100)
    assert repr(result.tree) == f"<tree N=101 best={result.best_label} edges=20>"


def test_packages_list_their_names():
    for package in [sylvan, *packages(sylvan)]:
        assert set(getattr(package, "__all__", ())) <= set(dir(package)), package.__name__
    assert {"Chess", "Blob", "ConnectFour", "TicTacToe"} <= set(dir(sylvan.games))
    assert {"games", "evaluators"} <= set(dir(sylvan))
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(sylvan.games))


@pytest.mark.parametrize(
    "described",
    [sylvan.search, sylvan.Search, sylvan.Forest, sylvan.LatentSearch, sylvan.SearchConfig],
)
def test_help_lists_every_setting(described):
    text = " ".join(inspect.getdoc(described).split())
    for name, field in sylvan.SearchConfig.model_fields.items():
        assert f"{name} = {field.default!r}: {field.description}" in text


def packages(parent):
    for found in pkgutil.iter_modules(parent.__path__, f"{parent.__name__}."):
        if found.ispkg:
            package = importlib.import_module(found.name)
            yield from (package, *packages(package))


# --- copies ---------------------------------------------------------------------------------------


def pickled(result):
    return pickle.loads(pickle.dumps(result))  # noqa: S301


GAMES = {
    "chess": lambda: Chess(moves="e4 e5"),
    "connect4": lambda: ConnectFour("44"),
    "blob": lambda: Blob(players=3, cards=2, seed=1).observe(1),
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_results_are_copied(name, copied):
    game = GAMES[name]()
    search = sylvan.Search("uniform" if name != "chess" else "material", simulations=400)
    result = search.run(game)
    text, facts = str(result), result.to_json()
    same = copied(result)
    search.run(game)  # the copy does not depend on the search
    assert same.to_json() == facts and str(same) == text
    np.testing.assert_array_equal(same.policy, result.policy)
    first = same.tree.root.edges[0]
    assert (first.N, first.label) == (facts["moves"][0]["N"], facts["moves"][0]["move"])


def test_a_copy_has_the_top_of_the_tree():
    search = sylvan.Search("material", simulations=4_000)
    result = search.run(Chess())
    same = pickled(result)
    assert len(pickle.dumps(result)) < 5_000_000
    left_out, kept, waiting = 0, 0, [same.tree.root]
    while waiting:
        node = waiting.pop()
        kept += 1
        for edge in node.edges:
            left_out += bool(edge.N and edge.child is None)
            waiting += [edge.child] if edge.child else []
        assert node.line == [] or node.line[0] == node.edges[0].action
    assert kept == 1000 and left_out > 100
    again = pickled(same)
    assert again.tree.root.edges[0].child.N == same.tree.root.edges[0].child.N


def test_a_result_of_a_search_that_moved_on_keeps_what_was_read():
    search = sylvan.Search("material", simulations=200)
    result = search.run(Chess())
    search.advance(result.best)
    same = copy.deepcopy(result)
    assert [edge.N for edge in same.tree.root.edges] == [edge.N for edge in result.tree.root.edges]
    assert same.tree.root.edges[0].child is None
    with pytest.raises(SearchStateError, match="moved on"):
        _ = result.tree.root.edges[0].child.N
