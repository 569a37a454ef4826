"""What a network is trained to make small, each part apart.

| part | of one position | in words |
|---|---|---|
| `policy` | −Σ π(a) log p(a) over legal actions a | cross-entropy to the search's policy |
| `value`, `wdl` | −Σ z(i) log v(i) over win, draw, loss | cross-entropy to the result |
| `value`, else | mean over outputs of ((v − z) / half the range)² | squared error |
| `moves_left` | Huber((m − plies) / 20), delta 1/2 | error of the guessed length, far ones less |
| others | mean over outputs of (a − target)² | squared error of an auxiliary head |

A value of NaN is of a seat that nobody has, and does not count.

Illegal actions have no part in the softmax of the policy: a search never asks for their logits, so
nothing has to be spent on pushing them down.

Each part is a weighted mean over the batch. Every position counts `weight`; in the policy also
`policy_weight`, which is 0 where the search was too short to teach it. A part without any weight is
0. All sums are fp32, whatever precision the network runs in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch.nn import functional

from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput

__all__ = ["Targets", "losses", "policy_loss", "priorities", "target_entropy", "value_loss"]

PLIES = 20.0
"""Unit of the moves-left error: an error of this many plies counts like a value wrong by 1."""


@dataclass(frozen=True)
class Targets:
    """A `Batch` as tensors on the learner's device; B positions."""

    policy: torch.Tensor
    """`[B, num_logits]` probabilities, zero for illegal actions."""
    legal: torch.Tensor
    """`[B, num_logits]` bool."""
    policy_weight: torch.Tensor
    """`[B]` how much the policy target counts."""
    value: torch.Tensor
    """`[B, 3 | 1 | seats]` as `NetworkOutput.value` has them, win/draw/loss as probabilities."""
    weight: torch.Tensor
    """`[B]` importance of the position."""
    moves_left: torch.Tensor | None = None
    """`[B, 1]` plies until the end; negative where the game was not played to it."""
    auxiliary: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """Name to `[B, ...]`."""


def losses(
    output: NetworkOutput, targets: Targets, header: NetworkHeader
) -> dict[str, torch.Tensor]:
    """Every part by its name, before the learner's weights; an output without target has none."""
    parts = {
        "policy": policy_loss(output.policy, targets),
        "value": value_loss(output.value, targets, header),
    }
    if output.moves_left is not None and targets.moves_left is not None:
        error = (output.moves_left.float() - targets.moves_left) / PLIES
        huber = functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=0.5)
        known = targets.moves_left[:, 0] >= 0
        parts["moves_left"] = _mean(huber[:, 0], targets.weight * known)
    for name, answer in (output.auxiliary or {}).items():
        if name in targets.auxiliary:
            parts[name] = _mean(_squares(answer, targets.auxiliary[name]), targets.weight)
    return parts


def policy_loss(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    """Cross-entropy between the target and the softmax over legal actions."""
    return _mean(_policy_errors(logits, targets), targets.weight * targets.policy_weight)


def value_loss(value: torch.Tensor, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    """Cross-entropy of win, draw and loss, or the squared error in units of half the range."""
    return _mean(_value_errors(value, targets, header), targets.weight)


def target_entropy(targets: Targets) -> torch.Tensor:
    """The part of the policy loss that no network can remove: the entropy of its target."""
    return _mean(_entropies(targets.policy), targets.weight * targets.policy_weight)


@torch.no_grad()
def priorities(output: NetworkOutput, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    """`[B]` what there is to learn from each position: policy and value errors above the least.

    Positive, so that no position is never drawn again.
    """
    policy = _policy_errors(output.policy, targets) - _entropies(targets.policy)
    value = _value_errors(output.value, targets, header)
    if header.value == "wdl":
        value = value - _entropies(targets.value)
    return (policy * targets.policy_weight + value).clamp(min=1e-6)


def _policy_errors(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    # The least finite number, not -inf: 0 · -inf would be no number.
    lowest = torch.finfo(torch.float32).min
    legal = logits.float().masked_fill(~targets.legal, lowest)
    surprise = -torch.log_softmax(legal, dim=1).masked_fill(~targets.legal, 0.0)
    return (targets.policy * surprise).sum(dim=1)


def _value_errors(value: torch.Tensor, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    if header.value == "wdl":
        return -(targets.value * torch.log_softmax(value.float(), dim=1)).sum(dim=1)
    scale = _half_range(header)
    there = ~targets.value.isnan()  # of seats that nobody has nothing is known
    errors = ((value.float() - targets.value.nan_to_num()) / scale).square() * there
    return errors.sum(dim=1) / there.sum(dim=1).clamp(min=1)


def _entropies(probabilities: torch.Tensor) -> torch.Tensor:
    entropies: torch.Tensor = -torch.special.xlogy(probabilities, probabilities).sum(dim=1)
    return entropies


def _half_range(header: NetworkHeader) -> float:
    """Half of what values can differ by, so that games with large returns learn as others do."""
    bounds = header.architecture.get("value_range") if header.value == "seats" else None
    return (float(bounds[1]) - float(bounds[0])) / 2.0 if bounds else 1.0


def _squares(found: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (found.float() - target).square().flatten(1).mean(dim=1)


def _mean(each: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The weighted mean over a batch; 0 where nothing has any weight."""
    total = weight.sum()
    return (each * weight).sum() / torch.where(total > 0, total, torch.ones_like(total))
