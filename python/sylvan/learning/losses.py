"""The losses of a network, part by part.

| part | of one position | in words |
|---|---|---|
| `policy` | −Σ π(a) log p(a) over legal actions a | cross-entropy to the search's policy |
| `value`, `wdl` | −Σ z(i) log v(i) over win, draw, loss | cross-entropy to the result |
| `value`, else | mean over outputs of ((v − z) / half the range)² | squared error |
| `moves_left` | Huber((m − plies) / 20), delta 1/2 | error of the predicted length |
| others | mean over outputs of (a − target)² | squared error of an auxiliary head |

NaN in a value marks an empty seat; it is ignored.

The softmax of the policy is over legal actions only: a search never uses the logits of illegal
ones.

Each part is a weighted mean over the batch, with weights `weight`, and `weight · policy_weight` for
the policy; `policy_weight` is 0 where the search was too short. A part with weights 0 only is 0.
All sums are fp32, whatever the precision of the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch.nn import functional

from sylvan.learning.group import joint_sum
from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput

__all__ = [
    "SOURCES",
    "Targets",
    "losses",
    "losses_by_source",
    "policy_loss",
    "priorities",
    "target_entropy",
    "value_loss",
]

PLIES = 20.0
"""Unit of the moves-left error, in plies."""

SOURCES = ("selfplay.", "games.")
"""Prefixes of losses by source: of the replay, of the games of files."""


@dataclass(frozen=True)
class Targets:
    """A `Batch` as tensors on the learner's device; B positions."""

    policy: torch.Tensor
    """`[B, num_logits]` probabilities, zero for illegal actions."""
    legal: torch.Tensor
    """`[B, num_logits]` bool."""
    policy_weight: torch.Tensor
    """`[B]` weight of the policy target."""
    value: torch.Tensor
    """`[B, 3 | 1 | seats]` as in `NetworkOutput.value`; win/draw/loss as probabilities."""
    weight: torch.Tensor
    """`[B]` weight of the position."""
    moves_left: torch.Tensor | None = None
    """`[B, 1]` plies to the end of the game; negative if it was not played to its end."""
    auxiliary: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """Name to `[B, ...]`."""
    from_file: torch.Tensor | None = None
    """`[B]` bool, whether a position is of `learner.games`; None if there are none."""


def losses(
    output: NetworkOutput, targets: Targets, header: NetworkHeader
) -> dict[str, torch.Tensor]:
    """Unweighted parts of the loss by name, for outputs with a target."""
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


@torch.no_grad()
def losses_by_source(
    output: NetworkOutput, targets: Targets, header: NetworkHeader
) -> dict[str, torch.Tensor]:
    """Policy and value losses of self-play and of files apart, to log; empty without files."""
    if targets.from_file is None:
        return {}
    found = {}
    for source, chosen in zip(SOURCES, (~targets.from_file, targets.from_file), strict=True):
        part = replace(targets, weight=targets.weight * chosen)
        found[f"{source}policy"] = policy_loss(output.policy, part)
        found[f"{source}value"] = value_loss(output.value, part, header)
    return found


def policy_loss(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    """Cross-entropy between the target and the softmax over legal actions."""
    return _mean(_policy_errors(logits, targets), targets.weight * targets.policy_weight)


def value_loss(value: torch.Tensor, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    """Cross-entropy of win, draw and loss, or the squared error in units of half the range."""
    return _mean(_value_errors(value, targets, header), targets.weight)


def target_entropy(targets: Targets) -> torch.Tensor:
    """The lower bound of the policy loss: the entropy of its targets."""
    return _mean(_entropies(targets.policy), targets.weight * targets.policy_weight)


@torch.no_grad()
def priorities(output: NetworkOutput, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    """`[B]` replay priorities: policy and value errors above their lower bounds.

    At least 1e-6, so that every position can be drawn again.
    """
    policy = _policy_errors(output.policy, targets) - _entropies(targets.policy)
    value = _value_errors(output.value, targets, header)
    if header.value == "wdl":
        value = value - _entropies(targets.value)
    return (policy * targets.policy_weight + value).clamp(min=1e-6)


def _policy_errors(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    # The least finite number, not -inf: 0 · -inf would be NaN.
    lowest = torch.finfo(torch.float32).min
    legal = logits.float().masked_fill(~targets.legal, lowest)
    surprise = -torch.log_softmax(legal, dim=1).masked_fill(~targets.legal, 0.0)
    return (targets.policy * surprise).sum(dim=1)


def _value_errors(value: torch.Tensor, targets: Targets, header: NetworkHeader) -> torch.Tensor:
    if header.value == "wdl":
        return -(targets.value * torch.log_softmax(value.float(), dim=1)).sum(dim=1)
    scale = _half_range(header)
    there = ~targets.value.isnan()  # NaN marks empty seats
    errors = ((value.float() - targets.value.nan_to_num()) / scale).square() * there
    return errors.sum(dim=1) / there.sum(dim=1).clamp(min=1)


def _entropies(probabilities: torch.Tensor) -> torch.Tensor:
    entropies: torch.Tensor = -torch.special.xlogy(probabilities, probabilities).sum(dim=1)
    return entropies


def _half_range(header: NetworkHeader) -> float:
    """Half the value range, so that the loss does not depend on the scale of the returns."""
    bounds = header.architecture.get("value_range") if header.value == "seats" else None
    return (float(bounds[1]) - float(bounds[0])) / 2.0 if bounds else 1.0


def _squares(found: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (found.float() - target).square().flatten(1).mean(dim=1)


def _mean(each: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The weighted mean over a batch; 0 if all weights are 0."""
    total = joint_sum(weight.sum())
    return (each * weight).sum() / torch.where(total > 0, total, torch.ones_like(total))
