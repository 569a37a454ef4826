"""Read networks of lc0 and Maia.

Files, in the order in which data flows.

| file | idea |
|---|---|
| `policy` | the order of lc0's policy outputs |
| `file` | reads `.pb` and `.pb.gz` files into arrays |
| `tower` | the arrays as a checkpoint or PyTorch module of a residual tower |
| `graph` | the arrays as an ONNX model |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sylvan.networks.lc0.file import Lc0Network, read_lc0

# Name -> the module of this package that defines it.
_HOMES = {
    "Lc0Network": "file",
    "read_lc0": "file",
}

__all__ = ["Lc0Network", "read_lc0"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
