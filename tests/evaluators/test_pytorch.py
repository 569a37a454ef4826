"""Networks on PyTorch answer as the module does, whatever the batch."""

from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan import SearchConfig
from sylvan.errors import ConfigError, EvaluationError, NetworkError
from sylvan.evaluators.cuda_graphs import BusyMeter, CudaLane, Recorded, rounding_flags
from sylvan.evaluators.lanes import KERNELS, Lane, fill_rows, padded_size
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.evaluators.some_leaves import SomeLeaves
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.games.chess import expand_planes
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.networks import build_network, save_network
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.lc0.tower import lc0_module
from sylvan.selfplay.actors import Actors
from sylvan.selfplay.config import SelfPlayConfig
from tests.networks.nets import maia, needs_nets
from tests.networks.positions import random_states

ENCODINGS = [
    Encoding(encoder=encoder, codec=codec)
    for encoder, codec in (
        ("lc0_112", "az73"),
        ("az119", "lc0"),
        ("planes19", "az73"),
        ("planes18", "lc0"),
    )
]

# A GPU is tested where there is one; all that it does differently is in `cuda_graphs`.
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def leaves_of(states):
    return sylvan.Forest(states, simulations=1).select()


def by_hand(network, states):
    """Legal logits and values of the seat to move, one position after another."""
    logits, values = [], []
    for state in states:
        observation = state.observation()[None]
        if state.encoding is not None:
            observation = expand_planes(observation, state.encoding.encoder)
        with torch.no_grad():
            output = network.eval()(torch.from_numpy(observation.astype(np.float32)))
        policy = output.policy[0].numpy()
        logits += [policy[state.logit_index(action)] for action in state.legal_actions()]
        win, _, loss = torch.softmax(output.value[0], 0).tolist()
        values.append(win - loss)
    return np.array(logits), np.array(values)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: e.encoder)
def test_chess_in_every_encoding(encoding):
    network = build_network("1x16", game=Chess(), encoding=encoding, seed=1)
    states = [state.encoded(encoding) for state in random_states(Chess(), 23, seed=4)]
    evaluate = TorchEvaluator(network, device="cpu", batch=8)
    logits, values = evaluate(leaves_of(states))
    wanted = by_hand(network, states)
    np.testing.assert_allclose(logits, wanted[0], atol=1e-5)
    np.testing.assert_allclose(values, wanted[1], atol=1e-5)
    # The whole policy too, from packed planes and from numbers.
    packed = np.stack([state.observation() for state in states])
    one = evaluate.infer(packed)
    two = evaluate.infer(expand_planes(packed, encoding.encoder))
    assert one.policy.shape == (23, encoding.num_logits)
    np.testing.assert_array_equal(one.policy, two.policy)


@pytest.mark.parametrize("size", ["1x16", "t1x32", "mlp1x16"])
def test_other_games(size):
    network = build_network(size, game=ConnectFour(), seed=1)
    states = random_states(ConnectFour(), 40)
    logits, values = TorchEvaluator(network, device="cpu")(leaves_of(states))
    wanted = by_hand(network, states)
    np.testing.assert_allclose(logits, wanted[0], atol=1e-5)
    np.testing.assert_allclose(values, wanted[1], atol=1e-5)


def test_padding_is_not_seen():
    """Rows that fill a batch of a compiled or a GPU evaluator do not change the others."""
    network = build_network("1x16", game=ConnectFour(), seed=1)
    states = random_states(ConnectFour(), 11)
    plain = TorchEvaluator(network, device="cpu")
    padded = TorchEvaluator(network, device="cpu", batch=8)
    padded._lanes[0].size = lambda count: 8  # as on a GPU
    one, two = plain(leaves_of(states)), padded(leaves_of(states))
    np.testing.assert_allclose(one[0], two[0], atol=1e-5)
    np.testing.assert_allclose(one[1], two[1], atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
@given(batch=st.integers(1, 5000), data=st.data())
def test_prepared_batch_sizes(compiled, batch, data):
    """Each holds its positions, is its own size, and there are few."""
    count = data.draw(st.integers(1, batch))
    size = padded_size(count, batch, compiled=compiled)
    assert count <= size <= batch and padded_size(size, batch, compiled=compiled) == size
    assert size < 2 * count or (compiled and size == batch < 8 * (count + 1))
    sizes = {padded_size(each, batch, compiled=compiled) for each in range(1, batch + 1)}
    assert len(sizes) <= 19


@pytest.mark.parametrize("game", [Chess(), ConnectFour()], ids=["chess", "connect4"])
def test_two_batches_under_way(game):
    """Tickets can be collected in any order, and each gives its own answer."""
    network = build_network("1x16", game=game, seed=1)
    evaluate = TorchEvaluator(network, device="cpu", batch=8)
    halves = [leaves_of(random_states(game, count, seed=count)) for count in (5, 21)]
    tickets = [evaluate.submit(leaves) for leaves in halves]
    for leaves, ticket in reversed(list(zip(halves, tickets, strict=True))):
        for one, two in zip(evaluate.collect(ticket), evaluate(leaves), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("game", [Chess(), ConnectFour()], ids=["chess", "connect4"])
def test_many_sizes_and_new_weights(game, device):
    """Several batches under way, then with other weights, against one position after another."""
    evaluate = TorchEvaluator(build_network("2x32", game=game), device=device, batch=64)
    counts = (1, 64, 40, 150)
    states = [random_states(game, count, seed=count) for count in counts]
    for seed in (1, 2):
        network = build_network("2x32", game=game, seed=seed)
        evaluate.refresh(network)
        tickets = [evaluate.submit(leaves_of(each)) for each in states]
        for each, ticket in zip(states, tickets, strict=True):
            for one, two in zip(evaluate.collect(ticket), by_hand(network, each), strict=True):
                np.testing.assert_allclose(one, two, atol=1e-5 if device == "cpu" else 0.03)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("connect4", {}),
        ("chess", {"batch": 3}),
        ("tictactoe", {}),
    ],
    ids=["whole", "parts", "another"],
)
def test_batches_of_self_play_are_read_and_answered_in_place(spec, options, monkeypatch):
    network = build_network("1x8", game=GameSpec(spec).first(), seed=1)
    config = SelfPlayConfig(games=8, max_plies=6)

    def played(evaluator):
        search = SearchConfig(simulations=6, noise=True)
        encoding = network.header.encoding
        return Actors(GameSpec(spec), config, 3, encoding, search, rows=4).play(evaluator, 0, 8)

    def called(leaves):  # other leaves, without memory
        return evaluate(SomeLeaves(leaves, np.arange(len(leaves))))

    evaluate = TorchEvaluator(network, device="cpu", **options)
    expected = played(called)
    monkeypatch.delattr(TorchEvaluator, "_copied")
    found = played(evaluate)
    for name in expected.columns:
        np.testing.assert_array_equal(found[name], expected[name])


def test_logits_are_written_once():
    """The batch that is answered holds the logits already."""
    network = build_network("1x8", game=ConnectFour(), seed=1)
    evaluate, seen = TorchEvaluator(network, device="cpu"), []

    class Watched:
        def submit(self, leaves):
            return leaves, evaluate.submit(leaves)

        def collect(self, ticket):
            leaves, ticket = ticket
            logits, values = evaluate.collect(ticket)
            seen.append(np.shares_memory(logits, leaves.memory.logits))
            return logits, values

    Actors(GameSpec("connect4"), SelfPlayConfig(games=4), 1, rows=2).play(Watched(), 0, 2)
    assert all(seen) and seen


def test_observations_of_another_encoding_are_refused():
    network = build_network("1x8", game=Chess(), seed=1)
    actors = Actors(GameSpec("chess"), SelfPlayConfig(games=2), 1, Encoding("planes19"))
    with pytest.raises(EvaluationError, match=r"\(\d+, 19\).*\(\d+, 112\)"):
        actors.play(TorchEvaluator(network, device="cpu"), 0, 2)


class ReplayedLane(CudaLane):
    """A GPU's lane on the processor: what is recorded is computed again, into the same memory."""

    open, buffer, to_device = Lane.open, Lane.buffer, Lane.to_device
    fence, synchronize, aside = Lane.fence, Lane.synchronize, Lane.aside

    def __init__(self, module, size):
        Lane.__init__(self, module, size, torch.device("cpu"))
        self._recorded, self.replays = {}, 0

    def _record(self, size, like):
        observations = torch.zeros((size, *like.shape[1:]), dtype=like.dtype)
        outputs = self.module(observations)

        def replay():
            self.replays += 1
            for old, new in zip(outputs, self.module(observations), strict=True):
                if old is not None:
                    old.copy_(new)

        return Recorded(SimpleNamespace(replay=replay), observations, outputs)


@pytest.mark.parametrize("game", [Chess(), ConnectFour()], ids=["chess", "connect4"])
def test_recorded_runs(game):
    """Memory that is used again, with what other batches left in it, changes no answer."""
    network = build_network("1x16", game=game, seed=1)
    plain, evaluate = (TorchEvaluator(network, device="cpu", batch=32) for _ in range(2))

    def size(count):
        return padded_size(count, 32, compiled=False)

    evaluate._lanes = [ReplayedLane(evaluate._module, size) for _ in range(2)]
    evaluate._next_lane = cycle(evaluate._lanes)
    for count in (32, 5, 75, 6, 1):
        leaves = leaves_of(random_states(game, count, seed=count))
        for one, two in zip(evaluate(leaves), plain(leaves), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-5)
    assert [lane.replays for lane in evaluate._lanes] == [4, 3]
    assert {key[0] for key in evaluate._lanes[0]._recorded} <= {32, 16, 8, 1}
    other = build_network("1x16", game=game, seed=2)
    before = evaluate(leaves)
    plain.refresh(other)
    evaluate.refresh(other)
    np.testing.assert_allclose(evaluate(leaves)[0], plain(leaves)[0], atol=1e-5)
    assert not np.allclose(evaluate(leaves)[0], before[0], atol=1e-4)


def test_a_smaller_batch_needs_less_memory_and_gives_the_same_answers():
    network = build_network("1x8", game=ConnectFour(), seed=1)
    plain, evaluate = (TorchEvaluator(network, device="cpu", batch=32) for _ in range(2))
    leaves = leaves_of(random_states(ConnectFour(), 20))
    for batch in (8, 64):  # it never grows
        evaluate.resize(batch)
        assert evaluate.batch == 8
        for one, two in zip(evaluate(leaves), plain(leaves), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyTorch's compiler, about itself
def test_compiled():
    """Three batch sizes, and new weights without compiling again."""
    network = build_network("1x8", game=Chess(), seed=1)
    plain = TorchEvaluator(network, device="cpu")
    compiled = TorchEvaluator(network, device="cpu", compile=True, batch=16)
    for count in (1, 3, 21):
        leaves = leaves_of(random_states(Chess(), count))
        for one, two in zip(plain(leaves), compiled(leaves), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-5)
    other = build_network("1x8", game=Chess(), seed=2)
    plain.refresh(other)
    compiled.refresh(other)
    np.testing.assert_allclose(plain(leaves)[0], compiled(leaves)[0], atol=1e-5)


def test_deterministic_answers_do_not_depend_on_the_batch():
    network = build_network("2x32", game=Chess(), seed=1)
    evaluate = TorchEvaluator(network, device="cpu", deterministic=True)
    observations = np.stack([state.observation() for state in random_states(Chess(), 24)])
    together = evaluate.infer(observations)
    turned = evaluate.infer(observations[::-1])
    np.testing.assert_array_equal(together.policy, turned.policy[::-1])
    for row in (0, 5, 23):
        alone = evaluate.infer(observations[row : row + 1])
        np.testing.assert_array_equal(alone.policy[0], together.policy[row])
        np.testing.assert_array_equal(alone.value[0], together.value[row])


def test_training_goes_on_without_the_evaluator():
    network = build_network("1x8", game=TicTacToe(), seed=1)
    evaluate = TorchEvaluator(network, device="cpu")
    observations = TicTacToe().observation()[None]
    before = evaluate.infer(observations).policy
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1
    np.testing.assert_array_equal(evaluate.infer(observations).policy, before)
    evaluate.refresh(network)
    assert not np.array_equal(evaluate.infer(observations).policy, before)
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_a_search_with_it(tmp_path):
    network = build_network("1x8", game=Chess(), seed=1, encoding=Encoding(codec="lc0"))
    save_network(network, tmp_path / "net.safetensors")
    evaluate = TorchEvaluator(tmp_path / "net.safetensors", device="cpu")
    result = sylvan.search(Chess(), evaluator=evaluate, simulations=20)
    assert result.simulations == 20 and evaluate.name == "net.safetensors"
    loaded = sylvan.evaluators.load_evaluator(tmp_path / "net.safetensors", device="cpu")
    assert isinstance(loaded, TorchEvaluator)
    assert sylvan.search(Chess(), evaluator=loaded, simulations=20).value == result.value


def test_what_cannot_be():
    network = build_network("1x8", game=TicTacToe(), seed=1)
    with pytest.raises(ConfigError, match=r"device.*'nowhere'.*PyTorch"):
        TorchEvaluator(network, device="nowhere")
    with pytest.raises(ConfigError, match=r"dtype.*'float16'.*GPU"):
        TorchEvaluator(network, device="cpu", dtype="float16")
    with pytest.raises(ConfigError, match=r"dtype.*'int8'"):
        TorchEvaluator(network, device="cpu", dtype="int8")
    with pytest.raises(ConfigError, match=r"batch.*0"):
        TorchEvaluator(network, batch=0)
    with pytest.raises(NetworkError, match=r"Linear.*header"):
        TorchEvaluator(torch.nn.Linear(2, 3))
    with pytest.raises(EvaluationError, match=r"9.*7"):
        TorchEvaluator(network, device="cpu")(leaves_of([ConnectFour()]))


@needs_nets
@pytest.mark.parametrize("rating", [1100, 1500, 1900])
def test_maia_as_a_module(rating):
    """lc0's network in our tower, against the same numbers as an ONNX graph of their own."""
    network = read_lc0(maia(rating))
    one = TorchEvaluator(lc0_module(network), device="cpu")
    two = OnnxEvaluator(lc0_model(network))
    states = [state.encoded(one.encoding) for state in random_states(Chess(), 60, seed=rating)]
    leaves = leaves_of(states)
    ours, theirs = one(leaves), two(leaves)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)


def test_padding_is_zero_whatever_the_last_batch_was():
    padded = torch.full((5, 2), 7.0)
    fill_rows(padded, torch.ones(3, 2))
    assert padded.tolist() == [[1, 1]] * 3 + [[0, 0]] * 2
    fill_rows(padded, torch.ones(5, 2))
    assert padded.tolist() == [[1, 1]] * 5


@pytest.mark.parametrize("kernels", KERNELS)
def test_flags_of_rounding_are_set_and_restored(kernels):
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn

    def flags():
        return (
            matmul.allow_fp16_reduced_precision_reduction,
            matmul.allow_bf16_reduced_precision_reduction,
            matmul.allow_tf32,
            cudnn.benchmark,
            cudnn.deterministic,
        )

    before = flags()
    with rounding_flags(kernels):
        assert flags() == (False, False, False, kernels == KERNELS[0], kernels == KERNELS[1])
    assert flags() == before
    with pytest.raises(KeyError), rounding_flags(kernels):
        raise KeyError
    assert flags() == before


def test_other_kernels_are_those_of_new_lanes(monkeypatch):
    network = build_network("1x8", game=ConnectFour(), seed=1)
    evaluator = TorchEvaluator(network, device="cpu")
    assert evaluator.num_lanes == 1 and evaluator.other_kernels == []
    evaluator._on_gpu = True
    made = []
    monkeypatch.setattr(
        "sylvan.evaluators.cuda_graphs.CudaLane",
        lambda module, size, device, *, kernels: made.append(kernels) or Lane(module, size, device),
    )
    assert evaluator.other_kernels == ["deterministic", "eager"]
    evaluator.use_kernels("deterministic")
    evaluator.use_kernels("deterministic")
    assert made == ["deterministic"] * 2 and evaluator.num_lanes == 2
    assert evaluator.other_kernels == ["benchmark", "eager"]


class Moment:
    """An event at a known time, in milliseconds."""

    def __init__(self, at):
        self.at = at

    def elapsed_time(self, other):
        return other.at - self.at


def test_a_gpu_is_busy_once_at_a_time():
    meter = BusyMeter()
    for began, ended in [(0, 10), (5, 12), (20, 30), (20, 30), (21, 25), (29, 31)]:
        meter.add(Moment(began), Moment(ended))
    assert meter.seconds == pytest.approx(0.023)
