"""The evaluation profile: everything besides the weights that decides the last bits of an answer.

Games are equal bit for bit only within one profile: kind of device, versions of the libraries, and
on a GPU those of CUDA, cuDNN and the driver; then the network, its precision, and the shape of its
batches. Runs record their profile, and a cluster's workers must have the learner's.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sylvan.evaluators.network import NetworkEvaluator

__all__ = ["CHOSEN", "evaluation_profile", "network_profile", "profile_changes"]

CHOSEN = ("network", "precision", "batch", "kernels")
"""Entries that follow from a run's settings; the others are those of the machine."""

INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "asimd", "sve")
"""Instruction sets by which libraries choose their kernels on a CPU."""

CPU = Path("/proc/cpuinfo")
DRIVER = Path("/proc/driver/nvidia/version")


def evaluation_profile(libraries: Iterable[str], device: str) -> dict[str, str]:
    """The part of the profile that is the machine's.

    :param libraries: packages that evaluate or play.
    :param device: `cpu`, or a GPU: `cuda`, `cuda:1`.

    >>> evaluation_profile(["such-a-package"], "cpu")["such-a-package"]
    'missing'
    """
    versions = {library: _installed(library) for library in libraries}
    own = _gpu(device) if device.startswith("cuda") else _cpu()
    return {"machine": platform.machine(), **versions, **own}


def _installed(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "missing"


def _cpu() -> dict[str, str]:
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", _text(CPU), re.MULTILINE)
    flags = found[1].split() if found else []
    return {"device": "cpu", "instructions": " ".join(x for x in INSTRUCTIONS if x in flags)}


def _gpu(device: str) -> dict[str, str]:
    import torch

    driver = re.search(r"Kernel Module.*?\s(\d[\d.]+)", _text(DRIVER))
    return {
        "device": torch.cuda.get_device_name(device),
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),  # type: ignore[no-untyped-call]
        "driver": driver[1] if driver else "unknown",
    }


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def network_profile(evaluator: NetworkEvaluator) -> dict[str, str]:
    """The whole profile of a network's evaluator."""
    device = str(getattr(evaluator, "device", "cpu"))
    library = "onnxruntime" if hasattr(evaluator, "running") else "torch"
    integers = getattr(evaluator, "in_integers", False)
    precision = str(getattr(evaluator, "dtype", "int8" if integers else "float32"))
    one_size = getattr(evaluator, "one_size", False)
    return {
        **evaluation_profile([library, "numpy"], device),
        "network": json.dumps(evaluator.header.architecture, sort_keys=True),
        "precision": precision.removeprefix("torch."),
        "batch": str(getattr(evaluator, "batch", "")) if one_size else "any",
    }


def profile_changes(before: dict[str, str], now: dict[str, str]) -> str:
    """The machine's entries that differ; empty: none does.

    >>> profile_changes({"device": "cpu", "batch": "8"}, {"device": "NVIDIA H200", "batch": "16"})
    "device is 'NVIDIA H200', not 'cpu'"
    """
    names = sorted((before.keys() | now.keys()) - set(CHOSEN))
    return ", ".join(
        f"{name} is {now.get(name, 'none')!r}, not {before.get(name, 'none')!r}"
        for name in names
        if now.get(name) != before.get(name)
    )
