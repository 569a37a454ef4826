"""Examine the installation: versions, extras and hardware, for bug reports.

`examine` returns plain data, so `sylvan doctor --json` and the printed table agree. The extras are
read from the metadata of the installed package.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import import_module, metadata
from typing import TypedDict

__all__ = ["Extra", "Report", "examine"]

# A requirement in the metadata: name, version, then `; extra == "..."`.
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?[^;]*;.*extra == ['\"]([\w-]+)['\"]")

# The module whose import shows that an extra works; extras without one are checked by version.
_PROBES = {
    "cluster": "ray",
    "gym": "gymnasium",
    "notebook": "anywidget",
    "openspiel": "pyspiel",
    "torch": "torch",
    "train": "tensorboard",
    "web": "uvicorn",
}


class Extra(TypedDict):
    """One extra: the versions of its packages, `None` for missing ones."""

    works: bool
    packages: dict[str, str | None]
    install: str


class Report(TypedDict):
    """The report of `sylvan doctor`. Memory is in bytes."""

    sylvan: str
    python: str
    platform: str
    native: str
    native_works: bool
    dependencies: dict[str, str | None]
    extras: dict[str, Extra]
    cores: int
    memory: int | None
    gpu: list[str]


def examine() -> Report:
    """Examine this installation and machine; changes nothing and never raises."""
    native_works, native = _native()
    return {
        "sylvan": version("sylvan") or "not installed as a package",
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "native": native,
        "native_works": native_works,
        "dependencies": {name: version(name) for name in _base_requirements()},
        "extras": _extras(),
        "cores": _cores(),
        "memory": _memory(),
        "gpu": _gpus(),
    }


def version(distribution: str) -> str | None:
    """The installed version of a distribution, `None` if there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _native() -> tuple[bool, str]:
    """Whether the native module loads, and its build profile or the error."""
    try:
        from sylvan import _native as native
    except ImportError as error:
        return False, f"does not load: {error}"
    profile: str = getattr(native, "BUILD_PROFILE", "unknown profile")
    return True, f"{profile} ({native.__file__})"


def _requirements() -> list[str]:
    try:
        return metadata.requires("sylvan") or []
    except metadata.PackageNotFoundError:
        return []


def _base_requirements() -> list[str]:
    """Names of the required packages, without extras."""
    return [re.split(r"[^\w.-]", line)[0] for line in _requirements() if "extra ==" not in line]


def _extras() -> dict[str, Extra]:
    direct: dict[str, list[str]] = {}
    included: dict[str, list[str]] = {}  # `dev` may require `sylvan[openspiel]`: another extra
    for line in _requirements():
        if match := _REQUIREMENT.match(line):
            name, inner, extra = match.groups()
            names = direct.setdefault(extra, [])
            if name == "sylvan":
                included.setdefault(extra, []).extend(inner.split(","))
            else:
                names.append(name)

    def of(extra: str) -> list[str]:
        """All packages of an extra, those of included extras first."""
        inner = [name for other in included.get(extra, []) for name in of(other)]
        return inner + direct[extra]

    return {extra: _extra(extra, of(extra)) for extra in direct}


def _extra(extra: str, names: list[str]) -> Extra:
    packages = {name: version(name) for name in names}
    works = None not in packages.values() and _imports(_PROBES.get(extra))
    return {"works": works, "packages": packages, "install": f"pip install 'sylvan[{extra}]'"}


def _imports(module: str | None) -> bool:
    """Whether a module loads; a broken installation may raise any exception."""
    try:
        if module:
            import_module(module)
    except Exception:
        return False
    return True


def _cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int | None:
    """Physical memory in bytes; None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _gpus() -> list[str]:
    """Names of the GPUs, from PyTorch or else from nvidia-smi."""
    if version("torch") and _imports("torch"):
        cuda = import_module("torch").cuda
        return [str(cuda.get_device_name(index)) for index in range(cuda.device_count())]
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        try:
            listed = subprocess.run(query, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return []
        return listed.stdout.splitlines() if listed.returncode == 0 else []
    return []
