"""Networks on ONNX Runtime: shares of a batch, answers that do not depend on it, and bad models."""

import numpy as np
import onnx
import pytest

from sylvan import Forest, Search
from sylvan.errors import ConfigError, EvaluationError, NetworkError
from sylvan.evaluators import OnnxEvaluator
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.networks.header import HEADER_KEY, NetworkHeader
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from tests.evaluators.models import linear_model, linear_weights, small_lc0, small_model
from tests.networks.lc0.files import Shape as NetShape
from tests.planning.random_games import Shape, make


@pytest.fixture
def observations():
    """Of 37 positions of chess, packed."""
    game, rows = Chess(), []
    rng = np.random.default_rng(5)
    while len(rows) < 37:
        rows.append(game.observation())
        game.apply(int(rng.choice(list(game.legal_actions()))))
        if game.is_terminal():
            game = Chess()
    return np.stack(rows)


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 5, 32])
@pytest.mark.parametrize("deterministic", [False, True])
def test_an_answer_does_not_depend_on_how_the_batch_is_shared(
    threads, batch, deterministic, tmp_path, observations
):
    """Equal to the last bit, here, where ONNX Runtime computes each position for itself."""
    model = small_model(tmp_path)
    alone = OnnxEvaluator(model, threads=1, deterministic=True)
    expected = [alone.infer(observations[i : i + 1]) for i in range(len(observations))]
    evaluator = OnnxEvaluator(model, threads=threads, batch=batch, deterministic=deterministic)
    for size in (1, 2, 7, 37):
        answer = evaluator.infer(observations[:size])
        assert answer.policy.shape == (size, 1858) and answer.value.shape == (size, 3)
        for row in range(size):
            np.testing.assert_array_equal(answer.policy[row], expected[row].policy[0])
            np.testing.assert_array_equal(answer.value[row], expected[row].value[0])


def test_deterministic_asks_for_one_position_at_a_time(tmp_path, observations, monkeypatch):
    evaluator = OnnxEvaluator(small_model(tmp_path), threads=2, deterministic=True)
    sizes = []
    run = evaluator._run
    monkeypatch.setattr(evaluator, "_run", lambda rows: sizes.append(len(rows)) or run(rows))
    evaluator.infer(observations)
    assert sizes == [1] * len(observations)


def test_large_batches_are_cut(tmp_path, observations, monkeypatch):
    evaluator = OnnxEvaluator(small_model(tmp_path), threads=2, batch=8)
    sizes = []
    run = evaluator._run
    monkeypatch.setattr(evaluator, "_run", lambda rows: sizes.append(len(rows)) or run(rows))
    evaluator.infer(observations)
    assert sorted(sizes) == [5, 8, 8, 8, 8]
    sizes.clear()
    evaluator.infer(observations[:6])
    assert sizes == [3, 3]


def test_a_model_with_one_batch_size_is_padded(tmp_path, observations):
    model = onnx.load_from_string(small_model(tmp_path))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 4
    fixed = OnnxEvaluator(model.SerializeToString(), threads=2)
    free = OnnxEvaluator(small_model(tmp_path), threads=2)
    for size in (1, 3, 4, 10):
        first, second = fixed.infer(observations[:size]), free.infer(observations[:size])
        np.testing.assert_allclose(first.policy, second.policy, rtol=1e-5, atol=1e-5)
        assert first.value.shape == second.value.shape == (size, 3)


def test_nothing_in_nothing_out(tmp_path, observations):
    answer = OnnxEvaluator(small_model(tmp_path)).infer(observations[:0])
    assert answer.policy.shape == (0, 1858) and answer.value.shape == (0, 3)


def test_moves_left_come_along(tmp_path, observations):
    path = small_lc0(tmp_path, NetShape(channels=8, moves_left=True))
    model = lc0_model(read_lc0(path))
    whole = OnnxEvaluator(model, threads=1).infer(observations)
    shared = OnnxEvaluator(model, threads=3).infer(observations)
    assert whole.moves_left.shape == (37, 1) and whole.moves_left.max() > 0
    np.testing.assert_array_equal(whole.moves_left, shared.moves_left)
    assert OnnxEvaluator(small_model(tmp_path)).infer(observations).moves_left is None


def test_legal_logits_are_gathered_and_values_are_those_of_the_mover():
    games = [Chess(moves=moves, encoder="planes18", codec="lc0") for moves in ("e4 e5 Nf3", "")]
    model, header = linear_model(games[0], "wdl")
    evaluator = OnnxEvaluator(model)
    forest = Forest(games, simulations=1)
    leaves = forest.select()
    logits, values = evaluator(leaves)
    for row, state in enumerate(leaves.states):
        planes = evaluator.expanded(state.observation()[None]).reshape(-1).astype(np.float64)
        policy = linear_weights(header, 1858, 1) @ planes
        expected = [policy[state.logit_index(action)] for action in state.legal_actions()]
        legal = logits[leaves.offsets[row] : leaves.offsets[row + 1]]
        np.testing.assert_allclose(legal, expected, rtol=1e-4, atol=1e-3)
        outcome = np.exp(linear_weights(header, 3, 2) @ planes)
        outcome /= outcome.sum()
        assert values[row] == pytest.approx(outcome[0] - outcome[2], abs=1e-4)
    forest.update(logits, values)


def test_values_per_seat_start_with_the_mover():
    game = make(Shape(num_players=3, zero_sum=False, seed=4))
    model, header = linear_model(game, "seats")
    evaluator = OnnxEvaluator(model)
    forest = Forest([game], simulations=20)
    seats = set()
    for leaves in forest:
        logits, values = evaluator(leaves)
        raw = leaves.observations.reshape(len(leaves), -1) @ linear_weights(header, 3, 2).T
        raw = np.tanh(raw)
        for row, seat in enumerate(leaves.seats):
            seats.add(int(seat))
            turned = [raw[row, (place - seat) % 3] for place in range(3)]
            np.testing.assert_allclose(values[row], turned, rtol=1e-4, atol=1e-4)
        forest.update(logits, values)
    assert len(seats) > 1


def test_another_game_than_chess_is_searched():
    model, _ = linear_model(TicTacToe(), "scalar")
    result = Search(OnnxEvaluator(model, name="line"), simulations=200).run(TicTacToe())
    assert result.evaluator == "line" and result.tree.root.N == 201


def test_a_search_shows_itself_as_the_network_reads(tmp_path):
    evaluator = OnnxEvaluator(small_model(tmp_path))
    result = Search(evaluator, simulations=40).run(Chess())
    assert result.game.encoding == evaluator.encoding
    assert result.tree.root.N == 41


def test_leaves_in_flight_are_what_the_network_prefers(tmp_path):
    evaluator = OnnxEvaluator(small_model(tmp_path))
    flights = [
        Search(evaluator, **settings).config.leaves_in_flight
        for settings in (
            {"simulations": 800},
            {"simulations": 100},
            {"simulations": 0},
            {"simulations": None, "seconds": 1.0},
            {"simulations": None, "nodes": 64},
            {"simulations": 800, "batch_size": 3},
        )
    ]
    assert flights == [16, 3, 1, 16, 2, 3]
    assert Search("material", simulations=800).config.leaves_in_flight == 1


def test_results_are_equal_on_any_number_of_threads(tmp_path):
    model = small_model(tmp_path)
    policies = [
        Search(OnnxEvaluator(model, threads=threads), simulations=150).run(Chess()).policy.tolist()
        for threads in (1, 2, 4)
    ]
    assert policies[0] == policies[1] == policies[2]


# --- what is refused ------------------------------------------------------------------------------


def with_header(model, header):
    proto = onnx.load_from_string(model)
    for entry in proto.metadata_props:
        if entry.key == HEADER_KEY:
            entry.value = header
    return proto.SerializeToString()


def renamed(model, old, new):
    proto = onnx.load_from_string(model)
    for value in (*proto.graph.input, *proto.graph.output):
        value.name = new if value.name == old else value.name
    for node in proto.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]
    return proto.SerializeToString()


def bad_models():
    model, header = linear_model(TicTacToe())
    without = onnx.load_from_string(model)
    del without.metadata_props[:]
    more = header.replace(num_logits=10).to_json()
    later = header.to_json().replace('"format":1', '"format":99')
    return {
        "not a model": (b"nonsense", r"net.*ONNX Runtime.*\(.+\)"),
        "empty": (b"", "net.*ONNX Runtime"),
        "truncated": (model[: len(model) // 2], "net.*ONNX Runtime"),
        "no header": (without.SerializeToString(), "net.*no header"),
        "bad header": (with_header(model, "{]"), "net.*header.*JSON"),
        "later header": (with_header(model, later), "net.*format 99"),
        "other shape": (
            with_header(model, more),
            r"net.*'policy'.*\(9,\).*\(10,\)",
        ),
        "other names": (
            renamed(model, "policy", "logits"),
            "net.*'policy'.*observations, logits, value",
        ),
    }


@pytest.mark.parametrize("case", list(bad_models()))
def test_what_is_no_network_is_said_in_a_sentence(case):
    model, sentence = bad_models()[case]
    with pytest.raises(NetworkError, match=sentence) as caught:
        OnnxEvaluator(model, name="net")
    assert "\n" not in str(caught.value)


def test_a_header_can_be_given():
    model, header = linear_model(TicTacToe())
    bare = onnx.load_from_string(model)
    del bare.metadata_props[:]
    evaluator = OnnxEvaluator(bare.SerializeToString(), header=header)
    assert Search(evaluator, simulations=10).run(TicTacToe()).tree.root.N == 11


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"threads": 0}, r"threads.*0"),
        ({"batch": -1}, r"batch.*-1"),
    ],
)
def test_settings_are_checked(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        OnnxEvaluator(linear_model(TicTacToe())[0], **options)


def test_a_network_for_another_game_is_refused():
    evaluator = OnnxEvaluator(linear_model(TicTacToe())[0], name="ttt")
    forest = Forest([ConnectFour()], simulations=5)
    with pytest.raises(EvaluationError, match=r"ttt.*9"):
        forest.run(evaluator)
    same = NetworkHeader.for_game(TicTacToe()).replace(num_logits=7)
    evaluator = OnnxEvaluator(linear_model(None, header=same)[0], name="seven")
    with pytest.raises(EvaluationError, match=r"\(1, .*seven"):
        Forest([ConnectFour()], simulations=5).run(evaluator)
