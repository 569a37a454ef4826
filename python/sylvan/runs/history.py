"""Networks of earlier steps, spread over the run: `networks/history/step-000016.safetensors`.

They answer how the network's opinion of a position changed while it learned. Kept are the first
one, of step 0, and those of the multiples of a power of two: the smallest power for which they are
no more than `most`. So the files depend only on the step, and a resumed run has the same ones.
"""

from __future__ import annotations

import re
from pathlib import Path

from sylvan.networks.checkpoint import write_checkpoint
from sylvan.runs.checkpoints import NetworkState
from sylvan.runs.run import Run

__all__ = ["NetworkHistory", "networks_by_step"]

_NAME = re.compile(r"step-(\d{6,})\.safetensors")


class NetworkHistory:
    """The folder of a run's earlier networks.

    :param most: networks to keep besides the first; 0: none at all.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most

    def files(self) -> dict[int, Path]:
        """The files by their steps, in ascending order."""
        found = {path: _NAME.fullmatch(path.name) for path in self.folder.glob("step-*")}
        by_step = {int(name[1]): path for path, name in found.items() if name}
        return dict(sorted(by_step.items()))

    def add(self, step: int, network: NetworkState) -> None:
        """Keep the network of a step if it is one of those to keep; remove those that are not."""
        if not self.most:
            return
        apart = stride(step, self.most)
        if step % apart == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"step-{step:06d}.safetensors"
            write_checkpoint(path, network.header, network.tensors)
        for each, path in self.files().items():
            if each % apart or each > step:
                path.unlink(missing_ok=True)


def stride(step: int, most: int) -> int:
    """The distance of the kept steps.

    >>> [stride(step, 4) for step in (1, 4, 5, 8, 9, 100)]
    [1, 1, 2, 2, 2, 32]
    """
    apart = 1
    while step // apart > most:
        apart *= 2
    return apart


def networks_by_step(run: Run) -> dict[int, Path]:
    """All networks that a run keeps, by the steps that they are of: its history, and those of its
    checkpoints.
    """
    found = NetworkHistory(run.networks / "history", 0).files()
    for step in run.checkpoints.steps():
        folder = run.checkpoints.path(step)
        average = folder / "average.safetensors"
        found[step] = average if average.is_file() else folder / "network.safetensors"
    return dict(sorted(found.items()))
