"""Networks: modules, their files, and what those say about themselves.

The header and files can be read without PyTorch; modules need it and load when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput

if TYPE_CHECKING:
    pass

# Name -> the module of this package that defines it.
_HOMES: dict[str, str] = {}

__all__ = ["NetworkHeader", "NetworkOutput"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
