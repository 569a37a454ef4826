"""The losses of a learned model that is unrolled for K steps.

    s_0 = representation(o_t);    s_k = dynamics(s_{k-1}, a_{t+k-1})

| part | of one example |
|---|---|
| `policy` | CE_0 + 1/K Σ CE_k;  CE_k = −Σ π_k(a) log p_k(a) over all actions, 0 without a target |
| `value` | E_0 + 1/K Σ E_k;  E by the network's output format: cross-entropy or squared error |
| `reward` | 1/K Σ E_k |
| `consistency` | 1/K Σ −cos(predictor(projector(s_k)), projector(representation(o_{t+k}))) |
| `reconstruction` | 1/(K + 1) Σ ‖decoder(s_k) − o_{t+k}‖², k from 0 |

with k from 1 to K unless stated otherwise. The softmax of the policy is over all actions: below the
root illegal actions are not masked, so the model must learn them.

*Scales.* Each step is weighted by 1/K, so that the total does not grow with K; and the gradient
into each step's state is halved (`gradient_scale`), so that the gradient of the dynamics does not
grow either (Schrittwieser 2020, appendix G).

*Past the end* a state is absorbing: the targets of value and reward are 0; there is no policy,
consistency or reconstruction loss. States after a truncation have no targets.

Each part is a mean over the batch, weighted by the importance of each example. A missing target
adds 0, and the divisor does not depend on how many targets there are, so an example's gradient does
not depend on the others. Sums are fp32 in any precision of the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from sylvan.learning.group import joint_sum
from sylvan.networks.muzero import MuZeroNetwork

__all__ = ["SequenceTargets", "scaled_gradient", "sequence_entropy", "unrolled_losses"]


@dataclass(frozen=True)
class SequenceTargets:
    """A `SequenceBatch` as tensors on the learner's device: B examples, K steps, S outputs."""

    actions: torch.Tensor
    """`[B, K]` int64."""
    value: torch.Tensor
    """`[B, K + 1, S]`."""
    reward: torch.Tensor
    """`[B, K + 1, S]`; the first is not used."""
    policy: torch.Tensor
    """`[B, K + 1, A]` probabilities."""
    policy_weight: torch.Tensor
    """`[B, K + 1]` 0 for states without a policy target."""
    known: torch.Tensor
    """`[B, K + 1]` float: 0 for states whose value and reward are unknown."""
    alive: torch.Tensor
    """`[B, K + 1]` float: 0 past the end."""
    weight: torch.Tensor
    """`[B]` importance."""
    following: torch.Tensor | None = None
    """`[K * B, *observation_shape]` observations of all states 1, then of all states 2, ..."""


def unrolled_losses(
    network: MuZeroNetwork,
    observations: torch.Tensor,
    targets: SequenceTargets,
    *,
    gradient_scale: float = 0.5,
    consistency: bool = False,
    reconstruction: bool = False,
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The parts of the loss, and the absolute value error of each first state, `[B]`.

    The heads run once on all states, `[B * (K + 1)]`; only the dynamics are sequential.
    """
    examples, steps = targets.actions.shape
    hidden = network.representation(observations)
    states = [hidden]
    for step in range(steps):
        hidden = scaled_gradient(hidden, gradient_scale)
        hidden = network.dynamics.step(hidden, targets.actions[:, step])
        states.append(hidden)
    every = torch.cat(states)  # [(K + 1) * B, ...], which keeps the memory format
    ahead = every[examples:]
    policy, value = (_by_example(each, examples) for each in network.prediction(every))
    reward = _by_example(network.dynamics.reward(ahead), examples)

    log_loss = -functional.log_softmax(policy.float(), dim=-1)
    policies = (targets.policy * log_loss).sum(dim=-1) * targets.policy_weight
    values = network.value.error(value, targets.value) * targets.known
    rewards = network.reward.error(reward, targets.reward[:, 1:]) * targets.known[:, 1:]
    parts = {
        "policy": _mean(policies[:, :1], policies[:, 1:], targets.weight),
        "value": _mean(values[:, :1], values[:, 1:], targets.weight),
        "reward": _mean(None, rewards, targets.weight),
    }
    if consistency and targets.following is not None:
        similarity = _by_example(_negative_cosine(network, ahead, targets.following), examples)
        parts["consistency"] = _mean(None, similarity * targets.alive[:, 1:], targets.weight)
    if reconstruction and targets.following is not None:
        observed = torch.cat([observations, targets.following])
        squared = (network.shown(every).float() - observed).square().flatten(1).sum(dim=1)
        parts["reconstruction"] = _mean(
            None, _by_example(squared, examples) * targets.alive, targets.weight
        )
    with torch.no_grad():
        predicted = network.value.decode(value[:, 0])
        errors = (predicted - targets.value[:, 0]).abs().mean(dim=-1) * targets.known[:, 0]
    return parts, errors.clamp(min=1e-6)


def sequence_entropy(targets: SequenceTargets) -> torch.Tensor:
    """The entropy of the policy targets: the lower bound of the policy loss."""
    entropies = -torch.special.xlogy(targets.policy, targets.policy).sum(dim=-1)
    each = entropies * targets.policy_weight
    return _mean(each[:, :1], each[:, 1:], targets.weight)


def scaled_gradient(hidden: torch.Tensor, scale: float) -> torch.Tensor:
    """The same tensor, with its gradient multiplied by `scale`."""
    return hidden * scale + hidden.detach() * (1.0 - scale)


def _by_example(each: torch.Tensor, examples: int) -> torch.Tensor:
    """`[states * B, ...]` as `[B, states, ...]`."""
    return each.reshape(-1, examples, *each.shape[1:]).transpose(0, 1)


def _negative_cosine(
    network: MuZeroNetwork, predicted: torch.Tensor, observations: torch.Tensor
) -> torch.Tensor:
    """`[N]` minus the cosine between predicted states and the states encoded from observations.

    The encoded states are targets, so they get no gradient.
    """
    with torch.no_grad():
        encoded = network.projected(network.representation(observations))
    guess = network.foreseen(network.projected(predicted))
    return -functional.cosine_similarity(guess.float(), encoded.float(), dim=1)


def _mean(first: torch.Tensor | None, steps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The first state's part `[B, 1]` plus the mean over steps `[B, K]`, averaged by weight."""
    each = steps.mean(dim=1) if first is None else first[:, 0] + steps.mean(dim=1)
    total = joint_sum(weight.sum())
    return (each * weight).sum() / torch.where(total > 0, total, torch.ones_like(total))
