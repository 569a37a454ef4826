"""Reanalysis on a cluster: workers search positions of the learner's next batches again.

A job's results follow from its arrays, the model and the settings (`sylvan.muzero.reanalyse`). The
learner begins some batches early, so that it does not wait for messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from sylvan.cluster.lease import Lease
from sylvan.cluster.recipe import Recipe
from sylvan.cluster.slots import ThreadSlot
from sylvan.muzero.reanalyse import SearchColumns, SearchJob, searched
from sylvan.planning import SearchConfig

__all__ = ["ReanalysisSlot", "columns_packed", "columns_unpacked", "job_of"]


def job_of(search: SearchConfig, job: SearchJob) -> bytes:
    """A job and the settings of its searches, as a file."""
    from safetensors.numpy import save

    settings = search.model_dump(mode="json", exclude={"threads"})
    text = json.dumps({"search": settings, "seed": job.seed}, sort_keys=True).encode()
    arrays = {"observations": job.observations, "legal": job.legal, "seats": job.seats}
    packed = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(packed | {"settings": np.frombuffer(text, np.uint8)})


class ReanalysisSlot(ThreadSlot[SearchColumns]):
    """Searches the positions of a job once, in a thread.

    :param task: from `job_of`.
    """

    def __init__(self, recipe: Recipe, task: bytes, threads: int, cache_bytes: int) -> None:
        super().__init__()
        self._recipe, self._task = recipe, task
        self._threads, self._cache_bytes = threads, cache_bytes

    def begin(self, network: bytes, other: bytes, lease: Lease) -> None:  # noqa: ARG002
        """Start to search."""
        from safetensors.numpy import load

        def play(check: Callable[[], None]) -> SearchColumns:
            check()
            arrays: dict[str, Any] = load(self._task)
            settings = json.loads(arrays["settings"].tobytes())
            columns = arrays["observations"], arrays["legal"], arrays["seats"]
            job = SearchJob(*columns, settings["seed"])
            search = SearchConfig(**settings["search"]).replace(threads=self._threads)
            model = self._recipe.evaluator(network, self._threads, self._cache_bytes)
            return searched(model, self._recipe.spec.first(), search, job)

        self.start(play)


def columns_packed(columns: SearchColumns) -> tuple[dict[str, Any], bytes]:
    """Facts and payload of a shard."""
    from safetensors.numpy import save

    return {}, save({name: np.ascontiguousarray(array) for name, array in columns.items()})


def columns_unpacked(payload: bytes) -> SearchColumns:
    """The results in a shard that was verified."""
    from safetensors.numpy import load

    found: SearchColumns = load(payload)
    return found
