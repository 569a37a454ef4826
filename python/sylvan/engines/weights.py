"""Evaluators of the chess engines by name: a built-in one, or a network with its threads."""

from __future__ import annotations

from typing import Any

from sylvan.evaluators import Evaluator, evaluator_named, load_evaluator, shipped_network
from sylvan.games import Chess

__all__ = ["BUILT_IN", "evaluator_of"]

BUILT_IN = ("material", "uniform", "rollout")
"""Evaluators that need no file."""


def evaluator_of(
    name: str,
    *,
    backend: str = "auto",
    threads: int | None = None,
    mates: bool = True,
    **cache: Any,
) -> Evaluator:
    """Return the built-in evaluator `name`, or load the network file `name`.

    `shipped` is the chess network that comes with Sylvan.

    :param threads: threads of the network; None: the runtime's default.
    :param mates: look for short mates, which a network may hide.
    :param cache: `cache_bytes` and `cache_boards` of `load_evaluator`.
    """
    if name in BUILT_IN:
        return evaluator_named(name)
    options: dict[str, Any] = {"mates": mates}
    if name == "shipped":
        name = str(shipped_network(Chess()) or "chess.onnx")
        options["name"] = "chess network"
    if backend == "torch" or (backend == "auto" and name.endswith(".safetensors")):
        evaluator = load_evaluator(name, backend=backend, **options, **cache)
        if threads is not None:
            import torch

            torch.set_num_threads(threads)
        return evaluator
    if threads is not None:
        options["threads"] = threads
    return load_evaluator(name, backend=backend, **options, **cache)
