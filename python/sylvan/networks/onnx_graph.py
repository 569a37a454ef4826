"""Write ONNX models node by node without the `onnx` package, so that an engine starts faster.

The field numbers are those of onnx.proto (https://github.com/onnx/onnx, IR version 8). The tests
check the models with `onnx.checker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.networks import protobuf

__all__ = ["Graph"]

IR_VERSION = 8
OPSET = 17

# TensorProto.DataType and AttributeProto.AttributeType.
TENSOR = {"float32": 1, "int64": 7}
FLOAT, INT, INTS = 1, 2, 7


class Graph:
    """A model under construction: methods add nodes and return the names of their outputs.

    >>> graph = Graph()
    >>> graph.output("y", graph.node("Relu", graph.input("x", 3)), 3)
    >>> model = graph.model({"author": "me"})
    """

    def __init__(self) -> None:
        self._nodes: list[protobuf.Fields] = []
        self._constants: list[protobuf.Fields] = []
        self._inputs: list[protobuf.Fields] = []
        self._outputs: list[protobuf.Fields] = []
        self._count = 0

    def input(self, name: str, *shape: int) -> str:
        """A float32 input `[batch, *shape]`."""
        self._inputs.append(_value_info(name, shape))
        return name

    def output(self, name: str, value: str, *shape: int) -> None:
        """`value` as the float32 output `name`, `[batch, *shape]`."""
        self._add("Identity", [value], name)
        self._outputs.append(_value_info(name, shape))

    def constant(self, array: NDArray[Any]) -> str:
        """Add an array as a constant."""
        name = self._name("constant")
        data = np.ascontiguousarray(array)
        kind = TENSOR[str(data.dtype)]
        self._constants.append({1: list(data.shape), 2: kind, 8: name, 9: data.tobytes()})
        return name

    def node(self, operator: str, *inputs: str | NDArray[Any], **attributes: Any) -> str:
        """Add an operator; arrays among its inputs become constants."""
        name = self._name(operator.lower())
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self._add(operator, names, name, **attributes)
        return name

    def _add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        fields = [_attribute(key, value) for key, value in attributes.items()]
        self._nodes.append({1: inputs, 2: output, 3: output, 4: operator, 5: fields})

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def model(self, metadata: Mapping[str, str], name: str = "network") -> bytes:
        """The model as the bytes of an `.onnx` file."""
        graph: protobuf.Fields = {
            1: self._nodes,
            2: name,
            5: self._constants,
            11: self._inputs,
            12: self._outputs,
        }
        properties: list[protobuf.Fields] = [{1: key, 2: value} for key, value in metadata.items()]
        return protobuf.encode(
            {1: IR_VERSION, 2: "sylvan", 7: graph, 8: {1: "", 2: OPSET}, 14: properties}
        )


def _value_info(name: str, shape: tuple[int, ...]) -> protobuf.Fields:
    dimensions: list[protobuf.Fields] = [{2: "batch"}, *({1: size} for size in shape)]
    return {1: name, 2: {1: {1: TENSOR["float32"], 2: {1: dimensions}}}}


def _attribute(name: str, value: Any) -> protobuf.Fields:
    if isinstance(value, float):
        return {1: name, 2: value, 20: FLOAT}
    if isinstance(value, int):
        return {1: name, 3: value, 20: INT}
    return {1: name, 8: list(value), 20: INTS}
