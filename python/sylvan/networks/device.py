"""PyTorch devices by name."""

from __future__ import annotations

import torch

from sylvan.errors import ConfigError

__all__ = ["device_named"]


def device_named(name: str) -> torch.device:
    """The device with this name; `auto`: a GPU if there is one, else the CPU.

    :raises ConfigError: PyTorch cannot use the device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device: torch.device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ConfigError(
            f"device is {name!r}, which PyTorch cannot use here ({reason}): use 'auto' or 'cpu'."
        ) from None
    return device
