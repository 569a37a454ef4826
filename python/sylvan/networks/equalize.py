"""Planes of equal width: a model that computes the same, but suits eight bits better.

Eight bits share one scale among all planes of a tensor, so a plane with large numbers takes the
digits of the others. But a plane may be multiplied by a positive number, if whatever reads it
divides by that number: ReLU, sums and means let a factor through, a convolution takes it into its
weights. Planes that are added to each other need the same factor; all tensors that are tied in this
way form a *class* with one factor per plane, such as the whole residual stream of a tower.

Where a factor cannot pass (a sigmoid, a softmax, an output of the model) a class keeps factors 1.
Two places get a product of their own: the model's input, and the gate of squeeze-excitation, so
that the planes before it need not have the factors of those behind it.

Paper: Nagel 2019 (cross-layer equalisation), here also through residual sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.networks.calibration import MARGIN, OpenModel, Ranges

__all__ = ["FLOOR", "equalize"]

FLOOR = 0.3
"""A plane counts as at least this share of its tensor's widest: what is narrow on a few hundred
positions may be wider on others."""

Floats = NDArray[np.float32]

_SAME = {"Relu", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceMax"}
_RESHAPED = {"Squeeze", "Unsqueeze", "Flatten", "Reshape", "Identity"}


def equalize(model: OpenModel, ranges: Ranges) -> None:
    """Make the planes of every tensor in `ranges` about equally wide.

    The model then computes what it did, but for rounding in fp32; `ranges` are changed along.
    """
    classes = _Classes(model, ranges)
    factors: dict[str, Floats] = {}
    for members in classes.free():
        chosen = _factors([ranges.width(each) for each in members if each in ranges.low])
        if chosen is not None:
            factors.update(dict.fromkeys(members, chosen))
    for tensor, chosen in factors.items():
        classes.scale(tensor, chosen)
        if tensor in ranges.low:
            ranges.multiply(tensor, chosen)
    products = {
        gate: quotient
        for node, inner, gate in classes.gated
        if (quotient := _quotient(factors, node.output[0], inner)) is not None
    }
    _insert(model, products | _input_factors(ranges, classes))
    if "observations" in ranges.low:
        _keep_input_exact(ranges)


def _factors(widths: list[Floats]) -> Floats | None:
    """One factor per plane that makes the planes of all tensors about equally wide."""
    if not widths:
        return None
    # Each tensor has a step of its own: what counts is how its planes compare to each other.
    relative = np.max([width / max(float(width.max()), 1e-9) for width in widths], axis=0)
    factors: Floats = (1 / np.maximum(relative, FLOOR)).astype(np.float32)
    return factors


def _quotient(factors: dict[str, Floats], above: str, below: str) -> Floats | None:
    if above not in factors and below not in factors:
        return None
    one = np.float32(1)
    quotient: Floats = factors.get(above, one) / factors.get(below, one)  # type: ignore[assignment]
    return quotient


def _input_factors(ranges: Ranges, classes: _Classes) -> dict[str, Floats]:
    """Make the model's input planes equally wide: most are 0 or 1, some count to a hundred.

    A plane that is wider than most is taken half as wide again as it was seen.
    """
    if "observations" not in ranges.low:
        return {}
    width = ranges.width("observations")
    seen = width[width > 0]
    common = float(np.median(seen)) if len(seen) else 1.0
    factors = (1 / np.where(width > common, 1.5 * width, common)).astype(np.float32)
    classes.scale("observations", factors)
    ranges.multiply("observations", factors)
    return {"observations": factors}


def _keep_input_exact(ranges: Ranges) -> None:
    """Rename the range of the input, and let 1 be 255 steps, so that 0 and 1 stay exact."""
    low, high = ranges.low.pop("observations"), ranges.high.pop("observations")
    tensor = _product_name("observations")
    ranges.shape[tensor] = ranges.shape["observations"]
    ranges.low[tensor], ranges.high[tensor] = low, np.full_like(high, 1 / MARGIN)


def _product_name(tensor: str) -> str:
    return f"{tensor}/equal"


def _insert(model: OpenModel, factors: dict[str, Floats]) -> None:
    """Multiply tensors by factors before anything reads them."""
    from onnx import helper

    nodes, done = [], set()
    for node in model.nodes:
        for place, tensor in enumerate(node.input):
            if tensor not in factors:
                continue
            name = _product_name(tensor)
            if tensor not in done:
                model.arrays[f"{name}/factors"] = factors[tensor].reshape(1, -1, 1, 1)
                product = helper.make_node("Mul", [tensor, f"{name}/factors"], [name], name=name)
                nodes.append(product)
                done.add(tensor)
            node.input[place] = name
        nodes.append(node)
    model.replace_nodes(nodes)


class _Classes:
    """Which tensors share their factors, who writes them and who reads them."""

    def __init__(self, model: OpenModel, ranges: Ranges) -> None:
        self.arrays, self.shape = model.arrays, ranges.shape
        self.parent: dict[str, str] = {}
        self.fixed: set[str] = {"observations"}
        self.fixed.update(value.name for value in model.model.graph.output)
        self.makers = {output: node for node in model.nodes for output in node.output}
        self.writers: dict[str, list[tuple[Any, int]]] = {}
        self.readers: dict[str, list[Any]] = {}
        self.gated: list[tuple[Any, str, str]] = []
        """Products of planes and a gate: the node, the planes, the gate."""
        for node in model.nodes:
            self._enter(node)

    def _enter(self, node: Any) -> None:
        live = [name for name in node.input if name and name not in self.arrays]
        if self._weighs(node, live):
            self.readers.setdefault(live[0], []).append(node)
            self.writers.setdefault(node.output[0], []).append((node, 0))
        elif node.op_type == "Split" and self._parts(node):
            pass
        elif self._lets_through(node):
            self._tie(node.input[0], node.output[0])
        elif node.op_type == "Add" and len(live) == 2 and self._alike(*live, node.output[0]):
            self._tie(live[0], live[1])
            self._tie(live[0], node.output[0])
        elif node.op_type == "Mul" and (gate := self._gate(live)) is not None:
            self.fixed.add(gate)
            inner = live[0] if live[1] == gate else live[1]
            self.gated.append((node, inner, gate))
            self.parent.setdefault(node.output[0], node.output[0])
        else:
            self.fixed.update(live)
            self.fixed.update(node.output)

    def _weighs(self, node: Any, live: list[str]) -> bool:
        """Whether a node is a product with constant weights, plus a bias: planes to planes."""
        constants = all(name in self.arrays for name in node.input[1:])
        if node.op_type not in ("Conv", "Gemm") or live != [node.input[0]] or not constants:
            return False
        options = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Conv":
            return "group" not in options or options["group"].i == 1
        plain = all(options[name].f == 1.0 for name in ("alpha", "beta") if name in options)
        turned = "transB" in options and options["transB"].i == 1
        return plain and turned and all(self.arrays[name].ndim == 1 for name in node.input[2:])

    def _parts(self, node: Any) -> bool:
        """A layer whose outputs are split, as squeeze-excitation does: each part has a class."""
        writers = self.writers.get(node.input[0], [])
        if len(writers) != 1 or any(name not in self.shape for name in node.output):
            return False
        start = 0
        for output in node.output:
            self.writers.setdefault(output, []).append((writers[0][0], start))
            start += self.shape[output][0]
        self.fixed.add(node.input[0])  # the parts have factors, the whole has none
        return True

    def _lets_through(self, node: Any) -> bool:
        """Whether a node gives every plane of its input its own place in the output."""
        if node.op_type in _SAME:
            return self._alike(node.input[0], node.output[0])
        before, after = self.shape.get(node.input[0]), self.shape.get(node.output[0])
        return node.op_type in _RESHAPED and before is not None and before == after

    def _alike(self, *tensors: str) -> bool:
        return len({self.shape.get(tensor, (0, 0))[0] for tensor in tensors}) == 1

    def _gate(self, live: list[str]) -> str | None:
        """The operand of a product that a sigmoid made, perhaps reshaped since."""
        for name in live if len(live) == 2 else []:
            node = self.makers.get(name)
            while node is not None and node.op_type in _RESHAPED:
                node = self.makers.get(node.input[0])
            if node is not None and node.op_type == "Sigmoid":
                return name
        return None

    def _root(self, tensor: str) -> str:
        while (parent := self.parent.setdefault(tensor, tensor)) != tensor:
            tensor = parent
        return tensor

    def _tie(self, one: str, two: str) -> None:
        self.parent[self._root(one)] = self._root(two)

    def free(self) -> list[list[str]]:
        """The classes whose factors can be chosen, as lists of tensors."""
        classes: dict[str, list[str]] = {}
        for tensor in sorted({*self.parent, *self.writers, *self.readers}):
            classes.setdefault(self._root(tensor), []).append(tensor)
        return [
            members
            for members in classes.values()
            if self._alike(*members) and not self.fixed.intersection(members)
        ]

    def scale(self, tensor: str, factors: Floats) -> None:
        """Multiply a tensor's planes: its writers' outputs, the inverse at its readers' inputs."""
        for node, start in self.writers.get(tensor, []):
            rows = slice(start, start + len(factors))
            for name in node.input[1:]:
                array = self.arrays[name].copy()
                array[rows] *= factors.reshape(-1, *[1] * (array.ndim - 1))
                self.arrays[name] = array
        for node in self.readers.get(tensor, []):
            array = self.arrays[node.input[1]]
            self.arrays[node.input[1]] = array / factors.reshape(-1, *[1] * (array.ndim - 2))
