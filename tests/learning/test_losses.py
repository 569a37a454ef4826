"""Losses compared with values computed by hand; illegal actions and zero weights are ignored."""

from math import exp, log

import pytest
import torch

from sylvan.learning.losses import Targets, losses, priorities, target_entropy
from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput


def header(value="wdl", **changes):
    fields = {"game": "g", "observation_shape": (4,), "num_logits": 3, "num_players": 2}
    return NetworkHeader(**(fields | {"value": value} | changes))


def targets(**changes):
    fields = {
        "policy": torch.tensor([[0.75, 0.25, 0.0], [0.0, 1.0, 0.0]]),
        "legal": torch.tensor([[True, True, False], [True, True, True]]),
        "policy_weight": torch.ones(2),
        "value": torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]),
        "weight": torch.ones(2),
    }
    return Targets(**(fields | changes))


LOGITS = torch.tensor([[log(3.0), 0.0, 50.0], [0.0, log(2.0), 0.0]])
VALUE = torch.tensor([[log(2.0), 0.0, 0.0], [0.0, log(6.0), 0.0]])

FIRST = -(0.75 * log(3 / 4) + 0.25 * log(1 / 4))  # the third action is illegal
SECOND = -log(2 / 4)


def parts(kind="wdl", answer=VALUE, moves_left=None, **changes):
    head = header(kind, moves_left=moves_left is not None)
    output = NetworkOutput(LOGITS, answer, moves_left)
    return {name: float(each) for name, each in losses(output, targets(**changes), head).items()}


def test_the_policy_is_a_cross_entropy_over_legal_actions():
    assert parts()["policy"] == pytest.approx((FIRST + SECOND) / 2)


def test_losses_are_weighted_means():
    found = parts(weight=torch.tensor([1.0, 3.0]), policy_weight=torch.tensor([1.0, 0.5]))
    assert found["policy"] == pytest.approx((FIRST + 1.5 * SECOND) / 2.5)
    first, second = -log(2 / 4), -0.5 * log(6 / 8) - 0.5 * log(1 / 8)
    assert found["value"] == pytest.approx((first + 3 * second) / 4)


def test_a_batch_without_policy_weight_has_policy_loss_zero():
    assert parts(policy_weight=torch.zeros(2))["policy"] == 0.0


def test_a_position_without_legal_actions_has_policy_loss_zero():
    nothing = torch.zeros(2, 3)
    assert parts(policy=nothing, legal=nothing.bool())["policy"] == 0.0


def test_an_illegal_action_gets_no_gradient():
    logits = LOGITS.clone().requires_grad_()
    losses(NetworkOutput(logits, VALUE), targets(), header())["policy"].backward()
    assert logits.grad[0, 2] == 0.0 and torch.isfinite(logits.grad).all()
    # Softmax minus target, over the batch of two.
    assert logits.grad[1].tolist() == pytest.approx([0.125, -0.25, 0.125])


def test_scalars_and_seats_are_squared_errors():
    value, wanted = torch.tensor([[0.5], [-1.0]]), torch.tensor([[1.0], [1.0]])
    assert parts("scalar", value, value=wanted)["value"] == pytest.approx((0.25 + 4.0) / 2)


def test_values_of_seats_are_scaled_by_half_the_range():
    value, wanted = torch.tensor([[60.0, 20.0]] * 2), torch.tensor([[50.0, 40.0]] * 2)
    output = NetworkOutput(LOGITS, value)
    for bounds, scale in (((0.0, 100.0), 50.0), (None, 1.0)):
        head = header("seats", architecture={"value_range": bounds})
        found = losses(output, targets(value=wanted), head)["value"]
        assert float(found) == pytest.approx((100.0 + 400.0) / 2 / scale**2)


def test_moves_left_is_a_huber_loss_over_finished_games():
    guess, true = torch.tensor([[15.0], [80.0]]), torch.tensor([[10.0], [20.0]])
    near, far = 0.5 * (5 / 20) ** 2, 0.5 * (60 / 20 - 0.25)
    assert parts(moves_left=guess)["policy"] and "moves_left" not in parts(moves_left=guess)
    head, output = header(moves_left=True), NetworkOutput(LOGITS, VALUE, guess)
    found = losses(output, targets(moves_left=true), head)["moves_left"]
    assert float(found) == pytest.approx((near + far) / 2)
    unknown = losses(output, targets(moves_left=torch.tensor([[10.0], [-1.0]])), head)
    assert float(unknown["moves_left"]) == pytest.approx(near)


def test_auxiliary_outputs_are_separate_parts_and_need_a_target():
    answers = {"owner": torch.tensor([[1.0, 0.0], [2.0, 0.0]]), "without_target": torch.zeros(2, 1)}
    found = losses(
        NetworkOutput(LOGITS, VALUE, None, answers),
        targets(auxiliary={"owner": torch.zeros(2, 2), "without_output": torch.zeros(2, 1)}),
        header(),
    )
    assert set(found) == {"policy", "value", "owner"}
    assert float(found["owner"]) == pytest.approx((0.5 + 2.0) / 2)


def test_a_perfect_policy_has_the_entropy_of_the_targets_as_its_loss():
    assert float(target_entropy(targets())) == pytest.approx(FIRST / 2)
    perfect = NetworkOutput(targets().policy.log().clamp(min=-1e4), VALUE)
    found = losses(perfect, targets(), header())["policy"]
    assert float(found) == pytest.approx(float(target_entropy(targets())))


def test_priorities_are_errors_above_their_lower_bounds():
    found = priorities(NetworkOutput(LOGITS, VALUE), targets(), header())
    won = log(2)  # the first policy is perfect already
    second = SECOND + (-0.5 * log(6 / 8) - 0.5 * log(1 / 8)) - log(2)
    assert found.tolist() == pytest.approx([won, second])
    sure = NetworkOutput(LOGITS, torch.tensor([[40.0, 0.0, 0.0], [-40.0, 0.0, 0.0]]))
    assert 0 < float(priorities(sure, targets(), header())[0]) < 1e-5
    assert exp(-won) == pytest.approx(0.5)
