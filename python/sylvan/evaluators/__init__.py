"""Evaluators: give each leaf of a search its policy logits and values.

| file | contents |
|---|---|
| `protocol` | the contract: `Evaluator`, `AsyncEvaluator`, `Leaves`, the optional attributes |
| `playouts` | games for `Rollout` that a Python function plays |
| `native` | evaluators that run inside the core: `Uniform`, `Rollout`, `Material`, `HashRandom` |
| `network` | `NetworkEvaluator`: all that network evaluators have in common |
| `splitting` | split a batch over threads |
| `onnx` | `OnnxEvaluator`: ONNX Runtime on the CPU |
| `device_module` | a network with its input and output conversions, on a device |
| `lanes` | how batches get to the device and back |
| `cuda_graphs` | the same for NVIDIA GPUs: streams and CUDA graphs |
| `pytorch` | `TorchEvaluator`: PyTorch on the CPU or a GPU |
| `address` | the address of a network server |
| `wire` | messages between a network server and its clients |
| `remote` | `RemoteEvaluator`: the client of such a server |
| `some_leaves` | some rows of a batch |
| `mates` | `MateFinder`: short mates of chess beside a network |
| `cached` | `Cached`: evaluate each position once |
| `loading` | `load_evaluator`: an evaluator from a network's file or from the folder of a run |
| `shipped` | `Shipped`: the networks that come with Sylvan |
| `lookup` | the evaluator behind a name, a path, or a game's default |
| `serving` | `NetworkServer`: a network for several processes |
| `profile` | what decides the last bits of an answer: device, versions, precision |
| `batch_independence` | does the answer to a position depend on the rest of its batch? |
"""

from __future__ import annotations

from typing import Any

from sylvan.evaluators.cached import Cached
from sylvan.evaluators.loading import load_evaluator
from sylvan.evaluators.lookup import (
    evaluator_for,
    evaluator_named,
    evaluator_names,
    fallback_for,
)
from sylvan.evaluators.mates import MateFinder
from sylvan.evaluators.native import HashRandom, Material, NativeEvaluator, Rollout, Uniform
from sylvan.evaluators.network import Inference, NetworkEvaluator
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.protocol import Answer, AsyncEvaluator, Evaluator, EvaluatorLike, Leaves
from sylvan.evaluators.shipped import Shipped, shipped_network
from sylvan.moved import forward_name

__all__ = [
    "Answer",
    "AsyncEvaluator",
    "Cached",
    "Evaluator",
    "EvaluatorLike",
    "HashRandom",
    "Inference",
    "Leaves",
    "MateFinder",
    "Material",
    "NativeEvaluator",
    "NetworkEvaluator",
    "OnnxEvaluator",
    "Rollout",
    "Shipped",
    "Uniform",
    "evaluator_for",
    "evaluator_named",
    "evaluator_names",
    "fallback_for",
    "load_evaluator",
    "shipped_network",
]


def __getattr__(name: str) -> Any:
    """Forward names of version 0.1."""
    return forward_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(__all__)
