"""The learner of a model: it learns the counter, resumes bit for bit, and stops at NaN."""

import dataclasses

import numpy as np
import pytest
import torch

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.games import Chess, TicTacToe
from sylvan.learning.config import LearnerConfig
from sylvan.muzero import MuZeroConfig, MuZeroLearner, build_muzero
from sylvan.networks import build_network
from tests.muzero.made_up import STATES, Counter, CounterReplay, seen

FLAT = {"schedule": "constant", "warmup": 0.0, "final_decay": 0.0, "batch": 16}


def generator(seed=0):
    return np.random.Generator(np.random.Philox(seed))


def learner_of(size="mlp2x16", game=None, *, folder=".", muzero=None, **settings):
    config = MuZeroConfig(**({"unroll": 3} | (muzero or {})))
    network = build_muzero(size, game=game or Counter(), config=config, seed=1)
    return MuZeroLearner(network, LearnerConfig(**FLAT | settings), "cpu", 1, folder, muzero=config)


class Fixed:
    """A replay of one batch."""

    def __init__(self, batch):
        self.batch = batch

    def sample(self, count, rng):
        assert count == len(self.batch)
        return self.batch


GAMES = {
    "mlp": ("mlp2x16", Counter(), {}),
    "tower": ("1x8", Counter(shape=(2, 3, 3), players=2, actions=9), {}),
    "learned planes": ("1x8", Counter(shape=(2, 3, 4)), {}),
    "fixed norm": ("2x8", Counter(shape=(2, 3, 3), actions=9), {"network": {"norm": "fixed"}}),
    "image": ("1x8", Counter(shape=(1, 24, 32), dtype=np.uint8), {}),
    "seats": ("mlp3x16", Counter(players=3), {}),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_gradient_reaches_every_parameter(name):
    size, game, extra = GAMES[name]
    shows = name != "image"
    config = MuZeroConfig(unroll=3, consistency=1.0, reconstruction=1.0 if shows else 0.0)
    network = build_muzero(size, game=game, config=config, seed=1, **extra.get("network", {}))
    learner = MuZeroLearner(network, LearnerConfig(**FLAT), "cpu", 1, muzero=config)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    found = learner.train(CounterReplay(game), 3, 0.5, generator())
    looks = {"reconstruction"} if shows else set()
    assert set(found.parts) == {"policy", "value", "reward", "consistency"} | looks
    for name, parameter in learner.network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
        assert not torch.equal(parameter, before[name]), name


def test_the_total_is_the_weighted_sum_of_the_parts():
    weights = {"policy_weight": 0.5, "value_weight": 0.25}
    more = {"reward": 3.0, "consistency": 1.5, "reconstruction": 0.5}
    own = {"reward_weight": 3.0, "consistency": 1.5, "reconstruction": 0.5}
    learner = learner_of(muzero=own, **weights)
    found = learner.train(CounterReplay(Counter()), 1, 0.5, generator())
    share = {"policy": 0.5, "value": 0.25} | more
    assert set(found.parts) == set(share)
    assert found.total == pytest.approx(
        sum(share[name] * part for name, part in found.parts.items()), rel=1e-5
    )
    assert {"loss.reward", "loss.consistency", "loss.policy", "loss.value"} <= set(found.numbers())


@pytest.mark.slow
def test_a_tiny_network_overfits_one_batch():
    batch = CounterReplay(Counter()).sample(32, generator(3))
    learner = learner_of(
        "mlp2x32",
        muzero={"reconstruction": 0.1},
        batch=32,
        learning_rate=5e-3,
        average=0.0,
        weight_decay=0.0,
    )
    first = learner.train(Fixed(batch), 1, 0.5, generator())
    learner.train(Fixed(batch), 250, 0.5, generator())
    last = learner.train(Fixed(batch), 1, 0.5, generator())
    assert last.parts["policy"] < 0.05 < first.parts["policy"]
    assert last.parts["reward"] - least(batch.reward[:, 1:], batch.weight) < 0.1
    # States past the end have no consistency loss.
    most = (batch.alive[:, 1:].mean(axis=1) * batch.weight).sum() / batch.weight.sum()
    assert last.parts["consistency"] < -0.95 * most
    assert last.parts["reconstruction"] < 0.02 * first.parts["reconstruction"]


def least(numbers, weight):
    """The entropy of the categorical targets: the lower bound of the cross-entropy."""
    place = np.sign(numbers) * (np.sqrt(np.abs(numbers) + 1) - 1) + 0.001 * numbers
    share = np.clip(place - np.floor(place), 1e-12, 1 - 1e-12)
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share)).mean(axis=-1)
    return (entropy.mean(axis=1) * weight).sum() / weight.sum()


@pytest.mark.slow
def test_the_model_knows_the_counter_several_steps_ahead():
    game = Counter()
    learner = learner_of("mlp2x32", batch=64, learning_rate=3e-3)
    learner.train(CounterReplay(game, length=(4, 9)), 600, 0.5, generator())
    network = learner.averaged
    states, rng = np.arange(STATES), np.random.default_rng(0)
    answer = network.initial_inference(torch.from_numpy(seen(states, game.shape)))
    for _ in range(3):
        actions = rng.integers(0, 2, STATES)
        states = (states + actions + 1) % STATES
        answer = network.recurrent_inference(answer.hidden, torch.from_numpy(actions))
        assert np.allclose(answer.reward.detach().numpy(), states == 0, atol=0.2)
        assert np.array_equal(answer.policy.argmax(dim=1).numpy(), states % 2)


@pytest.mark.parametrize("size", ["mlp2x16", "1x8"])
def test_it_resumes_bit_for_bit(size):
    game = Counter(shape=(2, 3, 3), actions=9)

    def fresh():
        return learner_of(size, game)

    whole, half = fresh(), fresh()
    whole.train(CounterReplay(game), 6, 0.5, generator(1))
    rng = generator(1)
    half.train(CounterReplay(game), 3, 0.5, rng)
    resumed = fresh()
    resumed.load_state_dict(half.state_dict())
    resumed.train(CounterReplay(game), 3, 0.5, rng)
    one, other = whole.state_dict(), resumed.state_dict()
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(value, other[name]), name


def test_nan_stops_training_and_saves_the_batch(tmp_path):
    learner = learner_of(folder=tmp_path)
    batch = CounterReplay(Counter()).sample(16, generator(3))
    batch.reward[4, 2] = np.nan
    before = {name: tensor.clone() for name, tensor in learner.network.state_dict().items()}
    with pytest.raises(TrainingError, match=r"reward.*finite") as caught:
        learner.train(Fixed(batch), 1, 0.5, generator())
    for name, tensor in learner.network.state_dict().items():
        assert torch.equal(tensor, before[name])
    with np.load(tmp_path / "not-finite-update-1.npz") as file:
        saved = dict(file)
    assert "not-finite-update-1.npz" in str(caught.value)
    for field in dataclasses.fields(batch):
        found = getattr(batch, field.name)
        if found is None:
            assert field.name not in saved
            continue
        assert np.array_equal(saved[field.name], found, equal_nan=found.dtype.kind == "f")


class Prioritised(CounterReplay):
    """A replay that receives value errors."""

    class config:  # noqa: N801
        prioritised = True

    def __init__(self, game):
        super().__init__(game)
        self.heard = []

    def update_priorities(self, positions, errors):
        self.heard.append((positions, errors))


def test_priorities_are_the_value_errors_of_first_states():
    learner, replay = learner_of(), Prioritised(Counter())
    batch = replay.sample(16, generator(5))
    said = learner.network.initial_inference(torch.from_numpy(batch.observations)).value
    learner.train(replay, 1, 0.5, generator(5))
    ((positions, errors),) = replay.heard
    assert np.array_equal(positions, batch.positions)
    expected = np.abs(said.detach().numpy() - batch.value[:, 0, 0])
    assert np.allclose(errors, np.maximum(expected, 1e-6), atol=1e-5)


def test_packed_planes_of_chess_are_learned_from():
    learner = learner_of("1x8", Chess(encoder="planes19"), batch=2)
    shape = Counter(shape=(19, 8, 8), players=2, actions=4672)
    batch = CounterReplay(shape, following=False).sample(2, generator())
    game = Chess(encoder="planes19")
    batch = dataclasses.replace(batch, observations=np.stack([game.observation()] * 2))
    found = learner.train(Fixed(batch), 1, 0.5, generator())
    assert np.isfinite(found.total) and found.gradient_norm > 0
    assert "consistency" not in found.parts


@pytest.mark.parametrize(
    ("replay", "sentence"),
    [
        (CounterReplay(Counter(actions=3)), r"policy.*\(16, 4, 3\)"),
        (CounterReplay(Counter(players=2)), r"value.*\(16, 4, 2\)"),
        (CounterReplay(Counter(), following=False), "following=True"),
        (CounterReplay(Counter(shape=(7,))), r"\(7,\).*\(6,\)"),
    ],
)
def test_wrong_batches_are_refused(replay, sentence):
    with pytest.raises(TrainingError, match=sentence):
        learner_of().train(replay, 1, 0.5, generator())


def test_wrong_networks_are_refused():
    with pytest.raises(NetworkError, match=r"Network.*learned model"):
        MuZeroLearner(build_network("mlp1x8", game=TicTacToe()), LearnerConfig(), "cpu")
    without = build_muzero("mlp1x8", game=Counter(), config=MuZeroConfig(consistency=0.0))
    with pytest.raises(ConfigError, match=r"muzero\.consistency.*2"):
        MuZeroLearner(without, LearnerConfig(), "cpu")
    blind = build_muzero("mlp1x8", game=Counter())
    shows = MuZeroConfig(reconstruction=0.5)
    with pytest.raises(ConfigError, match=r"muzero\.reconstruction.*0\.5"):
        MuZeroLearner(blind, LearnerConfig(), "cpu", muzero=shows)
    with pytest.raises(ConfigError, match=r"learner\.loss"):
        learner_of(loss="my.py:loss")


def test_sparse_policies_are_expanded_on_the_device():
    game = Counter(actions=5)
    learner = learner_of(game=game)
    batch = CounterReplay(game).sample(8, generator(3))
    codes = np.array([4, 1, 0, 0])
    parts = batch.policy.copy()
    parts[...] = 0
    parts[:, :, 4], parts[:, :, 1] = 0.75, 0.25
    few = np.broadcast_to(np.float32([0.75, 0.25, 0, 0]), (*parts.shape[:2], 4)).copy()
    named = dataclasses.replace(
        batch, policy=few, policy_actions=np.broadcast_to(codes, few.shape).copy()
    )
    sender = learner._make_sender()
    found = sender.targets(named).policy
    assert torch.equal(found, sender.targets(dataclasses.replace(batch, policy=parts)).policy)


@pytest.mark.slow
def test_the_whole_loss_can_be_compiled_at_once():
    """As on a GPU: one graph over all steps gives the same losses."""
    size, game, _ = GAMES["tower"]
    learner = learner_of(size, game, muzero={"consistency": 1.0, "reconstruction": 1.0})
    sent = learner._sent(CounterReplay(game).sample(16, generator()))
    compiled = torch.compile(learner._losses, backend="aot_eager", fullgraph=True)
    plain, errors = learner._losses(sent.observations, sent.targets)
    parts, same = compiled(sent.observations, sent.targets)
    assert torch.allclose(errors, same, atol=1e-5) and plain.keys() == parts.keys()
    for part in plain:
        assert parts[part].item() == pytest.approx(plain[part].item(), rel=1e-4)


# Also on a GPU if there is one: there, forward and backward are a recorded graph.
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_recorded_graph_changes_nothing(device):
    """Batches differ, and the warm-up does not change the statistics of the norms."""
    size, game, _ = GAMES["tower"]
    config = MuZeroConfig(unroll=3)
    exact = LearnerConfig(**FLAT, precision="float32")
    networks = [build_muzero(size, game=game, config=config, seed=1) for _ in range(2)]
    recorded, plain = (MuZeroLearner(n, exact, device, 1, muzero=config) for n in networks)
    assert (recorded._graph is None) == (device == "cpu")
    plain._graph = None
    found = [each.train(CounterReplay(game), 6, 0.5, generator()) for each in (recorded, plain)]
    assert found[0].parts == pytest.approx(found[1].parts, rel=1e-4)
    for ours, theirs in zip(
        recorded.network.state_dict().values(), plain.network.state_dict().values(), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-4)
