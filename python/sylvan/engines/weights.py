"""An evaluator as a person names it: a built-in one, or a network's file with its threads."""

from __future__ import annotations

from typing import Any

from sylvan.evaluators import evaluator_named, load_evaluator

__all__ = ["BUILT_IN", "evaluator_of"]

BUILT_IN = ("material", "uniform", "rollout")
"""Evaluators that need no file."""


def evaluator_of(
    name: str, *, backend: str = "auto", threads: int | None = None, **cache: Any
) -> Any:
    """The evaluator that `name` is, or that asks the network in the file `name`.

    :param threads: of the network; None: what its runtime thinks best.
    :param cache: `cache_bytes` and `cache_boards`, as `load_evaluator` has them.
    """
    if name in BUILT_IN:
        return evaluator_named(name)
    if backend == "torch" or (backend == "auto" and name.endswith(".safetensors")):
        evaluator = load_evaluator(name, backend=backend, **cache)
        if threads is not None:
            import torch

            torch.set_num_threads(threads)
        return evaluator
    options: dict[str, Any] = {} if threads is None else {"threads": threads}
    return load_evaluator(name, backend=backend, **options, **cache)
