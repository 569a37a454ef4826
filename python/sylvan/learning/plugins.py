"""A user's own network or loss, named in a run's settings: `my.py:Net`, `my.py:loss`.

**A network** is a class with a header as its first argument, and returns a `NetworkOutput`:

```python
class Net(torch.nn.Module):
    def __init__(self, header: NetworkHeader, **settings): ...   # shapes are in the header
    def forward(self, observations): ...                         # [B, *header.observation_shape]
        return NetworkOutput(policy, value)                      # [B, num_logits], by header.value
```

`settings` are the run's further settings of the network. `state_dict` must hold all its weights. In
evaluation mode the output of a position must not depend on the rest of the batch. A network that
can be exported to ONNX is several times as fast in self-play on a CPU.

**A loss** is a function of the network's output and the targets:

```python
def loss(output: NetworkOutput, targets: Targets, header: NetworkHeader) -> dict[str, Tensor]:
    return sylvan.learning.losses.losses(output, targets, header) | {"mine": ...}
```

The learner logs each part by name and sums them with its weights: `policy`, `value` and
`moves_left` have weights of their own, all others `auxiliary_weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn

from sylvan.errors import NetworkError, TrainingError
from sylvan.games.own_files import load_object
from sylvan.learning.losses import Targets
from sylvan.networks.build import build_network
from sylvan.networks.header import NetworkHeader, ValueKind
from sylvan.networks.output import NetworkOutput

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.games.encoding import Encoding

__all__ = ["Loss", "loss_named", "network_named"]

Loss: TypeAlias = Callable[[NetworkOutput, Targets, NetworkHeader], Mapping[str, torch.Tensor]]


def network_named(
    name: str,
    *,
    game: Game,
    value: ValueKind | None = None,
    encoding: Encoding | None = None,
    moves_left: bool = False,
    seed: int | None = None,
    **settings: Any,
) -> nn.Module:
    """A new network: a built-in one by its size, or the user's own by `path.py:Class`.

    Its `header` has all that is needed to make it again.

    :raises NetworkError: the class does not follow the contract above; the message says where.
    """
    if not name.rpartition(":")[0].endswith(".py"):
        return build_network(
            name,
            game=game,
            value=value,
            encoding=encoding,
            moves_left=moves_left,
            seed=seed,
            **settings,
        )
    header = NetworkHeader.for_game(
        game,
        value=value,
        encoding=encoding,
        moves_left=moves_left,
        architecture={"name": name} | settings,
    )
    return user_network(header, seed)


def user_network(header: NetworkHeader, seed: int | None = None) -> nn.Module:
    """The user's network that a header names, with new weights."""
    settings = dict(header.architecture)
    name = str(settings.pop("name"))
    make = load_object(name, "the network's class")
    with torch.random.fork_rng(devices=[]) if seed is not None else nullcontext():
        if seed is not None:
            torch.manual_seed(seed)
        try:
            network = make(header, **settings)
        except TypeError as error:
            raise NetworkError(
                f"{name} does not accept a header and these settings ({settings}): {error}."
            ) from None
    if not isinstance(network, nn.Module):
        raise NetworkError(
            f"{name} returns {type(network).__name__}: it must be a torch.nn.Module."
        )
    network.header = header  # type: ignore[assignment]
    _check(network, header, name)
    return network


def loss_named(name: str) -> Loss:
    """The user's loss, by `path.py:function`."""
    function = load_object(name, "the loss function")
    if not callable(function):
        raise TrainingError(f"{name} is {function!r}: it must be a function.")

    def loss(
        output: NetworkOutput, targets: Targets, header: NetworkHeader
    ) -> Mapping[str, torch.Tensor]:
        parts = function(output, targets, header)
        if isinstance(parts, torch.Tensor):
            parts = {"loss": parts}
        if not isinstance(parts, Mapping) or not parts:
            raise TrainingError(f"{name} returns {parts!r}: it must return a dictionary of losses.")
        for part, number in parts.items():
            if not isinstance(number, torch.Tensor) or number.dim() != 0:
                raise TrainingError(
                    f"{name} returns {part!r} of shape {tuple(getattr(number, 'shape', ()))}: each "
                    "loss must be one number, a mean over the batch."
                )
        return parts

    return loss


def _check(network: nn.Module, header: NetworkHeader, name: str) -> None:
    """Evaluate two positions and check the shapes of the output."""
    training = network.training
    with torch.no_grad():
        output = network.eval()(torch.zeros(2, *header.observation_shape))
    network.train(training)
    if not isinstance(output, NetworkOutput):
        raise NetworkError(
            f"{name} returns {type(output).__name__}: forward must return a NetworkOutput."
        )
    wanted: dict[str, tuple[int, ...]] = {
        "policy": (2, header.num_logits),
        "value": (2, header.value_outputs),
    }
    if header.moves_left:
        wanted["moves_left"] = (2, 1)
    for field, shape in wanted.items():
        found = getattr(getattr(output, field), "shape", None)
        if found is None or tuple(found) != shape:
            got = "nothing" if found is None else f"shape {tuple(found)}"
            raise NetworkError(
                f"{name} returns {got} as {field} of two positions: it must be {shape} for "
                f"{header.game}."
            )
