"""Every error: its trigger, type and sentence; the state is unchanged afterwards.

A message is one sentence that begins with a capital, or with the name or the value of the input,
says which rule was broken and what to do, and ends with a full stop (or a question that suggests).
"""

import ast
import inspect
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

import sylvan
from sylvan import Forest, Game, Rng, Search, SearchConfig, errors
from sylvan.errors import (
    ConfigError,
    EvaluationError,
    GameContractError,
    GameOver,
    IllegalAction,
    IllegalPosition,
    SearchStateError,
)
from sylvan.evaluators import Rollout
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.broken_games import FAULTS, Fault, Faulty, Pass
from tests.planning.twins import everything, finish, flat, skewed

KINGS = "4k3/8/8/8/8/8/8/4K3 w - - 0 1"


@dataclass(frozen=True)
class Row:
    """A call and its expected error."""

    trigger: Callable[..., object]
    error: type[Exception]
    sentence: str

    def __str__(self) -> str:
        return re.sub(r"[^a-zA-Z0-9]+", "-", self.sentence)[:50].strip("-")


def rows(*table: tuple[Callable[..., object], type[Exception], str]) -> Any:
    return pytest.mark.parametrize("row", [Row(*entry) for entry in table], ids=str)


def check(row: Row, *arguments: object) -> None:
    """Check that the call fails as expected, with one sentence."""
    with pytest.raises(row.error, match=row.sentence) as caught:
        row.trigger(*arguments)
    message = str(caught.value)
    assert re.fullmatch(r"""(?s:[A-Z0-9'"(]|[a-z_0-9]+\b).*[.?]""", message), message
    assert "\n" not in message and "  " not in message, message
    assert isinstance(caught.value, errors.SylvanError)


# --- positions and moves: the game stays as it was ----------------------------------------------


@rows(
    (lambda: Chess("8/8/8/8/8/8/8/8 w - - 0 1"), IllegalPosition, "empty"),
    (lambda: Chess("4k3/8/8/8/8/8/8/8 w - - 0 1"), IllegalPosition, "missing"),
    (lambda: Chess("4k3/8/8/8/8/8/8/K3K3 w - - 0 1"), IllegalPosition, "king"),
    (lambda: Chess("P3k3/8/8/8/8/8/8/4K3 w - - 0 1"), IllegalPosition, "pawn"),
    (lambda: Chess("4k3/8/8/8/8/8/4R3/K7 w - - 0 1"), IllegalPosition, "in check"),
    (lambda: Chess("4k3/8/8/8/8/8/8/4K3 w K - 0 1"), IllegalPosition, "castling"),
    (lambda: Chess("4k3/8/8/8/8/8/8/4K3 w - e6 0 1"), IllegalPosition, "en-passant"),
    (lambda: Chess("4k3/8/8/8/8/8/8/4K3 x - - 0 1"), IllegalPosition, "'w'"),
    (lambda: Chess("4k3/8/8/8/8/8/4K3 w - - 0 1"), IllegalPosition, "8 ranks"),
    (lambda: Chess("nonsense"), IllegalPosition, "FEN"),
    (lambda: Chess(""), IllegalPosition, r'FEN "".*empty'),
    (lambda: Chess(" "), IllegalPosition, "empty"),
    (lambda: Chess("a b c d e f g"), IllegalPosition, "8 ranks"),
    (
        lambda: Chess(chess.Board()),
        IllegalPosition,
        r"Board.*Chess\.from_board",
    ),
    (lambda: Chess(5), IllegalPosition, r"FEN.*int"),
    (lambda: Chess.from_board("x"), IllegalPosition, r"'x'.*chess.Board"),
    (lambda: Chess(moves="e4 e5 Ke3"), IllegalAction, "nearest"),
    (lambda: Chess(moves=5), IllegalAction, r"moves.*5"),
    (lambda: Chess(moves=[3.5]), IllegalAction, r"3.5"),
    (
        lambda: Chess.from_pgn("1. e4 e5 2. Ke3"),
        IllegalAction,
        r"2\. Ke3.*Ke2",
    ),
    (
        lambda: Chess.from_pgn("1. e4 (1. d4 e4) e5"),
        IllegalAction,
        r"1\.\.\. e4.*e5",
    ),
    (lambda: Chess.from_pgn("1. f3 e5 2. g4 Qh4# 3. e4"), IllegalAction, r"3\. e4.*mat"),
    (lambda: Chess.from_pgn('[FEN "x"]\n\n1. e4'), IllegalPosition, "PGN"),
    (lambda: Chess(repetitions=4), ConfigError, r"repetitions.*4.*3"),
    (lambda: ConnectFour("4x"), IllegalAction, '"x"'),
    (
        lambda: ConnectFour("4444444"),
        IllegalAction,
        "Move 7",
    ),
    (lambda: ConnectFour([3] * 7), IllegalAction, r"3.*\[0, 1, 2, 4, 5, 6\]"),
    (lambda: ConnectFour([1.5]), IllegalAction, r"1.5"),
    (lambda: ConnectFour(5), IllegalAction, r"moves.*5"),
    (lambda: ConnectFour("12121212"), GameOver, r"Move 8.*over"),
    (lambda: ConnectFour(columns=9, rows=9), ConfigError, r"9 columns.*9 rows"),
    (lambda: TicTacToe([0, 0]), IllegalAction, r"Move 2.*cell 0"),
    (lambda: TicTacToe("abc"), IllegalAction, r"'a'.*string_to_action"),
    (lambda: TicTacToe([12]), IllegalAction, "cell 12"),
)
def test_what_is_no_position(row):
    check(row)


GAMES = {
    "chess": (Chess, {"moves": "e4 e5 Nf3"}),
    "mate": (Chess, {"moves": "f3 e5 g4 Qh4"}),
    "connect four": (ConnectFour, {"moves": "444444"}),
    "won": (ConnectFour, {"moves": "1212121"}),
    "tic-tac-toe": (TicTacToe, {"moves": [4, 0]}),
}


@pytest.mark.parametrize(
    ("game", "row"),
    [
        ("chess", Row(lambda g: g.apply(-1), IllegalAction, "code -1")),
        ("chess", Row(lambda g: g.apply(0), IllegalAction, "^Action 0 ")),
        ("chess", Row(lambda g: g.apply(10**30), IllegalAction, "code 1000")),
        ("chess", Row(lambda g: g.apply("e2e5"), IllegalAction, "^'e2e5'")),
        (
            "chess",
            Row(
                lambda g: g.apply(5),
                IllegalAction,
                r"^Action 5 \(a8a2\).* 129 \(b8c6\)",
            ),
        ),
        (
            "chess",
            Row(
                lambda g: g.action_to_string(99999),
                IllegalAction,
                r"^Action 99999 .* \d+ \(",
            ),
        ),
        ("chess", Row(lambda g: g.string_to_action("Nf5"), IllegalAction, "Nf5.* Nf6")),
        (
            "chess",
            Row(lambda g: g.string_to_action("x!"), IllegalAction, "x!.*UCI"),
        ),
        (
            "mate",
            Row(lambda g: g.apply(1), GameOver, "over in .*"),
        ),
        ("connect four", Row(lambda g: g.apply(3), IllegalAction, "^Column 3 ")),
        (
            "connect four",
            Row(lambda g: g.apply(7), IllegalAction, "column 7.* 0 to 6"),
        ),
        (
            "connect four",
            Row(lambda g: g.string_to_action("4"), IllegalAction, r"^Column 4 .*\[1, 2"),
        ),
        ("won", Row(lambda g: g.apply(0), GameOver, "over")),
        ("tic-tac-toe", Row(lambda g: g.apply(4), IllegalAction, "^Cell 4 ")),
        ("tic-tac-toe", Row(lambda g: g.apply(-1), IllegalAction, "cell -1")),
        ("tic-tac-toe", Row(lambda g: g.string_to_action("ten"), IllegalAction, '"ten"')),
    ],
    ids=str,
)
def test_a_refused_move_leaves_the_game_alone(game, row):
    kind, made = GAMES[game]
    state, twin = kind(**made), kind(**made)
    check(row, state)
    assert state == twin and state.legal_actions() == twin.legal_actions()
    assert state.key() == twin.key()


# --- the generator: it draws nothing -------------------------------------------------------------


@rows(
    (lambda _: Rng(-1), ConfigError, r"seed.*-1"),
    (lambda _: Rng(2**64), ConfigError, r"seed.*18446744073709551616"),
    (lambda _: Rng("x"), ConfigError, r"seed.*'x'"),
    (lambda rng: rng.gumbel(10**15), ConfigError, r"^n .*1000000000000000.*16777216"),
    (lambda rng: rng.gumbel(-1), ConfigError, r"^n .*-1"),
    (lambda rng: rng.dirichlet(0.3, 10**15), ConfigError, r"^n .*10+"),
    (lambda rng: rng.dirichlet(0.0, 3), ConfigError, r"alpha.*0"),
    (lambda rng: rng.below(0), ConfigError, r"^n .*0"),
    (lambda rng: rng.pick([]), ConfigError, r"weights.*empty"),
    (lambda rng: rng.pick([math.nan]), ConfigError, r"weight.*NaN"),
    (lambda rng: rng.pick([2.0, -1.0]), ConfigError, r"weight.*-1"),
    (lambda rng: rng.pick([math.inf]), ConfigError, r"weight.*inf"),
    (lambda rng: rng.pick([0.0, 0.0]), ConfigError, r"weights.*0"),
)
def test_what_cannot_be_drawn(row):
    rng, twin = Rng(3), Rng(3)
    check(row, rng)
    assert rng.uniform() == twin.uniform()


# --- settings ----------------------------------------------------------------------------------


@rows(
    (lambda: SearchConfig(simulatons=9), ConfigError, r"'simulatons'.*'simulations'"),
    (lambda: SearchConfig(root_dirichlet_alfa=1), ConfigError, "'root_dirichlet_alph"),
    (
        lambda: SearchConfig(qqqqqq=9),
        ConfigError,
        "'qqqqqq'",
    ),
    (lambda: SearchConfig().replace(sed=1), ConfigError, r"'sed'.*'seed'"),
    (
        lambda: SearchConfig(simulations=-1),
        ConfigError,
        r"simulations.*-1",
    ),
    (lambda: SearchConfig(simulations=2.5), ConfigError, r"2.5"),
    (lambda: SearchConfig(simulations=True), ConfigError, "True"),
    (lambda: SearchConfig(seconds=True), ConfigError, r"seconds.*True"),
    (
        lambda: SearchConfig(fpu=False),
        ConfigError,
        r"fpu.*False",
    ),
    (lambda: SearchConfig(noise="yes"), ConfigError, r"noise.*'yes'"),
    (lambda: SearchConfig(add_noise="no"), ConfigError, r"add_noise.*'no'"),
    (
        lambda: setattr(SearchConfig(), "simulations", 5),
        ConfigError,
        r"SearchConfig.*replace\(simulations=5\)",
    ),
    (
        lambda: delattr(SearchConfig(), "seed"),
        ConfigError,
        r"SearchConfig.*seed",
    ),
    (lambda: SearchConfig(seconds=-0.1), ConfigError, r"seconds.*-0.1"),
    (lambda: SearchConfig(bytes=1000), ConfigError, r"bytes.*1000"),
    (
        lambda: SearchConfig(cpuct=math.nan),
        ConfigError,
        r"cpuct.*nan",
    ),
    (lambda: SearchConfig(c_base=0), ConfigError, r"c_base.*0"),
    (lambda: SearchConfig(discount=1.1), ConfigError, r"discount.*1.1"),
    (lambda: SearchConfig(selection="ucb"), ConfigError, "'ucb'"),
    (lambda: SearchConfig(fpu="win"), ConfigError, "'win'"),
    (lambda: SearchConfig(value_range=(2, 1)), ConfigError, "second"),
    (lambda: SearchConfig(value_range=(1, 2, 3)), ConfigError, "pair"),
    (lambda: SearchConfig(prior_bits=9), ConfigError, r"prior_bits.*9"),
    (
        lambda: SearchConfig(simulations=1, playouts=2),
        ConfigError,
        r"'simulations'.*'playouts'",
    ),
    (lambda: SearchConfig().replace(alpha=1, dirichlet_alpha=1), ConfigError, "setting"),
    (
        lambda: SearchConfig(simulations=None),
        ConfigError,
        "simulations",
    ),
    (
        lambda: SearchConfig(selection="gumbel", simulations=None, seconds=1),
        ConfigError,
        "simulations",
    ),
    (
        lambda: Search(config=800),
        ConfigError,
        r"config.*800",
    ),
    (lambda: Rollout(playouts=0), ConfigError, r"playouts.*0"),
    (
        lambda: Search("alphazero"),
        ConfigError,
        "'alphazero'",
    ),
    (lambda: Search(5), ConfigError, r"evaluator is 5: "),
    (lambda: Search(Rollout), ConfigError, r"evaluator is .*Rollout"),
    (
        lambda: Search("material").run(TicTacToe()),
        ConfigError,
        r"'material'.*TicTacToe",
    ),
    (lambda: Forest([TicTacToe()]).run("material"), ConfigError, "TicTacToe"),
)
def test_what_is_no_setting(row):
    check(row)


# --- root states -----------------------------------------------------------------


@rows(
    (
        lambda: sylvan.search(Chess(moves="f3 e5 g4 Qh4")),
        GameOver,
        "finished",
    ),
    (lambda: Forest([TicTacToe(), TicTacToe([0, 3, 1, 4, 2])]), GameOver, r"State 1.*finished"),
    (
        lambda: sylvan.search(Pass(chance=True)),
        SearchStateError,
        "chance",
    ),
    (lambda: Forest([]), ConfigError, r"states.*empty"),
    (lambda: Forest(TicTacToe()), ConfigError, r"states.*TicTacToe"),
    (
        lambda: sylvan.search(TicTacToe),
        GameContractError,
        "TicTacToe",
    ),
    (
        lambda: sylvan.search(chess.Board()),
        GameContractError,
        r"Chess.from_board",
    ),
    (lambda: sylvan.search(KINGS), GameContractError, r"str.*apply"),
    (lambda: sylvan.search(None), GameContractError, r"The position is a NoneType.*sylvan.Game"),
    (lambda: Forest([Pass(seats=0)]), GameContractError, r"Pass.num_players.*0"),
    (lambda: Forest([Pass(seats=9)]), GameContractError, "1 to 8"),
    (
        lambda: Forest([Pass(actions=0)]),
        GameContractError,
        r"Pass.num_actions.*0",
    ),
    (
        lambda: Forest([Pass(span=(1, -1))]),
        GameContractError,
        r"Pass.value_range.*\(1, -1\)",
    ),
    (
        lambda: Forest([TicTacToe(), ConnectFour()]),
        GameContractError,
        r"State 1.*ConnectFour.*state 0",
    ),
    (
        lambda: Forest([ConnectFour(), ConnectFour(columns=5, rows=4)]),
        GameContractError,
        r"State 1.*state 0",
    ),
    (lambda: Search().run(), SearchStateError, r"no tree.*run\(state\)"),
    (lambda: Search().result, SearchStateError, "no tree"),
    (lambda: Search().advance(1), SearchStateError, "no tree"),
    (lambda: Search().stop(), SearchStateError, "no tree"),
    (lambda: Forest([TicTacToe()]).result(), SearchStateError, "evaluated"),
)
def test_what_cannot_be_searched(row):
    check(row)


# --- ask and tell: leaves wait, the forest finishes as if nothing had happened -------------------


def bad(leaves, *, logit: float | None = None, value: float | None = None, leaf: int = 1) -> Any:
    """An evaluation with one bad number: a leaf's first legal logit, or its value."""
    policy = np.zeros((len(leaves), 9), np.float32)
    values = np.zeros((len(leaves), 2), np.float32)
    if logit is not None:
        policy[leaf, leaves.legal(leaf)] = logit
    if value is not None:
        values[leaf, 1] = value
    return policy, values


WHOLE = np.zeros((2, 9), np.float32)
ZEROS = np.zeros(2, np.float32)


@rows(
    (
        lambda f, _: f.select(),
        SearchStateError,
        r"2 leaves.*update\(\).*abandon\(\)",
    ),
    (lambda f, _: f.begin(), SearchStateError, "2 leaves"),
    (
        lambda f, _: f.run("uniform"),
        SearchStateError,
        "evaluation",
    ),
    (lambda f, _: f.advance(0, 4), SearchStateError, "2 leaves"),
    (lambda f, _: f.plant(0, TicTacToe()), SearchStateError, "2 leaves"),
    (
        lambda f, _: f.update(WHOLE[:1], ZEROS),
        EvaluationError,
        r"\(1, 9\)",
    ),
    (lambda f, _: f.update(WHOLE.T, ZEROS), EvaluationError, r"\(9, 2\)"),
    (
        lambda f, _: f.update(np.zeros(3), ZEROS),
        EvaluationError,
        r"\(3,\)",
    ),
    (lambda f, _: f.update(WHOLE, np.zeros(3)), EvaluationError, r"\(3,\)"),
    (
        lambda f, _: f.update(WHOLE, np.zeros((2, 3))),
        EvaluationError,
        r"\(2, 2\) or \(2,\) or \(2, 1",
    ),
    (lambda f, _: f.update(WHOLE, 0.5), EvaluationError, r"\(1,\)"),
    (
        lambda f, _: f.update([[1], [1, 2]], ZEROS),
        EvaluationError,
        "policy",
    ),
    (
        lambda f, _: f.update(WHOLE.astype(str), ZEROS),
        EvaluationError,
        "<U32",
    ),
    (
        lambda f, _: f.update(WHOLE, ZEROS * 1j),
        EvaluationError,
        "complex64",
    ),
    (
        lambda f, _: f.update(WHOLE, [None, 1]),
        EvaluationError,
        "dtype object",
    ),
    (lambda f, _: f.update(WHOLE.astype(bool), ZEROS), EvaluationError, r"policy.*bool"),
    (
        lambda f, leaves: f.update(*bad(leaves, logit=math.nan)),
        EvaluationError,
        r"policy.*leaf 1.*tree 1.*NaN",
    ),
    (
        lambda f, leaves: f.update(*bad(leaves, logit=math.inf)),
        EvaluationError,
        r"policy.*leaf 1.*tree 1.*inf.*\d",
    ),
    (
        lambda f, leaves: f.update(np.full((2, 9), 1e300), ZEROS),
        EvaluationError,
        r"leaf 0.*tree 0.*inf",
    ),
    (
        lambda f, leaves: f.update(*bad(leaves, logit=-math.inf)),
        EvaluationError,
        r"policy.*leaf 1.*tree 1.*finite",
    ),
    (
        lambda f, leaves: f.update(*bad(leaves, value=math.nan)),
        EvaluationError,
        r"value.*leaf 1.*tree 1.*nan.*seat 1",
    ),
    (
        lambda f, leaves: f.update(*bad(leaves, value=math.inf, leaf=0)),
        EvaluationError,
        r"value.*leaf 0.*tree 0.*inf.*seat 1",
    ),
    (
        lambda f, _: f.update(WHOLE, [0, math.nan]),
        EvaluationError,
        r"leaf 1.*tree 1.*nan",
    ),
    (lambda _, leaves: leaves.state(2), SearchStateError, "leaf 2"),
    (
        lambda f, _: f.result(2),
        SearchStateError,
        "tree 2",
    ),
    (lambda f, _: f.result(-1), SearchStateError, "tree -1"),
)
def test_a_refused_answer_leaves_the_forest_alone(row):
    forests = [Forest([TicTacToe(), TicTacToe([4])], simulations=30, seed=3) for _ in range(2)]
    leaves = []
    for forest in forests:
        for _ in range(5):
            forest.update(*skewed(forest.select()))
        leaves.append(forest.select())
    check(row, forests[0], leaves[0])
    twins = [
        finish(forest, skewed, waiting) for forest, waiting in zip(forests, leaves, strict=True)
    ]
    assert everything(twins[0]) == everything(twins[1])


@rows(
    (
        lambda s, _: s.advance(9),
        IllegalAction,
        "Action 9",
    ),
    (lambda s, _: s.advance("x"), IllegalAction, '"x" is not a cell'),
    (lambda s, _: s.advance(1, 1), IllegalAction, "Action 1"),
    (lambda s, _: s._forest.advance(1, 0), SearchStateError, "tree 1"),
    (lambda s, _: s._forest.advance(-1, 0), SearchStateError, "tree -1"),
    (
        lambda s, _: s._forest.update(*[WHOLE[:1], ZEROS[:1]]),
        SearchStateError,
        r"update\(\)",
    ),
    (lambda s, _: s._forest.plant(0, ConnectFour()), GameContractError, "TicTacToe"),
    (lambda s, _: s._forest.plant(0, TicTacToe([0, 3, 1, 4, 2])), GameOver, "finished"),
    (lambda s, _: s.run(noise=[0.1] * 8), ConfigError, "noise=True"),
    (lambda s, _: s.run(5), GameContractError, "int"),
    (lambda s, _: s.run(TicTacToe([0, 3, 1, 4, 2])), GameOver, "finished"),
    (lambda _, r: r.tree.root.edge(99), SearchStateError, r"Action 99.*8"),
    (lambda _, r: r.save("tree.png"), errors.SylvanError, r"png"),
)
def test_a_refused_call_leaves_the_search_alone(row):
    searches = [Search(skewed, simulations=40, seed=5) for _ in range(2)]
    results = [search.run(TicTacToe([4])) for search in searches]
    check(row, searches[0], results[0])
    for search in searches:
        search.advance(results[1].best)
        search.run()
    assert everything(searches[0]._forest) == everything(searches[1]._forest)


@pytest.mark.parametrize(
    "row", [[0.1] * 7, [0.1] * 8 + [math.nan], [0.1] * 10], ids=["7", "nan", "10"]
)
@pytest.mark.parametrize("settings", [{"noise": True}, {"selection": "gumbel"}], ids=str)
def test_noise_that_does_not_fit(row, settings):
    search = Search("uniform", simulations=10, **settings)
    with pytest.raises(ConfigError, match=r"noise.*tree 0.*9"):
        search.run(TicTacToe(), noise=row)
    assert search.run(TicTacToe(), noise=[0.1] * 9).simulations == 10
    with pytest.raises(ConfigError, match=r"noise.*2 rows"):
        search._forest.begin([None, None])


def test_leaves_are_read_before_update():
    forest = Forest([TicTacToe()], simulations=5)
    leaves = forest.select()
    forest.update(*flat(leaves))
    for read in (lambda: leaves.observations, lambda: leaves.state(0), lambda: leaves.states):
        check(Row(read, SearchStateError, r"evaluated already: read them before update\(\)"))
    assert leaves.mask.all() and leaves.legal(0).tolist() == list(range(9))
    assert finish(forest, flat).result().simulations == 5


def test_a_tree_is_read_before_the_search_moves_on():
    search = Search("uniform", simulations=50)
    result = search.run(TicTacToe())
    child = result.tree.root.edges[0].child
    search.advance(result.best)
    check(Row(lambda: child.N, SearchStateError, "moved on, .*: read or save a tree before"))
    assert result.tree.root.N == 51 and result.tree.root.edges[0].N > 0  # read when it was made
    assert search.run().simulations == 50


@pytest.mark.parametrize(
    "answer",
    [None, 3, (WHOLE[:1],), (WHOLE[:1], ZEROS[:1], 1), "ab c"],
    ids=["0", "3", "1", "+", "s"],
)
def test_an_evaluator_gives_a_pair(answer):
    answers = iter([answer])
    search = Search(lambda leaves: next(answers, None) or flat(leaves), simulations=5)
    row = Row(
        lambda: search.run(TicTacToe()), EvaluationError, "must give a pair, policy logits and"
    )
    if answer is None:
        row = Row(
            lambda: Search(lambda _: None).run(TicTacToe()), EvaluationError, "gave a NoneType"
        )
    check(row)
    if answer is not None:
        assert search.run().simulations == 5


def test_the_error_of_an_evaluator_is_its_own():
    def fail(_):
        raise ZeroDivisionError("mine")

    search = Search(fail, simulations=20)
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        search.run(TicTacToe())
    assert caught.traceback[-1].name == "fail"
    search.evaluate = flat
    assert search.run().simulations == 20


# --- games that raise, and games that break the contract, met inside a search --------------------


class MineError(Exception):
    """An exception of a user's game."""


METHODS = ["clone", "apply", "legal_actions", "is_terminal", "to_play", "returns", "observation"]
METHODS += ["rewards", "is_chance", "chance_outcomes"]
NOT_CALLED = {("observation", "rollout")}  # methods that a search with an evaluator does not call


def often(search: Search, state: Game) -> None:
    """Repeat the search until the fault occurs."""
    search.run(state)
    for _ in range(20):
        search.run()


def usable(search: Search) -> None:
    """The search still works, and its counts are correct."""
    result = search.run()
    assert result.simulations == 60 or result.stopped_by == "proven"
    assert sum(edge.N for edge in result.tree.root.edges) == result.tree.root.N - 1


@pytest.mark.parametrize("evaluate", ["rollout", skewed], ids=["native", "python"])
@pytest.mark.parametrize("method", METHODS)
def test_a_game_that_raises(method, evaluate):
    if (method, evaluate) in NOT_CALLED:
        return
    search = Search(evaluate, simulations=60, proofs=False)
    fault = Fault(method, calls=60, error=MineError("a mistake of mine"))
    with pytest.raises(MineError, match="a mistake of mine") as caught:
        often(search, Faulty(fault))
    assert caught.traceback[-1].name == "fail"  # the line that raised is in the traceback
    assert any(entry.name == method for entry in caught.traceback)
    fault.error = None
    usable(search)


def test_a_key_that_raises():
    """The native evaluator `hash_random` reads keys."""
    search = Search("hash_random", simulations=60, proofs=False)
    fault = Fault("key", calls=60, error=MineError("a mistake of mine"))
    with pytest.raises(MineError, match="a mistake of mine"):
        often(search, Faulty(fault))
    fault.error = None
    usable(search)


def test_a_key_that_is_not_bytes():
    search = Search("hash_random", simulations=60, proofs=False)
    fault = Fault("key", calls=10, answer="text")
    run = partial(often, search, Faulty(fault))
    check(Row(run, GameContractError, r"^Faulty\.key\(\) gave 'text': it must give bytes"))
    fault.answer = None
    usable(search)


@pytest.mark.parametrize(("method", "answer", "sentence"), FAULTS)
@pytest.mark.parametrize("evaluate", ["uniform", flat], ids=["native", "python"])
def test_a_game_that_breaks_its_contract(method, answer, sentence, evaluate):
    search = Search(evaluate, simulations=60, proofs=False)
    fault = Fault(method, calls=10, answer=answer)
    run = partial(often, search, Faulty(fault))
    check(Row(run, GameContractError, rf"^Faulty\.{method}\(\) {sentence}"))
    fault.answer = None
    usable(search)


class Forgetful(Pass):
    """`clone` returns None after some copies."""

    copies = 0

    def clone(self):
        Forgetful.copies -= 1
        return Forgetful() if Forgetful.copies >= 0 else None


@pytest.mark.parametrize("copies", [0, 1, 2, 3, 20])
@pytest.mark.parametrize("evaluate", ["uniform", flat], ids=["native", "python"])
def test_a_clone_without_its_return(copies, evaluate):
    Forgetful.copies = copies
    run = partial(Search(evaluate, simulations=60, proofs=False).run, Forgetful())
    check(Row(run, GameContractError, r"^Forgetful\.clone\(\) gave None: it must give a copy"))


def test_observations_of_two_shapes():
    fault = Fault("observation", calls=10, answer=np.zeros(5, np.float32))
    search = Search(skewed, simulations=60, leaves_in_flight=4, proofs=False)
    check(
        Row(
            lambda: search.run(Faulty(fault)),
            GameContractError,
            r"^Faulty\.observation\(\) gave arrays of different shapes: always give the same",
        )
    )
    fault.answer = None
    usable(search)


def test_a_rule_that_is_no_game():
    with pytest.raises(GameContractError, match=r"Crowd\.num_players.*9.*1 to 8"):

        class Crowd(Game):
            num_players = 9

    assert not inspect.isabstract(TicTacToe)


# --- the whole list ----------------------------------------------------------------------------


def test_every_error_has_a_row():
    """An exception without a test here has an unchecked sentence."""
    source = Path(__file__).read_text()
    elsewhere = {"MissingExtra", "SolveTimeout"}  # tests/games
    elsewhere |= {"HiddenCards", "IllegalBid", "IllegalCard", "WrongPhase", "WrongPlayer"}
    elsewhere |= {"NetworkError"}  # tests/networks
    elsewhere |= {"SnapshotError"}  # tests/views
    elsewhere |= {"EngineError", "ProtocolError"}  # tests/engines, tests/players
    elsewhere |= {
        "ReplayError",
        "ClusterError",
        "RunError",
        "TrainingError",
    }  # tests/replay, tests/runs, tests/learning
    elsewhere |= {
        "MissingEntryPoint",
        "MissingFolder",
    }  # tests/cluster, tests/test_registry.py, tests/test_files.py
    kinds = set(errors.__all__) - elsewhere
    assert all(len(re.findall(rf"\b{kind}\b", source)) > 1 for kind in kinds)


@pytest.mark.parametrize("kind", errors.__all__)
def test_every_error_is_one_of_ours(kind):
    assert issubclass(getattr(errors, kind), errors.SylvanError)
    assert getattr(errors, kind).__doc__


OWN_PIPES = ["muzero/game_processes.py", "muzero/game_worker.py", "learning/group.py"]
"""Files that pickle messages between processes of one run, through a pipe."""


def test_no_file_is_unpickled():
    """Loading a pickle runs code, so no file that we read is one."""
    package = Path(inspect.getfile(sylvan)).parent
    for path in set(package.rglob("*.py")) - {package / file for file in OWN_PIPES}:
        names = {
            alias.name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in [*node.names, ast.alias(getattr(node, "module", None) or "")]
        }
        assert not names & {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve"}, path
        assert "allow_pickle=True" not in path.read_text(), path


def test_a_forest_does_not_pretend_to_be_saved():
    search = Search("uniform", simulations=5)
    search.run(TicTacToe())
    for thing in (search, search._forest):  # results are saved: tests/planning/test_names.py
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError), match=r"pickle"):
            pickle.dumps(thing)
    assert search.run().simulations == 5
