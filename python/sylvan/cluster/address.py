"""Where the machines are: `local:4`, `auto`, `ray://host:10001`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sylvan.errors import ConfigError
from sylvan.evaluators.splitting import processors

__all__ = ["ClusterOptions", "parse_address"]

Mode = Literal["exact", "fast"]


@dataclass(frozen=True)
class ClusterOptions:
    """How a run uses a cluster."""

    address: str
    """For Ray: `local`, `auto` or `ray://host:port`."""
    workers: int | None = None
    """None: as many as the cluster has room for."""
    threads: int | None = None
    """CPU cores of a worker."""
    mode: Mode = "exact"
    storage: str | None = None
    """None: a folder of the run."""
    ahead: int = 100
    """Steps that games may run ahead of the learner."""
    stale: int = 2
    """Fast mode: steps that games may come late."""
    learners: int = 1
    """Processes that share the learner's batches, its own included."""

    @property
    def is_local(self) -> bool:
        """Whether the machines are processes of this one."""
        return self.address == "local"

    @property
    def worker_threads(self) -> int:
        """CPU cores of a worker; local ones share those of this machine."""
        if self.threads is not None:
            return self.threads
        return max(1, processors() // (self.workers or 1)) if self.is_local else 1


def parse_address(text: str) -> ClusterOptions:
    """The machines that `--cluster` names.

    >>> parse_address("local:4").workers, parse_address("ray://head:10001").address
    (4, 'ray://head:10001')
    >>> parse_address("four")
    Traceback (most recent call last):
    sylvan.errors.ConfigError: --cluster is 'four': give local:4 (worker processes here), auto (a \
running Ray cluster) or ray://host:10001.
    """
    kind, _, count = text.partition(":")
    if kind == "local" and count.isdecimal() and 1 <= int(count) <= 1024:
        return ClusterOptions("local", int(count))
    if text == "auto" or (text.startswith("ray://") and len(text) > len("ray://")):
        return ClusterOptions(text)
    raise ConfigError(
        f"--cluster is {text!r}: give local:4 (worker processes here), auto (a running Ray "
        "cluster) or ray://host:10001."
    )
