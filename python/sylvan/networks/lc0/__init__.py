"""Read networks of lc0 and Maia.

Files, in the order in which data flows.

| file | idea |
|---|---|
| `policy` | the order of lc0's policy outputs |
| `file` | reads `.pb` and `.pb.gz` files into arrays |
| `tower` | the arrays as a checkpoint or PyTorch module of a residual tower |
| `graph` | the arrays as an ONNX model |
"""

from typing import TYPE_CHECKING

from sylvan.lazy import on_first_use

if TYPE_CHECKING:
    from sylvan.networks.lc0.file import Lc0Network, read_lc0

# Name -> the module of this package that defines it.
_HOMES = {
    "Lc0Network": "file",
    "read_lc0": "file",
}

__all__ = ["Lc0Network", "read_lc0"]

__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
