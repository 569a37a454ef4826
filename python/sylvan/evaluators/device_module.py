"""A network on a device, with the conversions of its inputs and outputs.

Inputs are observations as a game gives them: numbers, or packed planes of chess, with 64 bits for
the 64 squares of a plane. The device expands the bits to half-precision numbers, in the memory
format that is fastest for convolutions. Win, draw and loss become probabilities.
"""

from __future__ import annotations

import torch

from sylvan.networks.export import folded
from sylvan.networks.header import NetworkHeader
from sylvan.networks.planes import PackedPlanes

__all__ = ["DeviceModule", "Outputs"]

Outputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Policy `[B, num_logits]` in the network's dtype; value `[B, value_outputs]` and moves left
`[B, 1]`, if the network has that head, in float32."""


class DeviceModule(torch.nn.Module):
    """A copy of a network on a device, for inference only, with folded batch norms.

    Training the original does not change the copy until `load`.
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

    def converted(self, network: torch.nn.Module) -> dict[str, torch.Tensor]:
        """A network's weights, folded, on the device and in its dtype."""
        return self._converted(network).state_dict()

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Copy `converted` weights in place, to the addresses that compiled code and graphs use."""
        self.network.load_state_dict(weights)

    def forward(self, observations: torch.Tensor) -> Outputs:
        """Evaluate packed planes `[B, planes]` (int64) or `[B, *header.observation_shape]`."""
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
