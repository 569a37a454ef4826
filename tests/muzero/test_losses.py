"""The unrolled losses and their gradients, against NumPy and by hand."""

import numpy as np
import pytest
import torch

from sylvan.games import TicTacToe
from sylvan.muzero import MuZeroConfig, build_muzero
from sylvan.muzero.learner import SequenceSender
from sylvan.muzero.losses import (
    SequenceTargets,
    scaled_gradient,
    sequence_entropy,
    unrolled_losses,
)
from tests.muzero.made_up import Counter, CounterReplay


class Plain:
    """The network `mlp2xN` and its losses in NumPy, one example and one step at a time."""

    def __init__(self, network):
        self.network = network
        self.w = {name: t.detach().double().numpy() for name, t in network.state_dict().items()}

    def dense(self, name, x):
        return self.w[f"{name}.weight"] @ x + self.w[f"{name}.bias"]

    def normed(self, name, x):
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        return np.maximum(x * self.w[f"{name}.weight"] + self.w[f"{name}.bias"], 0)

    def chain(self, name, x):
        x = self.normed(f"{name}.1", self.dense(f"{name}.0", x))
        return self.dense(f"{name}.3", x)

    @staticmethod
    def ranged(x):
        return (x - x.min()) / (x.max() - x.min() + 1e-5)

    def representation(self, seen):
        if seen.ndim == 1:  # a vector with several units
            logs = np.sign(seen) * np.log1p(np.abs(seen))
            seen = np.concatenate([logs, *(np.tanh(seen * scale) for scale in (1, 4, 16))])
        return self.ranged(self.chain("representation.layers", seen.reshape(-1)))

    def step(self, state, action):
        mixed = self.dense("dynamics.state", state) + self.w["dynamics.action.weight"][action]
        mixed = self.normed("dynamics.norm", mixed)
        return self.ranged(state + self.dense("dynamics.layers.0", mixed))

    def heads(self, state):
        body = self.normed("prediction.body.1", self.dense("prediction.body.0", state))
        return np.split(self.dense("prediction.out", body), [self.network.header.num_logits])

    def cross_entropy(self, logits, number):
        """Cross-entropy of one scaled number over the support −n … n."""
        n = (len(logits) - 1) // 2
        place = np.sign(number) * (np.sqrt(abs(number) + 1) - 1) + 0.001 * number
        low = int(np.floor(place))
        target = np.zeros(len(logits))
        target[low + n] += 1 - (place - low)
        if place > low:
            target[low + 1 + n] += place - low
        return -(target * log_softmax(logits)).sum()

    def losses(self, batch):
        names = ("policy", "value", "reward", "consistency", "reconstruction")
        found = dict.fromkeys(names, 0.0)
        steps = batch.actions.shape[1]
        for i, weight in enumerate(batch.weight):
            state = self.representation(batch.observations[i])
            for k in range(steps + 1):
                if k:
                    state = self.step(state, batch.actions[i, k - 1])
                    reward = self.chain("dynamics.reward", state)
                    error = self.cross_entropy(reward, batch.reward[i, k, 0])
                    found["reward"] += weight / steps * batch.known[i, k] * error
                    if batch.alive[i, k]:
                        seen = self.representation(batch.following[i, k - 1])
                        there = self.chain("projector", seen)
                        here = self.chain("predictor", self.chain("projector", state))
                        cosine = here @ there / np.linalg.norm(here) / np.linalg.norm(there)
                        found["consistency"] -= weight / steps * cosine
                if batch.alive[i, k]:
                    seen = batch.following[i, k - 1] if k else batch.observations[i]
                    off = self.dense("decoder", state) - seen.reshape(-1)
                    found["reconstruction"] += weight / (steps + 1) * (off**2).sum()
                share = weight if k == 0 else weight / steps
                policy, value = self.heads(state)
                error = self.cross_entropy(value, batch.value[i, k, 0])
                found["value"] += share * batch.known[i, k] * error
                surprise = -(batch.policy[i, k] * log_softmax(policy)).sum()
                found["policy"] += share * batch.policy_weight[i, k] * surprise
        return {name: total / batch.weight.sum() for name, total in found.items()}


def log_softmax(x):
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def sent(network, batch, following=True):
    sender = SequenceSender(network.header, torch.device("cpu"), network.outputs, following)
    both = sender(batch)
    return both.observations, both.targets


def model(size="mlp2x12", game=None, seed=5, spread=20.0, **config):
    """A network whose heads do not output zeros."""
    network = build_muzero(size, game=game or Counter(), config=MuZeroConfig(**config), seed=seed)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith(("out.weight", "reward.3.weight")):
                parameter.mul_(spread)
    return network


@pytest.mark.parametrize("unroll", [1, 4])
def test_losses_are_those_of_numpy(unroll):
    network = model(support=6, reconstruction=1.0)
    batch = CounterReplay(Counter(), unroll).sample(7, np.random.default_rng(unroll))
    batch.known[2, 1:] = False  # a truncated game
    assert not batch.alive.all()
    parts, errors = unrolled_losses(
        network, *sent(network, batch), consistency=True, reconstruction=True
    )
    expected = Plain(network).losses(batch)
    assert set(parts) == set(expected)
    for name, part in parts.items():
        assert part.item() == pytest.approx(expected[name], rel=1e-4, abs=1e-5), name
    said = network.initial_inference(torch.from_numpy(batch.observations)).value.detach().numpy()
    assert np.allclose(errors.numpy(), np.abs(said - batch.value[:, 0, 0]), atol=1e-5)


def test_the_entropy_is_the_lower_bound_of_the_policy_loss():
    rng = np.random.default_rng(0)
    batch = CounterReplay(Counter(), 3).sample(9, rng)
    batch.policy[...] = rng.dirichlet([1, 1], batch.policy.shape[:2]) * batch.alive[..., None]
    network = model()
    _, targets = sent(network, batch)
    each = -np.where(batch.policy > 0, batch.policy * np.log(batch.policy + 1e-30), 0).sum(axis=2)
    each[:, 1:] /= 3
    expected = (each.sum(axis=1) * batch.weight).sum() / batch.weight.sum()
    assert sequence_entropy(targets).item() == pytest.approx(expected, rel=1e-5)


def test_a_gradient_is_scaled():
    x = torch.tensor([2.0, -3.0], requires_grad=True)
    y = scaled_gradient(x, 0.5)
    assert torch.equal(y, x)
    (y * torch.tensor([4.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 5.0]


def gradient_of(network, batch, part, scale):
    """The gradient of one part of the loss in the representation's last layer."""
    network.zero_grad()
    parts, _ = unrolled_losses(
        network, *sent(network, batch, False), gradient_scale=scale, consistency=False
    )
    parts[part].backward()
    return network.representation.layers[3].weight.grad.clone()


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_gradient_of_step_k_is_halved_k_times(steps):
    """A reward k steps ahead gives 1/2^k of its gradient to the first state; the others give 0."""
    network = model(spread=5.0)
    batch = CounterReplay(Counter(), 3, length=(9, 10)).sample(6, np.random.default_rng(1))
    batch.known[...] = False
    batch.known[:, steps] = True
    batch.policy_weight[...] = 0
    halved = gradient_of(network, batch, "reward", 0.5)
    whole = gradient_of(network, batch, "reward", 1.0)
    assert whole.abs().max() > 1e-4
    assert torch.allclose(halved, whole / 2**steps, rtol=1e-4, atol=1e-9)


def test_the_first_state_gets_its_own_gradient_unscaled():
    network = model(spread=5.0)
    batch = CounterReplay(Counter(), 3).sample(6, np.random.default_rng(1))
    batch.policy_weight[:, 1:] = 0
    halved, whole = (gradient_of(network, batch, "policy", scale) for scale in (0.5, 1.0))
    assert whole.abs().max() > 1e-4 and torch.equal(halved, whole)


def test_encoded_states_get_no_gradient():
    """The loss moves the predicted state to the encoded state, not the reverse."""
    network = model(consistency=1.0)
    batch = CounterReplay(Counter(), 2, length=(9, 10)).sample(6, np.random.default_rng(1))
    seen, targets = sent(network, batch)
    later = targets.following.clone().requires_grad_()
    with_gradient = SequenceTargets(**vars(targets) | {"following": later})
    parts, _ = unrolled_losses(network, seen, with_gradient, consistency=True)
    parts["consistency"].backward()
    assert later.grad is None
    assert network.dynamics.state.weight.grad.abs().max() > 0
    assert -1 <= parts["consistency"].item() <= 1


def test_past_the_end_values_and_rewards_are_learned_and_policies_are_not():
    network = model()
    batch = CounterReplay(Counter(), 3, length=(1, 2)).sample(5, np.random.default_rng(2))
    assert not batch.alive[:, 1:].any()
    parts, _ = unrolled_losses(network, *sent(network, batch), consistency=True)
    assert parts["consistency"].item() == 0
    batch.policy[:, 1:] = 0.5  # a policy without weight changes nothing
    again, _ = unrolled_losses(network, *sent(network, batch), consistency=True)
    assert all(torch.equal(parts[name], again[name]) for name in parts)
    batch.value[:, 1:] = 3.0
    batch.reward[:, 1:] = 3.0
    other, _ = unrolled_losses(network, *sent(network, batch), consistency=True)
    assert other["value"] != parts["value"] and other["reward"] != parts["reward"]


def test_an_examples_gradient_does_not_depend_on_how_many_have_a_target():
    network = model()
    batch = CounterReplay(Counter(), 2, length=(9, 10)).sample(4, np.random.default_rng(2))
    batch.weight[...] = 1
    parts, _ = unrolled_losses(network, *sent(network, batch))
    batch.policy_weight[2:] = 0
    half, _ = unrolled_losses(network, *sent(network, batch))
    batch.policy_weight[:2] = 0
    batch.policy_weight[2:] = 1
    rest, _ = unrolled_losses(network, *sent(network, batch))
    assert (half["policy"] + rest["policy"]).item() == pytest.approx(
        parts["policy"].item(), rel=1e-5
    )


def test_a_batch_without_weight_has_no_loss():
    network = model()
    batch = CounterReplay(Counter(), 2).sample(4, np.random.default_rng(2))
    batch.weight[...] = 0
    parts, _ = unrolled_losses(network, *sent(network, batch), consistency=True)
    assert all(part.item() == 0 for part in parts.values())


def test_values_of_all_seats_have_equal_weight():
    """Three seats, scalars: the mean of their squared errors, the seat to move first."""
    network = model(game=Counter(players=3))
    batch = CounterReplay(Counter(players=3), 1).sample(3, np.random.default_rng(0))
    seen, targets = sent(network, batch, following=False)
    said = network.initial_inference(seen)
    then = network.recurrent_inference(said.hidden, targets.actions[:, 0])
    parts, errors = unrolled_losses(network, seen, targets)
    first = ((said.value - targets.value[:, 0]) ** 2).mean(dim=1)
    second = ((then.value - targets.value[:, 1]) ** 2).mean(dim=1)
    weight = targets.weight / targets.weight.sum()
    assert parts["value"].item() == pytest.approx(
        ((first + second) * weight).sum().item(), rel=1e-4
    )
    off = (said.value - targets.value[:, 0]).abs().mean(dim=1)
    assert torch.allclose(errors, off, atol=1e-6)
    paid = ((then.reward - targets.reward[:, 1]) ** 2).mean(dim=1)
    assert parts["reward"].item() == pytest.approx((paid * weight).sum().item(), rel=1e-4)


def test_two_seats_share_one_output():
    network = build_muzero("2x8", game=TicTacToe(), seed=0)
    game = Counter(players=2, shape=(2, 3, 3), actions=9)
    batch = CounterReplay(game, 2).sample(4, np.random.default_rng(0))
    _, targets = sent(network, batch, following=False)
    assert targets.value.shape == (4, 3, 1)
    assert np.array_equal(targets.value[..., 0].numpy(), batch.value[..., 0])
