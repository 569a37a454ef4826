"""`MuZeroNetwork`: the three networks around the document `muzero-chess`, one position at a time.

    network = MuZeroNetwork()                               # 16 residual blocks of 256 channels
    hidden, policy, value = network.initial_inference(environment.reset())
    value, reward, policy, hidden = network.recurrent_inference(hidden, action)
    policy, value = network.prediction(hidden)

It is `sylvan.networks.muzero.MuZeroNetwork` for chess, without the need for batches: one position
gives one answer, a batch of positions gives a batch of answers. Values come from a tanh; rewards
are not bounded.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np

from sylvan.classic.chess_environment import ChessEnvironment
from sylvan.errors import EvaluationError, NetworkError
from sylvan.games.chess import Chess
from sylvan.planning.model_arrays import Array

if TYPE_CHECKING:
    import torch

    from sylvan.networks.muzero import MuZeroNetwork as Module

__all__ = ["MuZeroNetwork"]

SEEN = ChessEnvironment.observation_shape
GAME = Chess(encoder="planes19")


class MuZeroNetwork:
    """Representation, dynamics and prediction for chess; PyTorch, `pip install sylvan[torch]`."""

    def __init__(
        self, num_blocks: int = 16, num_channels: int = 256, *, seed: int | None = None
    ) -> None:
        """Create a network with random weights, of two towers with `num_blocks` each."""
        from sylvan.muzero.build import build_muzero
        from sylvan.muzero.config import MuZeroConfig

        config = MuZeroConfig(value_kind="scalar", reward_kind="scalar")
        size = f"{num_blocks}x{num_channels}"
        self.model: Module = build_muzero(size, game=GAME, config=config, seed=seed).eval()
        """The PyTorch module: `parameters()`, `state_dict()`, `to()`, ..."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a file written by `save` or by a run.

        :raises NetworkError: the file is not a learned model of chess with these planes.
        """
        from sylvan.networks import load_network
        from sylvan.networks.muzero import MuZeroNetwork as Module

        model = load_network(path, game=GAME)
        if not isinstance(model, Module):
            raise NetworkError(
                f"{path} holds a {type(model).__name__}, which is not a learned model."
            )
        network = cls.__new__(cls)
        network.model = model
        return network

    def save(self, path: str | PathLike[str]) -> None:
        """Write architecture and weights to a `.safetensors` file."""
        from sylvan.networks import save_network

        save_network(self.model, path)

    def representation(self, observation: Array) -> torch.Tensor:
        """The hidden state `[channels, 8, 8]` of an observation `[8, 8, 19]`."""
        import torch

        seen = torch.as_tensor(np.asarray(observation, np.float32), device=self._device)
        if tuple(seen.shape[-3:]) != SEEN or seen.dim() not in (3, 4):
            raise EvaluationError(
                f"The observation has shape {tuple(seen.shape)}: give {SEEN}, or a batch of them."
            )
        planes = seen.movedim(-1, -3)
        hidden: torch.Tensor = self.model.representation(planes.reshape(-1, *planes.shape[-3:]))
        return hidden if seen.dim() == 4 else hidden[0]

    def dynamics(self, hidden: torch.Tensor, action: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """The next hidden state, and the reward of the step for the side that made it."""
        import torch

        steps = torch.as_tensor(action, dtype=torch.int64, device=self._device).reshape(-1)
        states = self._states(hidden)
        if len(states) != len(steps) or not ((steps >= 0) & (steps < Chess.num_actions)).all():
            raise EvaluationError(
                f"There are {len(states)} hidden states for the actions {steps.tolist()}: give an "
                f"action from 0 to {Chess.num_actions - 1} for each."
            )
        following, reward = self.model.dynamics(states, steps)
        numbers = self.model.numbers(self.model.reward.decode(reward))
        return (following, numbers) if hidden.dim() == 4 else (following[0], numbers[0])

    def prediction(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Policy logits `[4672]` and the value for the side to move, from -1 to 1."""
        policy, value = self.model.prediction(self._states(hidden))
        numbers = self.model.numbers(self.model.value.decode(value))
        return (policy, numbers) if hidden.dim() == 4 else (policy[0], numbers[0])

    def initial_inference(
        self, observation: Array
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Hidden state, policy logits and value of an observation `[8, 8, 19]`."""
        import torch

        with torch.no_grad():
            hidden = self.representation(observation)
            policy, value = self.prediction(hidden)
            return hidden, policy, value

    def recurrent_inference(
        self, hidden: torch.Tensor, action: Array
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Value, reward, policy logits and hidden state after an action."""
        import torch

        with torch.no_grad():
            following, reward = self.dynamics(hidden, action)
            policy, value = self.prediction(following)
            return value, reward, policy, following

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _states(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states as a batch."""
        states = hidden if hidden.dim() == 4 else hidden[None]
        if tuple(states.shape[1:]) != self.model.hidden_shape:
            raise EvaluationError(
                f"The hidden state has shape {tuple(hidden.shape)}: give {self.model.hidden_shape},"
                " or a batch of them."
            )
        return states
