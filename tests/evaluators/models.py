"""Small ONNX models for tests: sums of their inputs, whose outputs are easy to compute by hand."""

from typing import Any

import numpy as np

from sylvan.games import Chess, TicTacToe
from sylvan.networks.header import HEADER_KEY, NetworkHeader
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.onnx_graph import Graph
from tests.networks.lc0.files import Shape, SmallNet


def small_lc0(tmp_path: Any, shape: Shape | None = None) -> Any:
    """The path of a small lc0 network."""
    path = tmp_path / "small.pb"
    path.write_bytes(SmallNet(shape or Shape(channels=16, squeeze=4)).to_bytes())
    return path


def small_model(tmp_path: Any) -> bytes:
    """A small lc0 network as a model."""
    return lc0_model(read_lc0(small_lc0(tmp_path)))


def linear_weights(header: NetworkHeader, outputs: int, seed: int) -> Any:
    size = int(np.prod(header.observation_shape))
    return np.random.default_rng(seed).normal(size=(outputs, size)).astype(np.float32)


def linear_model(game: Any, value: str = "scalar", header: NetworkHeader | None = None) -> Any:
    """A model whose outputs are matrix products of the observation, and its header."""
    header = header or NetworkHeader.for_game(game, value=value)
    graph = Graph()
    shape = header.observation_shape
    flat = graph.node("Flatten", graph.input("observations", *shape), axis=1)
    policy = graph.node("Gemm", flat, linear_weights(header, header.num_logits, 1), transB=1)
    graph.output("policy", policy, header.num_logits)
    raw = graph.node("Gemm", flat, linear_weights(header, header.value_outputs, 2), transB=1)
    values = {
        "scalar": lambda: graph.node("Tanh", raw),
        "wdl": lambda: graph.node("Softmax", raw, axis=1),
        "seats": lambda: graph.node("Tanh", raw),
    }[header.value]()
    graph.output("value", values, header.value_outputs)
    return graph.model({HEADER_KEY: header.to_json()}), header


GAMES = {"chess": Chess, "tic-tac-toe": TicTacToe}
