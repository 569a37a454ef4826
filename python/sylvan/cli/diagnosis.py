"""What is installed here and works: the facts that a question about a problem should come with.

`examine` gathers them as plain data, so `sylvan doctor --json` and the printed table agree. The
extras are those that the installed package itself declares; nothing is listed twice.
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

# A requirement as the metadata spell it: name, version, then `; extra == "..."`.
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?[^;]*;.*extra == ['\"]([\w-]+)['\"]")

# The module whose import shows that an extra works; without one its versions have to do.
_PROBES = {"gym": "gymnasium", "openspiel": "pyspiel", "torch": "torch", "train": "tensorboard"}


class Extra(TypedDict):
    """One extra: the versions of what it asks for, `None` for what is not installed."""

    works: bool
    packages: dict[str, str | None]
    install: str


class Report(TypedDict):
    """Everything `sylvan doctor` knows. Memory is in bytes."""

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
    """Look at this installation and this machine; changes nothing and never raises."""
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
    """Whether the native module loads, and its build profile or why it does not."""
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
    """Names of what the package needs without any extra."""
    return [re.split(r"[^\w.-]", line)[0] for line in _requirements() if "extra ==" not in line]


def _extras() -> dict[str, Extra]:
    wanted: dict[str, list[str]] = {}
    included: dict[str, list[str]] = {}  # `sylvan[openspiel]` in `dev`: all of that extra's
    for line in _requirements():
        if match := _REQUIREMENT.match(line):
            name, inner, extra = match.groups()
            names = wanted.setdefault(extra, [])
            if name == "sylvan":
                included.setdefault(extra, []).extend(inner.split(","))
            else:
                names.append(name)

    def of(extra: str) -> list[str]:
        """All that an extra asks for, what the extras inside it do first."""
        inner = [name for other in included.get(extra, []) for name in of(other)]
        return inner + wanted[extra]

    return {extra: _extra(extra, of(extra)) for extra in wanted}


def _extra(extra: str, names: list[str]) -> Extra:
    packages = {name: version(name) for name in names}
    works = None not in packages.values() and _imports(_PROBES.get(extra))
    return {"works": works, "packages": packages, "install": f"pip install 'sylvan[{extra}]'"}


def _imports(module: str | None) -> bool:
    """Whether a module loads; a broken installation may fail in any way it likes."""
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
    """Physical memory in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _gpus() -> list[str]:
    """Names of the GPUs, as PyTorch sees them or else as NVIDIA's own tool lists them."""
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
