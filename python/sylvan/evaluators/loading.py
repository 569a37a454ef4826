"""Load an evaluator from a network's file, the folder of a training run, or a network server.

| file | written by | runs in |
|---|---|---|
| `.onnx` | Sylvan | ONNX Runtime |
| `.safetensors` | Sylvan | PyTorch |
| `.pb`, `.pb.gz` | lc0, Maia | ONNX Runtime or PyTorch |
| a run's folder | `sylvan train` | its best network, in ONNX Runtime or PyTorch |
| `socket:PATH` | `sylvan serve-network` | the server at this address (`remote`) |
"""

from __future__ import annotations

import hashlib
import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.address import PREFIX
from sylvan.evaluators.cached import Cached
from sylvan.evaluators.mates import MateFinder

if TYPE_CHECKING:
    from sylvan.evaluators.network import NetworkEvaluator

__all__ = [
    "SUFFIXES",
    "fingerprint",
    "is_learned",
    "is_network",
    "is_run",
    "is_served",
    "load_evaluator",
    "network_file",
]

SUFFIXES = (".onnx", ".safetensors", ".pb", ".pb.gz")
BACKENDS = ("auto", "onnx", "torch")


def is_network(path: str | PathLike[str]) -> bool:
    """Whether a path has the suffix of a network's file, is the folder of a run, or an address."""
    return str(path).endswith(SUFFIXES) or is_served(path) or is_run(path)


def is_served(path: str | PathLike[str]) -> bool:
    """Whether it is the address of a network server."""
    return str(path).startswith(PREFIX)


def is_run(path: str | PathLike[str]) -> bool:
    """Whether a path is the folder of a training run or of a pretraining."""
    folder = Path(path)
    settings = (folder / "config.toml", folder / "pretrain.toml")
    return any(file.is_file() for file in settings) and (folder / "networks").is_dir()


def is_learned(path: str | PathLike[str]) -> bool:
    """Whether a path is the folder of a MuZero run."""
    return is_run(path) and (Path(path) / "networks" / "best").is_dir()


def network_file(path: str | PathLike[str], backend: str = "auto") -> Path:
    """Return the path of a network's file: the path itself, or a run's best network.

    :param backend: `torch`: the file for PyTorch; otherwise the one for ONNX Runtime is preferred.
    :raises NetworkError: the run has no network yet.
    """
    if not is_run(path):
        return Path(path)
    kinds = {"onnx": [".onnx"], "torch": [".safetensors"]}.get(backend, [".onnx", ".safetensors"])
    files = [Path(path) / "networks" / f"best{kind}" for kind in kinds]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise NetworkError(
            f"The run {path} has no network yet: continue it until its first rating, or its end."
        )
    return found


def fingerprint(file: Path) -> str:
    """Text that is equal for equal files of networks."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def load_evaluator(
    path: str | PathLike[str],
    *,
    backend: str = "auto",
    cache_bytes: int = 0,
    cache_boards: int | None = None,
    history_fill: str = "fen_only",
    mates: bool = False,
    **options: Any,
) -> NetworkEvaluator | Cached | MateFinder:
    """Load the network in a file, the best network of a run, or that of a server (`socket:PATH`).

    :param backend: `onnx`, `torch`, or `auto`: PyTorch only if nothing else runs the file.
    :param cache_bytes: memory of a cache of evaluations (see `Cached`); 0: no cache.
    :param cache_boards: boards of history in the cache's key; None: all that the network sees.
    :param history_fill: for lc0's networks, how to fill the boards before the first.
    :param mates: in chess, look for short mates beside the network (see `MateFinder`).
    :param options: options of the evaluator: `threads`, `history_fill`, ...
    :raises NetworkError: the file is missing or damaged, or of an unknown kind.
    :raises ConfigError: the backend does not have an option.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"backend is {backend!r}: use one of {', '.join(BACKENDS)}.")
    evaluator: NetworkEvaluator | Cached
    try:
        if is_served(path):
            evaluator = _remote(str(path), backend, options)
        else:
            evaluator = _of_file(path, backend, history_fill, options)
    except TypeError as error:
        raise _unknown_option(error, path) from None
    if cache_bytes:
        evaluator = Cached(evaluator, cache_bytes, boards=cache_boards)
    return MateFinder(evaluator) if mates else evaluator


def _of_file(
    path: str | PathLike[str], backend: str, history_fill: str, options: dict[str, Any]
) -> NetworkEvaluator:
    source = network_file(path, backend)
    if not is_network(source):
        raise NetworkError(
            f"{source} does not have the name of a network's file: give one that ends in "
            f"{', '.join(SUFFIXES)}, or the folder of a run."
        )
    if not source.is_file():
        raise NetworkError(f"There is no file {source}: give the path of a network.")
    options.setdefault("name", Path(path).name)
    return _evaluator(source, backend, history_fill, options)


def _unknown_option(error: TypeError, source: str | PathLike[str]) -> Exception:
    """The error for an option that a backend does not have; any other as it is."""
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown is None:
        return error
    return ConfigError(f"{source}: its backend has no option {unknown[1]!r}; remove it.")


def _remote(address: str, backend: str, options: dict[str, Any]) -> NetworkEvaluator:
    from sylvan.evaluators.remote import RemoteEvaluator

    if backend != "auto" or "threads" in options:
        raise ConfigError(f"backend and threads are the server's, not for {address}: omit them.")
    return RemoteEvaluator(address, **options)


def _evaluator(
    source: Path, backend: str, history_fill: str, options: dict[str, Any]
) -> NetworkEvaluator:
    if source.suffix == ".onnx" and backend != "torch":
        from sylvan.evaluators.onnx import OnnxEvaluator

        return OnnxEvaluator(source, **options)
    if source.suffix == ".safetensors" and backend != "onnx":
        from sylvan.evaluators.pytorch import TorchEvaluator

        return TorchEvaluator(source, **options)
    if source.suffix in (".onnx", ".safetensors"):
        raise ConfigError(
            f"backend is {backend!r}, which cannot run {source}: convert it with `sylvan convert`, "
            "or leave the backend out."
        )
    from sylvan.networks.lc0.file import read_lc0

    network = read_lc0(source)
    if backend == "torch":
        from sylvan.evaluators.pytorch import TorchEvaluator
        from sylvan.networks.lc0.tower import lc0_module

        return TorchEvaluator(lc0_module(network, history_fill), **options)
    from sylvan.evaluators.onnx import OnnxEvaluator
    from sylvan.networks.lc0.graph import lc0_model

    return OnnxEvaluator(lc0_model(network, history_fill), **options)
