"""A network between what goes to a device and what comes back.

Observations arrive as a game gives them: numbers, or packed planes of chess, 64 bits for the 64
squares of a plane. They are expanded on the device, where bits become half-precision numbers in the
order of memory that its convolutions like. A win, a draw and a loss leave as probabilities.
"""

from __future__ import annotations

import torch

from sylvan.networks.export import folded
from sylvan.networks.header import NetworkHeader
from sylvan.networks.planes import PackedPlanes

__all__ = ["DeviceModule", "Outputs"]

Outputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Policy `[B, num_logits]` as the network gives it, value `[B, value_outputs]` and perhaps moves
left `[B, 1]`, both as float32."""


class DeviceModule(torch.nn.Module):
    """A network, its batch norms folded, that is ready on a device and only answers.

    The network is copied: training the original further changes nothing here until `refresh`.
    """

    def __init__(
        self,
        network: torch.nn.Module,
        header: NetworkHeader,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        self.device, self.dtype = device, dtype
        self.on_gpu, self.gives_wdl = device.type == "cuda", header.value == "wdl"
        self.network = self._converted(network)
        if self.on_gpu:
            self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.network.requires_grad_(False)
        self.planes = PackedPlanes(header.encoding).to(device) if header.encoding else None

    def _converted(self, network: torch.nn.Module) -> torch.nn.Module:
        return folded(network).to(self.device, self.dtype)

    def refresh(self, network: torch.nn.Module) -> None:
        """Take over a network's numbers in place, where compiled code and graphs know them."""
        self.network.load_state_dict(self._converted(network).state_dict())

    def forward(self, observations: torch.Tensor) -> Outputs:
        """The answer to packed planes `[B, planes]` (int64) or to numbers of the header's shape."""
        if self.planes is not None and observations.dtype == torch.int64:
            planes = self.planes(observations, self.dtype)
        else:
            planes = observations.to(self.dtype)
        if self.on_gpu and planes.dim() == 4:
            planes = planes.contiguous(memory_format=torch.channels_last)
        policy, value, moves_left = self.network(planes)[:3]
        value = value.float()
        if self.gives_wdl:
            value = torch.softmax(value, dim=1)
        return policy, value, None if moves_left is None else moves_left.float()
