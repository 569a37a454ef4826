"""The learner: all parameters learn, steps follow the formulas, a resume is bit for bit."""

import copy

import numpy as np
import pytest
import torch

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.learning.losses import losses
from sylvan.networks import build_network
from sylvan.runs.watcher import Watcher
from tests.planning.random_games import Shape, make
from tests.replay.examples import MadeUp

FLAT = {"schedule": "constant", "warmup": 0.0, "final_decay": 0.0}


def generator(seed=0):
    return np.random.Generator(np.random.Philox(seed))


def learner_of(size="2x8", game=None, *, seed=1, network=None, folder=".", **settings):
    game = game or ConnectFour()
    made = build_network(size, game=game, seed=seed, **(network or {}))
    config = LearnerConfig(**({"batch": 16} | FLAT | settings))
    return Learner(made, config, "cpu", threads=1, folder=folder)


def trained(learner, updates=1, seed=0, examples=None, progress=0.5):
    examples = examples or MadeUp(learner.header)
    return learner.train(examples, updates, progress, generator(seed))


def weights(network):
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def same_bits(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["wdl", "scalar", "seats"])
@pytest.mark.parametrize(
    ("size", "settings"),
    [
        ("2x8", {"pooling_every": 1}),
        ("2x8", {"norm": "fixed"}),
        ("2x8", {"norm": "folded", "policy": "dense"}),
        ("mlp2x16", {"norm": True}),
        ("t2x32", {}),
    ],
    ids=["tower", "fixed", "folded", "mlp", "transformer"],
)
def test_a_gradient_reaches_every_parameter(size, settings, value):
    extra = {"value": value, "moves_left": True, "auxiliary": {"owner": 4}}
    learner = learner_of(size, network=settings | extra)
    before = weights(learner.network)
    found = trained(learner, 3, examples=MadeUp(learner.header, {"owner": 4}))
    assert set(found.parts) == {"policy", "value", "moves_left", "owner"}
    for name, parameter in learner.network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
        assert not torch.equal(parameter, before[name]), name


def test_packed_planes_of_chess_are_expanded():
    learner = learner_of("1x8", Chess(encoder="planes18", codec="lc0"), batch=4)
    found = trained(learner)
    assert np.isfinite(found.total) and found.gradient_norm > 0


def test_losses_fall_to_near_zero_on_learnable_examples():
    learner = learner_of("2x8", TicTacToe(), learning_rate=5e-3, batch=64)
    first = trained(learner)
    trained(learner, 120, seed=1)
    last = trained(learner, 5, seed=2)
    assert first.parts["policy"] > 0.5 and first.parts["value"] > 0.9
    assert last.parts["policy"] < 0.05 and last.parts["value"] < 0.05
    assert last.target_entropy == 0.0


class Recorded:
    """Records the batches that a learner draws."""

    def __init__(self, examples):
        self.examples, self.batches = examples, []

    def sample(self, count, rng):
        self.batches.append(self.examples.sample(count, rng))
        return self.batches[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adamw", "weight_decay": 0.1},
        {"optimizer": "sgd", "weight_decay": 0.01, "momentum": 0.9},
        {"optimizer": "sgd", "nesterov": False, "weight_decay": 0.01},
    ],
    ids=["adamw", "nesterov", "momentum"],
)
def test_updates_follow_the_papers_formulas(settings):
    """Three updates, compared with the papers' formulas in float64 on the same gradients."""
    learner = learner_of("mlp1x8", clip=0.0, average=0.0, learning_rate=0.01, **settings)
    config = learner.config
    network = copy.deepcopy(learner.network)
    recorded = Recorded(MadeUp(learner.header))
    memory = {}
    trained(learner, 3, examples=recorded)
    for number, batch in enumerate(recorded.batches, 1):
        network.zero_grad()
        parts = losses(
            network(learner._sender.observations(batch.observations)),
            learner._sender.targets(batch),
            network.header,
        )
        (parts["policy"] + parts["value"]).backward()
        for name, parameter in network.named_parameters():
            decay = config.weight_decay if parameter.dim() > 1 else 0.0
            gradient, weight = parameter.grad.double(), parameter.data.double()
            if config.optimizer == "adamw":
                m, v = memory.get(name, (0.0, 0.0))
                m = 0.9 * m + 0.1 * gradient
                v = 0.999 * v + 0.001 * gradient**2
                memory[name] = m, v
                step = (m / (1 - 0.9**number)) / ((v / (1 - 0.999**number)).sqrt() + 1e-8)
                weight = weight * (1 - 0.01 * decay) - 0.01 * step
            else:
                gradient = gradient + decay * weight
                m = gradient + 0.9 * memory[name] if name in memory else gradient
                memory[name] = m
                weight = weight - 0.01 * (gradient + 0.9 * m if config.nesterov else m)
            parameter.data = weight.float()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(learner.network.get_parameter(name), parameter)


def test_the_rate_follows_the_schedule_and_ends_at_zero():
    learner = learner_of(final_decay=0.2, learning_rate=0.01, average=0.0)
    assert trained(learner, progress=0.9).learning_rate == pytest.approx(0.005)
    before = weights(learner.network)
    assert trained(learner, 2, progress=1.0).learning_rate == 0.0
    for name, parameter in learner.network.named_parameters():
        assert torch.equal(parameter, before[name])
    rates = []
    learner.train(MadeUp(learner.header), 4, lambda share: rates.append(share) or 0.0, generator())
    assert rates == [0.0, 0.25, 0.5, 0.75]


def test_gradients_are_clipped_to_a_norm():
    learner = learner_of("mlp1x8", clip=0.01, optimizer="sgd", momentum=0.0, weight_decay=0.0)
    learner.config = learner.config.replace(learning_rate=1.0)
    before = weights(learner.network)
    found = trained(learner)
    assert found.gradient_norm > 0.1
    squares = sum(
        float((parameter.detach() - before[name]).square().sum())
        for name, parameter in learner.network.named_parameters()
    )
    assert squares**0.5 == pytest.approx(0.01, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"optimizer": "sgd"}, {"average": 0.0}])
@pytest.mark.parametrize("size", ["2x8", "t1x16"])
def test_a_restored_learner_resumes_bit_for_bit(size, settings):
    whole, first = learner_of(size, **settings), learner_of(size, **settings)
    examples = MadeUp(whole.header)
    rng = generator(5)
    for learner, updates in ((whole, 10), (first, 5)):
        learner.updates(7)
        learner.train(examples, updates, 0.5, generator(5))
    second = learner_of(size, seed=99, **settings)
    second.load_state_dict(first.state_dict())
    for _ in range(5):
        examples.sample(16, rng)
    second.train(examples, 5, 0.5, rng)
    assert same_bits(weights(whole.network), weights(second.network))
    assert same_bits(weights(whole.averaged), weights(second.averaged))
    assert second.updates_made == 10
    one, two = whole.state_dict(), second.state_dict()
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[key], two[key]) for key in one)
    assert whole.updates(7) == second.updates(7)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_batches_give_the_same_bits(threads):
    learners = [learner_of("2x16") for _ in range(2)]
    for learner in learners:
        learner.threads = threads
        trained(learner, 6)
    assert same_bits(*(weights(learner.network) for learner in learners))


def test_float16_skips_updates_that_overflow_until_the_scale_fits(monkeypatch, tmp_path):
    """As on a GPU without bfloat16, where the loss is scaled."""
    monkeypatch.setattr("sylvan.learning.base_learner._dtype", lambda name, device: torch.float16)
    learner = learner_of("mlp1x8", folder=tmp_path)
    learner._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=1000)
    before = weights(learner.network)
    skipped = trained(learner, 1)
    assert np.isfinite(skipped.total) and skipped.gradient_norm == 0.0
    assert same_bits(before, weights(learner.network))
    found = trained(learner, 40, seed=1)
    assert found.gradient_norm > 0 and not same_bits(before, weights(learner.network))
    state = learner.state_dict()
    assert 1.0 <= state["scale"] < 2.0**40
    again = learner_of("mlp1x8", seed=7)
    again.load_state_dict(state)
    for each in (learner, again):
        trained(each, 3, seed=2)
    assert same_bits(weights(learner.network), weights(again.network))
    learner._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**100, growth_interval=1000)
    with pytest.raises(TrainingError, match="finite"):
        trained(learner, 40)


def test_the_state_can_be_stored_as_safetensors():
    from safetensors.numpy import load, save

    learner = learner_of()
    trained(learner, 2)
    state = learner.state_dict()
    arrays = {name: each for name, each in state.items() if isinstance(each, np.ndarray)}
    rest = {name: each for name, each in state.items() if name not in arrays}
    assert all(isinstance(each, str | int | float) for each in rest.values())
    again = learner_of(seed=4)
    again.load_state_dict(load(save(arrays)) | rest)
    assert same_bits(weights(again.network), weights(learner.network))
    trained(learner, 1)
    assert not np.array_equal(
        state["network/value.out.weight"], learner.network.value.out.weight.detach()
    )


def test_the_state_of_another_game_network_or_optimizer_is_refused():
    state = learner_of("mlp1x8", TicTacToe()).state_dict()
    learner = learner_of("mlp1x8", ConnectFour())
    before = weights(learner.network)
    with pytest.raises(NetworkError, match=r"tic_tac_toe.*connect_four"):
        learner.load_state_dict(state)
    with pytest.raises(NetworkError, match="another network"):
        learner.load_state_dict(learner_of("mlp1x4").state_dict())
    with pytest.raises(ConfigError, match=r"optimizer.*'adamw'.*'sgd'"):
        learner.load_state_dict(learner_of("mlp1x8", optimizer="sgd").state_dict())
    assert same_bits(before, weights(learner.network))


class Spoiled(MadeUp):
    """The second batch has a NaN among its values."""

    def sample(self, count, rng):
        batch = super().sample(count, rng)
        if self.drawn == 2:
            batch.value[3, 0] = np.nan
        return batch


def test_a_loss_that_is_not_finite_stops_the_training_and_saves_the_batch(tmp_path):
    learner, twin = learner_of(folder=tmp_path), learner_of()
    with pytest.raises(TrainingError, match=r"update 2.*value.*nan") as caught:
        trained(learner, 3, examples=Spoiled(learner.header))
    (path,) = tmp_path.iterdir()
    assert str(path) in str(caught.value)
    with np.load(path) as saved:
        assert np.isnan(saved["value"][3, 0]) and saved["observations"].shape == (16, 2, 6, 7)
    trained(twin, 1)
    assert same_bits(weights(learner.network), weights(twin.network))  # statistics of norms too
    assert same_bits(weights(learner.averaged), weights(twin.averaged))


def test_a_gradient_that_overflows_stops_the_training(tmp_path):
    learner = learner_of("mlp1x8", folder=tmp_path)
    learner.network.value.out.weight.data[:] = 3e38
    before = weights(learner.network)
    with pytest.raises(TrainingError, match="finite"):
        trained(learner)
    assert same_bits(before, weights(learner.network))


def test_examples_of_another_game_are_refused():
    with pytest.raises(TrainingError, match=r"\(2, 3, 3\)"):
        trained(learner_of("mlp1x8"), examples=MadeUp(learner_of("mlp1x8", TicTacToe()).header))


def test_the_remainder_of_updates_is_carried_over():
    learner = learner_of(batch=100, samples_per_position=2.5)
    assert [learner.updates(30) for _ in range(8)] == [0, 1, 1, 1, 0, 1, 1, 1]
    assert learner.updates(0) == 0 and learner.state_dict()["owed"] == 0.0


def test_a_watcher_receives_metrics_by_name():
    calls = []

    class Recorder(Watcher):
        def learner_progress(self, update, updates, losses):
            calls.append((update, updates, dict(losses)))

    learner = learner_of("mlp1x8")
    found = learner.train(MadeUp(learner.header), 3, 0.5, generator(), Recorder())
    update, updates, losses = calls[0]
    assert (update, updates) == (1, 3)
    assert losses.keys() <= found.numbers().keys()
    assert {"loss.policy", "loss.total", "learner.gradient_norm"} <= losses.keys()


def test_no_more_batches_are_drawn_than_updates_made():
    learner = learner_of()
    examples = MadeUp(learner.header)
    rng, twin = generator(3), generator(3)
    learner.train(examples, 4, 0.5, rng)
    for _ in range(4):
        MadeUp(learner.header).sample(16, twin)
    assert examples.drawn == 4 and rng.random() == twin.random()
    nothing = learner.train(examples, 0, 0.5, rng)
    assert nothing.updates == 0 and examples.drawn == 4
    # Curves must not drop to zero in a step without updates.
    assert nothing.numbers().keys() == {"learner.updates", "learner.seconds"}


class Prioritised(MadeUp):
    """Checks that priorities are updated before the next draw."""

    def __init__(self, header):
        super().__init__(header)
        self.config = type("Config", (), {"prioritised": True})
        self.updates = []

    def sample(self, count, rng):
        assert len(self.updates) == self.drawn
        return super().sample(count, rng)

    def update_priorities(self, positions, priorities):
        assert positions.shape == (16, 2) and priorities.shape == (16,)
        assert (priorities > 0).all() and (positions[:, 0] == self.drawn).all()
        self.updates.append(priorities)


def test_priorities_are_updated_before_the_next_batch_is_drawn():
    learner = learner_of("2x8", TicTacToe(), learning_rate=5e-3)
    examples = Prioritised(learner.header)
    trained(learner, 80, examples=examples)
    assert len(examples.updates) == 80
    assert examples.updates[-1].mean() < examples.updates[0].mean() / 4


def test_a_game_of_three_seats_trains_a_value_per_seat():
    game = make(Shape(num_players=3, zero_sum=False, seed=4))
    learner = learner_of("mlp1x8", game)
    assert learner.header.value == "seats" and trained(learner, 2).parts["value"] > 0


def test_half_precision_on_a_cpu_is_refused():
    with pytest.raises(ConfigError, match=r"precision.*'bfloat16'.*GPU"):
        learner_of(precision="bfloat16")


def test_a_module_without_header_is_refused():
    with pytest.raises(NetworkError, match=r"Linear.*header"):
        Learner(torch.nn.Linear(1, 1), LearnerConfig())
