"""MuZero: learning a model of what is played, and planning with it.

| name | what |
|---|---|
| `MuZeroConfig` | the settings that are particular to it |

Modules that need PyTorch load when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.networks import torch_missing

if TYPE_CHECKING:
    from sylvan.muzero.config import MuZeroConfig

# Name -> the module of this package that defines it.
_HOMES = {
    "MuZeroConfig": "config",
}

__all__ = ["MuZeroConfig"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "onnxscript"):
            raise
        raise torch_missing() from None
