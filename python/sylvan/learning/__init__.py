"""Learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.learning.positions import sample_positions
    from sylvan.learning.quantization_loss import measure_loss

# Name -> the module of this package that defines it.
_HOMES = {
    "measure_loss": "quantization_loss",
    "sample_positions": "positions",
}

__all__ = ["measure_loss", "sample_positions"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
