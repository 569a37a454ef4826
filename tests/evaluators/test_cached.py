"""A cache changes nothing but the time: same search, fewer evaluations, within its bytes."""

import tracemalloc

import numpy as np
import pytest

from sylvan import Forest, Search
from sylvan.errors import ConfigError
from sylvan.evaluators import Cached, HashRandom, OnnxEvaluator
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.evaluators.models import linear_model, small_model
from tests.planning.random_games import Shape, make


class Counted:
    """An evaluator that counts what it is asked."""

    def __init__(self, evaluator):
        self.evaluator = evaluator
        self.encoding = getattr(evaluator, "encoding", None)
        self.name = "counted"
        self.rows = 0

    def __call__(self, leaves):
        self.rows += len(leaves)
        logits, values = self.evaluator(leaves)
        assert len(logits) == len(leaves.actions) and len(values) == len(leaves)
        return logits, values


def whole(leaves):
    """Logits of all actions, one value per leaf, fixed by the observation."""
    flat = leaves.observations.reshape(len(leaves), -1).astype(np.float32)
    weights = np.random.default_rng(0).normal(size=(flat.shape[1], leaves.num_logits + 1))
    answer = (flat @ weights).astype(np.float32)
    return answer[:, 1:], np.tanh(answer[:, 0])


def everything(result):
    edges = [(edge.action, edge.N, edge.P, edge.Q) for edge in result.tree.root.edges]
    return result.policy.tolist(), result.value, edges


@pytest.mark.parametrize("in_flight", [1, 8])
@pytest.mark.parametrize(
    "game",
    [
        TicTacToe(),
        ConnectFour(),
        make(Shape(num_players=3, zero_sum=False, seed=4)),
        Chess(encoder="planes18", codec="lc0"),
    ],
    ids=["tic-tac-toe", "connect four", "three seats", "chess"],
)
def test_a_search_finds_the_same_with_a_cache(game, in_flight):
    value = "seats" if game.num_players == 3 else "scalar"
    evaluator = OnnxEvaluator(linear_model(game, value)[0])
    cached = Cached(evaluator)
    settings = {"simulations": 150, "leaves_in_flight": in_flight, "proofs": False}
    expected = everything(Search(evaluator, **settings).run(game))
    for _ in range(2):  # the second from the cache alone
        assert everything(Search(cached, **settings).run(game)) == expected
    assert cached.hit_rate >= 0.5


def test_logits_of_all_actions_are_taken_apart():
    cached = Cached(whole)
    expected = everything(Search(whole, simulations=80, leaves_in_flight=4).run(ConnectFour()))
    found = everything(Search(cached, simulations=80, leaves_in_flight=4).run(ConnectFour()))
    assert found == expected and len(cached) > 50


def test_a_position_is_evaluated_once():
    counted = Counted(OnnxEvaluator(linear_model(TicTacToe())[0]))
    cached = Cached(counted)
    forest = Forest([TicTacToe()] * 10, simulations=30)
    forest.run(cached)
    assert counted.rows == len(cached) < cached.lookups / 10 + 1
    assert cached.lookups == cached.hits + counted.rows
    rows = counted.rows
    Forest([TicTacToe()], simulations=30).run(cached)
    assert counted.rows == rows
    cached.clear()
    assert (len(cached), cached.lookups, cached.hits, cached.used) == (0, 0, 0, 0)
    assert cached.hit_rate == 0.0


def test_legal_actions_belong_to_the_position():
    """Planes do not show en passant; the moves do."""
    boards = [
        Chess(f"4k3/8/8/3pP3/8/8/8/4K3 w - {square} 0 2", history_fill="always")
        for square in ("d6", "-")
    ]
    forest = Forest([boards[1], boards[0]], simulations=0)
    leaves = forest.select()
    assert len(leaves.legal(0)) != len(leaves.legal(1))

    def same_view(leaves):
        return np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves), np.float32)

    cached = Cached(same_view)
    logits, _ = cached(leaves)
    assert len(logits) == len(leaves.actions) and len(cached) == 2


def test_boards_of_history_can_be_left_out(tmp_path):
    """Two ways to one position differ in their history, and only there."""
    evaluator = OnnxEvaluator(small_model(tmp_path))
    ways = [
        Chess(moves=moves).encoded(evaluator.encoding)
        for moves in ("Nf3 Nf6 Nc3 Nc6", "Nc3 Nc6 Nf3 Nf6", "Nf3 Nf6 Nc3 Ng8")
    ]
    entries = []
    for boards in (None, 8, 2, 1):
        cached = Cached(evaluator, boards=boards)
        Forest(ways, simulations=0).run(cached)
        entries.append(len(cached))
    assert entries == [3, 3, 3, 2]


def test_bytes_are_kept_and_the_least_recently_used_go():
    evaluator = OnnxEvaluator(linear_model(ConnectFour())[0])
    cached = Cached(evaluator, bytes=20_000)
    Search(cached, simulations=600).run(ConnectFour())
    assert 15_000 < cached.used <= 20_000 and len(cached) < 70
    first = Forest([ConnectFour()], simulations=0)
    first.run(cached)
    for column in range(7):
        Forest([ConnectFour([column])], simulations=0).run(cached)
        hits = cached.hits
        Forest([ConnectFour()], simulations=0).run(cached)
        assert cached.hits == hits + 1, "used again and again, it stays"


def test_bytes_are_those_of_the_machine():
    """The cache's own count of its bytes is right within a quarter."""
    evaluator = OnnxEvaluator(linear_model(ConnectFour())[0])
    cached = Cached(evaluator)
    Search(cached, simulations=50).run(ConnectFour())
    before, entries = cached.used, len(cached)
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    Search(cached, simulations=4000, seed=1, proofs=False, c_puct=4.0).run(ConnectFour())
    taken = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert len(cached) > entries + 1500
    assert taken == pytest.approx(cached.used - before, rel=0.25)


def test_it_is_otherwise_the_evaluator(tmp_path):
    evaluator = OnnxEvaluator(small_model(tmp_path), name="small")
    cached = Cached(evaluator, bytes=2**20)
    assert cached.name == "small" and cached.encoding == evaluator.encoding
    assert cached.header is evaluator.header and cached.preferred_batch == 16
    assert cached.infer(Chess().observation()[None]).policy.shape == (1, 1858)
    assert Search(cached, simulations=800).config.leaves_in_flight == 16
    assert "0% of 0 found" in repr(cached)
    with pytest.raises(AttributeError):
        cached.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bytes": 0}, r"bytes.*0"),
        ({"boards": 0}, r"boards.*0"),
        ({"boards": 9}, r"boards.*9"),
    ],
)
def test_settings_are_checked(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Cached(whole, **options)


def test_what_runs_inside_the_search_needs_no_cache():
    with pytest.raises(ConfigError, match=r"HashRandom\(\)"):
        Cached(HashRandom())


def test_nothing_goes_past_the_cache():
    """An evaluator that can be asked ahead is asked through the cache alone."""

    class Ahead:
        def __call__(self, leaves):
            raise NotImplementedError

        submit = collect = infer = __call__

    cached = Cached(Ahead())
    assert hasattr(cached, "infer")
    assert not hasattr(cached, "submit") and not hasattr(cached, "collect")
